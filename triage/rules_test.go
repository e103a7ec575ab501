package triage

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/triage/state"
)

const groupKey = "agent:main:telegram:group:-100"

// message is one of a group.
func message(text string) Message {
	return Message{Group: groupKey, ID: "m1", Agent: "main", Sender: "555", Text: text, Names: []string{"Claw"}, IsGroup: new(true), At: time.UnixMilli(1795215559000)}
}

// rule returns the reason of the first rule that holds, "" for none.
func rule(s *Settings, m Message) (Reason, bool) {
	if v, ok := s.Outside(m); ok {
		return v.Reason, v.Skip
	}
	v, _ := s.ByText(m)
	return v.Reason, v.Skip
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		set    Settings
		change func(m *Message)
		want   Reason
		skip   bool
	}{
		{"a message that no rule is for", Settings{}, nil, "", false},
		{"a direct message", Settings{}, func(m *Message) { m.IsGroup = new(false) }, Direct, false},
		{"the gateway's word wins over the key", Settings{}, func(m *Message) { m.Group = "agent:main:web1" }, "", false},
		{"a group by its key", Settings{}, func(m *Message) { m.IsGroup = nil }, "", false},
		{"a channel by its key", Settings{}, func(m *Message) { m.IsGroup, m.Group = nil, "agent:main:discord:Channel:7" }, "", false},
		{"no group by its key", Settings{}, func(m *Message) { m.IsGroup, m.Group = nil, "agent:main:main" }, Direct, false},
		{"a group without an id", Settings{}, func(m *Message) { m.Group = "" }, Direct, false},
		{"an excluded group", Settings{ExcludeGroups: []string{"*:group:-1*"}}, nil, Excluded, false},
		{"an excluded group that is listed", Settings{ExcludeGroups: []string{groupKey}, Groups: []string{"*"}}, nil, Excluded, false},
		{"a group that is not listed", Settings{Groups: []string{"*:group:-2*"}}, nil, NotListed, false},
		{"a listed group", Settings{Groups: []string{"x", "agent:*:telegram:*"}}, nil, "", false},
		{"direct comes before excluded", Settings{ExcludeGroups: []string{"*"}}, func(m *Message) { m.IsGroup = new(false) }, Direct, false},
		{"not_listed comes before too_short", Settings{Groups: []string{"x"}}, func(m *Message) { m.Text = "" }, NotListed, false},
		{"no text", Settings{}, func(m *Message) { m.Text = "" }, TooShort, true},
		{"one character among blanks", Settings{}, func(m *Message) { m.Text = " \n?\u3000\u200b\t" }, TooShort, true},
		{"one wide character", Settings{}, func(m *Message) { m.Text = "好" }, TooShort, true},
		{"two characters", Settings{}, func(m *Message) { m.Text = "好 吗" }, "", false},
		{"too_short comes before the name", Settings{}, func(m *Message) { m.Text, m.Names = "c", []string{"C"} }, TooShort, true},
		{"the agent's name", Settings{}, func(m *Message) { m.Text = "hey @cLaW_bot" }, BotName, false},
		{"a configured name wins", Settings{BotName: "Nova"}, func(m *Message) { m.Text = "hey claw" }, "", false},
		{"the configured name", Settings{BotName: " Nova "}, func(m *Message) { m.Text = "NOVA?" }, BotName, false},
		{"a name in another script and case", Settings{BotName: "Ёжик"}, func(m *Message) { m.Text = "привет, ёЖИК!" }, BotName, false},
		{"a name with a sharp s", Settings{BotName: "Weiß"}, func(m *Message) { m.Text = "frag WEISS" }, BotName, false},
		{"a name in wide letters", Settings{}, func(m *Message) { m.Text = "ｃｌａｗ, are you there" }, BotName, false},
		{"a blank name", Settings{BotName: "  "}, func(m *Message) { m.Names = nil }, "", false},
		{"a keyword", Settings{Keywords: []string{"", "Help!"}}, func(m *Message) { m.Text = "please HELP! now" }, Keyword, false},
		{"the name comes before a keyword", Settings{Keywords: []string{"hey"}}, func(m *Message) { m.Text = "hey claw" }, BotName, false},
		{"a blank keyword", Settings{Keywords: []string{" "}}, nil, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := message("what is for lunch")
			if row.change != nil {
				row.change(&m)
			}
			reason, skip := rule(&row.set, m)
			require.Equal(t, row.want, reason)
			require.Equal(t, row.skip, skip)
		})
	}
}

func TestAMessageIsJudgedByItsWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[from Ada (uid:ou_1)] what is\nfor lunch?\n[message_id: 7]": "what is for lunch?",
		"what is\nfor lunch?":       "what is\nfor lunch?",
		"[media attached: a.jpg]":   "[media attached: a.jpg]",
		"[Ada] <b>what</b> is this": "<b>what</b> is this",
	} {
		require.Equal(t, want, NewMessage(payload.BeforeDispatch{Text: in}, payload.Context{}, "id", time.Now()).Text)
	}
}

