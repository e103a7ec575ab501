package hint

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/internal/hook"
	"intenthint/payload"
	"intenthint/subjects"
)

// message is a request whose event has a bare user message beside the prompt; nil
// for none.
func message(run, text string, current *string, messages ...any) *hook.Request {
	req := prompt(run, text)
	event := map[string]any{"prompt": text, "messages": append([]any{}, messages...)}
	if current != nil {
		event["currentUserMessage"] = *current
	}
	req.Envelope.Event, _ = json.Marshal(event)
	return req
}

func TestTheCurrentMessageIsTheLatest(t *testing.T) {
	said := func(role, text string) any { return map[string]any{"role": role, "content": text} }
	current := func(s string) *string { return &s }
	for _, row := range []struct {
		name     string
		prompt   string
		current  *string
		messages []any
		latest   string // "" for no classification
		before   []payload.Turn
		message  string // of the turn
		skip     string
	}{
		{name: "no such field", prompt: "write code", latest: "write code"},
		{name: "the prompt says more", prompt: "memories of the day: talk\n\nwrite code", current: current("write code"), latest: "write code", message: "write code"},
		{name: "the same text", prompt: "write code", current: current("write code"), latest: "write code"},
		{name: "it is cleaned", prompt: "x", current: current("<think>a</think> write\ncode"), latest: "write code", message: "write code"},
		{
			name: "frames and a quote", prompt: "[Fri 2026-11-20 22:57 UTC] <acme-notes>\nbook a flight\n</acme-notes>\n\n[Replying to Bob id:1]\nbook a table\n[/Replying]\nwrite code",
			messages: []any{said("user", "[Ada] hi"), said("assistant", "hello")},
			latest:   "write code", message: "write code",
			before: []payload.Turn{{Role: "user", Text: "hi"}, {Role: "assistant", Text: "hello"}, {Role: "user", Text: "book a table"}},
		},
		{
			name: "queued messages", prompt: "[Queued messages while agent was busy]\n\n---\nQueued #1 (from Ada)\nbook a table\n\n---\nQueued #2\nwrite code\n\n---\nQueued #3\nthanks!",
			latest: "write code", message: "write code", before: []payload.Turn{{Role: "user", Text: "book a table"}},
		},
		{name: "frames alone", prompt: "[media attached: a.jpg (image/jpeg)]\n<media:image>", skip: "empty_prompt"},
		{name: "no prompt", current: current("write code"), latest: "write code", message: "write code"},
		{name: "an empty one", prompt: "write code", current: current(""), skip: "empty_prompt"},
		{name: "a blank one", prompt: "write code", current: current(" <think>a</think>\n"), skip: "empty_prompt"},
		{
			name: "it is the last message too", prompt: "memories\n\nwrite code", current: current("write code"),
			messages: []any{said("user", "hi"), said("assistant", "hello"), said("user", "write code")},
			latest:   "write code", message: "write code",
			before: []payload.Turn{{Role: "user", Text: "hi"}, {Role: "assistant", Text: "hello"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			var seen []classify.Input
			s := settings(classify.New(classify.ModeLocal, localStub(func(in classify.Input) payload.Classification {
				seen = append(seen, in)
				return taken("CODE", 0.9)
			}), nil, classify.Options{}))
			req := message("r1", row.prompt, row.current, row.messages...)
			res := handle(t, hinter(&r, s), req)
			require.Equal(t, row.skip, head(res, subjects.HeaderSkip))
			event, err := payload.DecodeBeforePromptBuild(req.Envelope.Event)
			require.NoError(t, err)
			before, ok := s.Begin(req.Context, event)
			if row.latest == "" {
				require.Empty(t, seen)
				require.Empty(t, r.begun)
				require.False(t, ok)
				return
			}
			require.Len(t, seen, 1)
			require.Equal(t, row.latest, seen[0].Latest)
			require.Equal(t, row.before, stored(seen[0].Conversation))
			turn := r.turns(t)[0]
			require.Equal(t, row.prompt, turn.Prompt)
			require.Equal(t, row.message, turn.Message)
			require.Equal(t, row.latest, conversation.Latest(turn.UserMessage()))
			require.True(t, ok)
			require.Equal(t, row.before, stored(before))
		})
	}
}

// A retry may come with another prompt, with the user's message or without.
func TestARetrySpeaksForTheFirstMessage(t *testing.T) {
	code, talk := "write code", "talk to me"
	for _, row := range []struct {
		name          string
		first, second *hook.Request
	}{
		{"the message again", message("r1", "memories\n\nwrite code", &code), message("r1", "Continue the current task", &code)},
		{"no message", message("r1", "memories\n\nwrite code", &code), message("r1", "Continue the current task", nil)},
		{"another message", message("r1", "memories\n\nwrite code", &code), message("r1", "Continue the current task", &talk)},
		{"a message where there was none", message("r1", "write code", nil), message("r1", "Continue the current task", &talk)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			var seen []string
			h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, &stub{answer: func(_ context.Context, in classify.Input) (payload.Classification, error) {
				if seen = append(seen, in.Latest); len(seen) == 1 {
					return payload.Classification{}, errors.New("failed")
				}
				return taken("CODE", 0.9), nil
			}}, classify.Options{})))
			require.Equal(t, "classify_failed", head(handle(t, h, row.first), subjects.HeaderSkip))
			require.Equal(t, "llm", head(handle(t, h, row.second), subjects.HeaderSource))
			require.Equal(t, "cache", head(handle(t, h, row.second), subjects.HeaderSource))
			require.Equal(t, []string{"write code", "write code"}, seen)
			turns := r.turns(t)
			require.Len(t, turns, 2)
			require.Equal(t, "write code", turns[1].UserMessage())

			// Another process knows of the first request by its broadcast alone.
			seen = seen[:1]
			other := hinter(&recorder{}, h.settings.Load())
			for _, env := range r.begun[:1] {
				body, err := json.Marshal(env)
				require.NoError(t, err)
				other.Answers.Learn(body)
			}
			require.Equal(t, "llm", head(handle(t, other, row.second), subjects.HeaderSource))
			require.Equal(t, []string{"write code", "write code"}, seen)
		})
	}
}

func TestACurrentMessageIsRedacted(t *testing.T) {
	var r recorder
	s := settings(byLocal(1))
	s.Redact = true
	text := "mail alice@example.com the code"
	handle(t, hinter(&r, s), message("r1", "memories\n\n"+text, &text))
	turn := r.turns(t)[0]
	require.Equal(t, "mail [EMAIL] the code", turn.Message)
	require.Equal(t, "memories\n\nmail [EMAIL] the code", turn.Prompt)
}

// stored returns turns as they are stored: without the marks of quotations.
func stored(turns []payload.Turn) []payload.Turn {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Quoted = false
	}
	return out
}
