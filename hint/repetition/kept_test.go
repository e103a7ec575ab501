package repetition

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// said says a hint of 100 bytes with the prompt of an intent.
func say(s *Sessions, ts int64, text string) payload.KeptHints {
	last := s.Begin("s", ts, &payload.LastHint{Intent: text, Text: text, Bytes: 100})
	return s.Keep("s", *last, true)
}

func texts(kept payload.KeptHints) (out []string) {
	for _, p := range kept.Prompts {
		out = append(out, p.Text)
	}
	return out
}

func TestWhatAConversationHolds(t *testing.T) {
	for _, row := range []struct {
		name  string
		do    func(s *Sessions)
		since int64
		texts []string
		bytes int
	}{
		{"all that was said", func(*Sessions) {}, 0, []string{"a", "b", "c"}, 300},
		{"one that was said again, once", func(s *Sessions) { say(s, 40, "a") }, 0, []string{"b", "c", "a"}, 400},
		{"a brief hint", func(s *Sessions) {
			s.Keep("s", *s.Begin("s", 40, &payload.LastHint{Intent: "d", Text: "d", Bytes: 50}), false)
		}, 0, []string{"a", "b", "c"}, 350},
		{"a turn without a hint", func(s *Sessions) { s.Begin("s", 40, nil) }, 0, []string{"a", "b", "c"}, 300},
		{"nothing after a compaction", func(s *Sessions) { s.Reset("s", 30) }, 0, nil, 0},
		{"what was said since", func(s *Sessions) {
			s.Reset("s", 30)
			say(s, 40, "d")
		}, 0, []string{"d"}, 100},
		{"what was said since, if that is learnt late", func(s *Sessions) { s.Reset("s", 20) }, 0, []string{"c"}, 0},
		{"what was said since the gateway's start", func(*Sessions) {}, 20, []string{"c"}, 0},
		{"not what did not arrive", func(s *Sessions) { s.Lost("s", 30) }, 0, []string{"a", "b"}, 200},
		{"not what did not arrive, after the next turn", func(s *Sessions) {
			s.Lost("s", 30)
			say(s, 40, "d")
		}, 0, []string{"a", "b", "d"}, 300},
		{"another process's turn", func(s *Sessions) {
			s.Learn("s", 40, nil, &payload.KeptHints{Bytes: 900, Since: 5, Prompts: []payload.KeptPrompt{{Text: "d", At: 40}}})
		}, 0, []string{"a", "b", "c", "d"}, 900},
		{"an older one of another process", func(s *Sessions) {
			s.Learn("s", 15, nil, &payload.KeptHints{Bytes: 900, Since: 5, Prompts: []payload.KeptPrompt{{Text: "d", At: 15}}})
		}, 0, []string{"a", "d", "b", "c"}, 300},
		{"a turn of a process that tells nothing of it", func(s *Sessions) { s.Learn("s", 40, nil, nil) }, 0, []string{"a", "b", "c"}, 300},
		{"not that of another session", func(s *Sessions) {
			s.Learn("t", 40, nil, &payload.KeptHints{Bytes: 900, Since: 5, Prompts: []payload.KeptPrompt{{Text: "d", At: 40}}})
		}, 0, []string{"a", "b", "c"}, 300},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := New()
			say(s, 10, "a")
			say(s, 20, "b")
			say(s, 30, "c")
			row.do(s)
			kept := s.Kept("s", row.since)
			require.Equal(t, row.texts, texts(kept))
			require.Equal(t, row.bytes, kept.Bytes)
		})
	}
	require.Zero(t, New().Kept("s", 0))
}

// Every process has the state from any of the others, and from the stream.
func TestWhatIsToldIsWhatIsKnown(t *testing.T) {
	first, second := New(), New()
	for i, text := range []string{"a", "b", "a"} {
		ts := int64(10 * (i + 1))
		kept := say(first, ts, text)
		second.Learn("s", ts, first.Last("s"), &kept)
		require.Equal(t, first.Kept("s", 0), second.Kept("s", 0))
	}
	first.Reset("s", 30)
	kept := say(first, 40, "d")
	second.Learn("s", 40, first.Last("s"), &kept) // the compaction is learnt later
	second.Reset("s", 30)
	require.Equal(t, []string{"d"}, texts(second.Kept("s", 0)))
	require.Equal(t, 100, second.Kept("s", 0).Bytes)
}

func TestPromptsAreBounded(t *testing.T) {
	s := New()
	for i := range maxPrompts + 3 {
		say(s, int64(i+1), strconv.Itoa(i))
	}
	kept := texts(s.Kept("s", 0))
	require.Len(t, kept, maxPrompts)
	require.Equal(t, []string{"3", "66"}, []string{kept[0], kept[maxPrompts-1]})
}