func TestCapturedMessages(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/openclaw/before_dispatch.json")
	require.NoError(t, err)
	var samples []struct {
		Scenario   string
		Event, Ctx json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &samples))
	for _, s := range samples {
		e, err := payload.DecodeBeforeDispatch(s.Event, s.Ctx)
		require.NoError(t, err)
		ctx, err := payload.DecodeContext(s.Ctx)
		require.NoError(t, err)
		m := NewMessage(e, ctx, "id", time.Now())
		require.Equal(t, "main", m.Agent)
		_, outside := new(Settings).Outside(m)
		require.Equal(t, !strings.HasPrefix(s.Scenario, "telegram-group"), outside, s.Scenario)
	}
}

func TestQuietGroups(t *testing.T) {
	t.Parallel()
	m := message("what is for lunch")
	said := func(ages ...time.Duration) (out []state.RecentMessage) {
		for _, age := range ages {
			out = append(out, state.RecentMessage{At: m.At.Add(-age).UnixMilli()})
		}
		return out
	}
	bot := said(time.Minute, time.Minute)
	bot[0].Bot, bot[1].Bot = true, true
	for _, row := range []struct {
		name     string
		messages int
		per      time.Duration
		before   []state.RecentMessage
		quiet    bool
	}{
		{"off", 0, time.Hour, nil, false},
		{"the first message", 1, time.Hour, nil, true},
		{"as many as that", 2, time.Hour, said(time.Minute, 2*time.Minute), false},
		{"one fewer", 2, time.Hour, said(time.Minute), true},
		{"too long ago", 2, 10 * time.Minute, said(time.Minute, 10*time.Minute), true},
		{"just in time", 2, 10 * time.Minute, said(time.Minute, 10*time.Minute-time.Millisecond), false},
		{"the bot's own", 1, time.Hour, bot, true},
		{"a clock that was set back", 2, time.Hour, said(-5*time.Hour, -4*time.Hour), false},
		{"more than are kept", state.MaxPeople + 5, time.Hour, said(make([]time.Duration, state.MaxPeople)...), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &Settings{Quiet: QuietGroups{row.messages, row.per}}
			v, quiet := s.ByRate(m, row.before)
			require.Equal(t, row.quiet, quiet)
			require.False(t, v.Skip)
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, answer string
		skip         bool // without scores
		score        int
	}{
		{"skip", "SKIP", true, 1},
		{"respond", "RESPOND", false, 10},
		{"blanks and more words", " \n SKIP: they talk among themselves", true, 1},
		{"another case", "Skip.", true, 1},
		{"after thoughts", "<think>RESPOND? 7 of them</think>\nSKIP", true, 1},
		{"a word inside", "I would SKIP this", false, 10},
		{"nothing", "", false, 10},
		{"something else", "maybe", false, 10},
		{"a number", "7", false, 7},
		{"a number and a dot", "Score: 3.", false, 3},
		{"a number in stars", "**8**", false, 8},
		{"ten", "10", false, 10},
		{"of ten", "8/10", false, 8},
		{"ten of ten", "10/10", false, 10},
		{"a number wins over the word", "SKIP (2)", true, 2},
		{"zero", "0", false, 10},
		{"a hundred", "100", false, 10},
		{"a hundred, then a number", "100? No, 4", false, 4},
		{"twelve", "12", false, 10},
		{"a decimal", "3.5", false, 10},
		{"a decimal with a comma", "3,5", false, 10},
		{"a decimal without its zero", "SKIP .5", true, 1},
		{"a thousand", "1,000", false, 10},
		{"a time", "at 7:30", false, 10},
		{"a percentage", "9%", false, 10},
		{"negative", "-3", false, 10},
		{"part of a name", "GPT-4 says 6", false, 6},
		{"part of a word", "v2 and 3rd, so 5", false, 5},
		{"part of a word in another script", "第3位 と 4", false, 4},
		{"a leading zero", "07", false, 10},
		{"after a colon", "score:9", false, 9},
		{"at the end of a sentence", "It is 6.\nReason: none", false, 6},
		{"in a list", "2, maybe 3", false, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, Verdict{Skip: row.skip, Reason: ByModel}, (&Settings{Threshold: 5}).Answer(row.answer))
			for _, threshold := range []int{1, 5, 10} {
				s := &Settings{Scores: true, Threshold: threshold}
				require.Equal(t, Verdict{Skip: row.score < threshold, Reason: ByModel, Score: row.score}, s.Answer(row.answer))
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"SKIP", "7", "3.5", "<think>", "\xff7", "１０", "8/10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		scored := (&Settings{Scores: true, Threshold: 5}).Answer(answer)
		require.GreaterOrEqual(t, scored.Score, 1)
		require.LessOrEqual(t, scored.Score, 10)
		plain := (&Settings{}).Answer(answer)
		if plain.Skip {
			require.True(t, strings.Contains(strings.ToUpper(answer), "SKIP") || strings.ContainsAny(answer, "ſK"), answer)
		}
	})
}
