package repetition

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/payload"
)

func TestKnown(t *testing.T) {
	hint := payload.LastHint{Intent: "CODE", Complexity: "low", Text: "x"}
	with := func(change func(*payload.LastHint)) *payload.LastHint {
		out := hint
		change(&out)
		return &out
	}
	changed := Rule{Repeat: Changed, After: 8}
	for _, row := range []struct {
		name  string
		rule  Rule
		last  *payload.LastHint
		known bool
	}{
		{"nothing was said", changed, nil, false},
		{"the turn before", changed, &hint, true},
		{"eight turns ago", changed, with(func(l *payload.LastHint) { l.Turns = 7 }), true},
		{"nine turns ago", changed, with(func(l *payload.LastHint) { l.Turns = 8 }), false},
		{"never again", Rule{Repeat: Changed}, with(func(l *payload.LastHint) { l.Turns = 1000 }), true},
		{"always", Rule{Repeat: Always, After: 8}, &hint, false},
		{"another intent", changed, with(func(l *payload.LastHint) { l.Intent = "CHAT" }), false},
		{"another complexity", changed, with(func(l *payload.LastHint) { l.Complexity = "high" }), false},
		{"another text of the intent", changed, with(func(l *payload.LastHint) { l.Text = "y" }), false},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.known, row.rule.Known(row.last, hint)) })
	}
}

func TestBrief(t *testing.T) {
	kept := payload.KeptHints{Bytes: 1000, Since: 1, Prompts: []payload.KeptPrompt{{Text: "a", At: 1}, {Text: "x", At: 2}}}
	for _, row := range []struct {
		name   string
		budget int
		text   string
		own    bool
		brief  bool
	}{
		{"a prompt that the conversation holds", 0, "x", false, true},
		{"one that it does not hold", 0, "y", false, false},
		{"a keyword's own text", 0, "x", true, false},
		{"as many bytes as may be", 1000, "y", false, false},
		{"more", 999, "y", false, true},
		{"more, and a keyword's own text", 999, "x", true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.brief, Rule{Repeat: Always, Budget: row.budget}.Brief(kept, payload.LastHint{Intent: "CODE", Text: row.text}, row.own))
		})
	}
	require.False(t, Rule{Budget: 1}.Brief(payload.KeptHints{}, payload.LastHint{Text: "x"}, false), "nothing was said")
}

func TestTheTextOfAnIntentCounts(t *testing.T) {
	c := payload.Classification{Intent: "CODE", Complexity: "low"}
	in := intents.Intent{ID: "CODE", Name: "Code", Prompt: "Read first.", Fastpath: intents.Fastpath{Hint: "Now."}}
	require.Equal(t, Of(c, in), Of(c, in))
	seen := map[string]bool{Of(c, in).Text: true}
	for _, change := range []func(*intents.Intent){
		func(in *intents.Intent) { in.Name = "Coding" },
		func(in *intents.Intent) { in.Prompt = "Read twice." },
		func(in *intents.Intent) { in.Complexity = "none" },
		func(in *intents.Intent) { in.Fastpath.Hint = "Later." },
		func(in *intents.Intent) { in.Name, in.Prompt = "CodeR", "ead first." },
	} {
		other := in
		change(&other)
		text := Of(c, other).Text
		require.False(t, seen[text])
		seen[text] = true
	}
	other := in
	other.Examples = []string{"write a test"}
	require.Equal(t, Of(c, in), Of(c, other), "examples are not said")
}

func TestSessions(t *testing.T) {
	s := New()
	require.Nil(t, s.Last("s"))
	hint := &payload.LastHint{Intent: "CODE"}
	require.Equal(t, &payload.LastHint{Intent: "CODE", At: 100}, s.Begin("s", 100, hint))
	require.Equal(t, &payload.LastHint{Intent: "CODE", Turns: 1, At: 100}, s.Begin("s", 200, nil))
	require.Equal(t, &payload.LastHint{Intent: "CODE", Turns: 2, At: 100}, s.Begin("s", 50, nil), "whatever the clock says")
	s.Learn("s", 199, nil, nil)
	require.NotNil(t, s.Last("s"), "an older turn of another process")
	s.Reset("s", 99)
	require.NotNil(t, s.Last("s"), "an event before the hint")
	s.Reset("s", 150)
	require.Nil(t, s.Last("s"), "one between the hint and a later turn")
	s.Learn("s", 201, &payload.LastHint{Intent: "CODE", Turns: 3, At: 100}, nil)
	require.Nil(t, s.Last("s"), "a turn of a process that did not know of it")
	require.Nil(t, s.Begin("s", 202, nil))
	s.Reset("s", 120)
	require.Equal(t, &payload.LastHint{Intent: "CODE", At: 151}, s.Begin("s", 140, hint), "given after the event, by a clock that is late")
	other := &payload.LastHint{Intent: "CODE", At: 203}
	s.Learn("s", 203, other, nil)
	require.Equal(t, other, s.Last("s"))
	require.Nil(t, s.Begin("t", 1, nil))
	s.Lost("s", 202)
	require.NotNil(t, s.Last("s"), "the answer of another turn did not arrive")
	s.Lost("s", 203)
	require.Nil(t, s.Last("s"))
	s.Lost("t", 7)
	require.NotNil(t, s.Begin("t", 7, hint))
	require.Nil(t, s.Last("t"), "whatever is known first")
	s.Learn("", 1, hint, nil)
	require.Nil(t, s.Last(""), "nobody's session")
	for i := range maxSessions {
		s.Begin(strconv.Itoa(i), 1, hint)
	}
	require.Nil(t, s.Last("s"), "bounded")
}

func TestForgot(t *testing.T) {
	s := New()
	hint := &payload.LastHint{Intent: "CODE"}
	require.False(t, s.Forgot("s"), "of a session that is not known")
	s.Reset("s", 50)
	s.Lost("s", 60)
	require.False(t, s.Forgot("s"), "of one that was given no hint")
	s.Begin("s", 100, hint)
	require.False(t, s.Forgot("s"))
	s.Reset("s", 100)
	require.True(t, s.Forgot("s"), "a compaction")
	s.Begin("s", 200, hint)
	require.False(t, s.Forgot("s"), "given again")
	s.Lost("s", 200)
	require.True(t, s.Forgot("s"), "an answer that did not arrive")
	require.False(t, s.Forgot(""), "nobody's session")
}

func TestALateHintIsTheLastOne(t *testing.T) {
	s := New()
	require.False(t, s.Lost("s", 100), "none was given")
	s.Begin("s", 200, &payload.LastHint{Intent: "CODE"})
	require.False(t, s.Lost("s", 150), "another turn")
	s.Begin("s", 300, nil)
	require.True(t, s.Lost("s", 200), "also after a turn without a hint")
	require.False(t, s.Lost("s", 200), "told again")
}

func TestLastReset(t *testing.T) {
	s := New()
	require.Zero(t, s.LastReset("s"), "of a session that is not known")
	s.Begin("s", 100, nil)
	require.Zero(t, s.LastReset("s"))
	s.Reset("s", 300)
	s.Reset("s", 200)
	require.Equal(t, int64(300), s.LastReset("s"))
	require.Zero(t, s.LastReset("other"))
}

// A hint that was lost is not the last one, also if a reset has the turn's time or, by
// its clock, a later one.
func TestLostAtTheTimeOfAReset(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int64{-5, 0, 100} {
		s := New()
		s.Reset("s", 1000+ahead)
		s.Begin("s", 1000, &payload.LastHint{Intent: "CHAT"})
		s.Lost("s", 1000)
		require.Nil(t, s.Last("s"), ahead)
	}
}
