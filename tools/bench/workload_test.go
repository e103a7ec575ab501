package main

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/handlers"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// TestWorkload folds all events, so that the benchmark measures the documents
// that it means to.
func TestWorkload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		workload
		events, calls int // calls of the last turn
	}{
		{"several sessions", workload{name: "w", sessions: 11, turns: 3}, 11 * (4 + 5 + 4), 2},
		{"further turns", workload{name: "w", sessions: 2, turns: 2, first: 3}, 2 * (5 + 4), 2},
		{"no calls", workload{name: "w", sessions: 3, turns: 1, toolCalls: -1}, 6, 0},
		{"many calls", workload{name: "w", sessions: 2, turns: 2, toolCalls: 200}, 2 * 2 * 202, 200},
		{"all sessions interleaved", workload{name: "w", sessions: 20, turns: 2, toolCalls: 5, concurrent: 20}, 20 * 2 * 7, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := map[string][]store.Fact{}
			ids := map[string]bool{}
			require.NoError(t, tt.each(func(m *nats.Msg) error {
				id := m.Header.Get(subjects.HeaderMsgID)
				require.False(t, ids[id], "%s was published twice", id)
				ids[id] = true
				session, hook, fact, err := handlers.Decoder{}.Fact("", id, m.Data)
				require.NoError(t, err)
				require.Equal(t, prefix.Event(hook, agent, session), m.Subject)
				facts[session] = append(facts[session], fact)
				return nil
			}))
			require.Len(t, ids, tt.events)
			require.Equal(t, tt.events, tt.count())
			require.Len(t, facts, tt.sessions)
			for session, facts := range facts {
				doc := &store.Document{}
				_, err := doc.Fold(facts, -1, nil)
				require.NoError(t, err, session)
				require.Equal(t, tt.turns, doc.Turns(), session)
				raw, err := doc.AppendSession(nil)
				require.NoError(t, err)
				var d struct {
					Current struct {
						ToolCalls []any  `json:"toolCalls"`
						Result    string `json:"result"`
						Intent    any    `json:"intent"`
					} `json:"current"`
				}
				require.NoError(t, json.Unmarshal(raw, &d))
				require.Len(t, d.Current.ToolCalls, tt.calls, session)
				require.NotEmpty(t, d.Current.Result)
				require.NotNil(t, d.Current.Intent)
			}
		})
	}
}

func TestWorkloadIsCutShort(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 27, 1: 1, 14: 14, 27: 27, 99: 27} {
		w, n := workload{name: "w", sessions: 3, turns: 2, most: most}, 0
		require.NoError(t, w.each(func(*nats.Msg) error { n++; return nil }))
		require.Equal(t, want, n, "at most %d", most)
		require.Equal(t, want, w.count(), "at most %d", most)
	}
}

func TestWorkloadIsInterleaved(t *testing.T) {
	t.Parallel()
	var order []string
	w := workload{name: "w", sessions: 3, turns: 1, toolCalls: 1, concurrent: 2}
	require.NoError(t, w.each(func(m *nats.Msg) error {
		order = append(order, m.Header.Get(subjects.HeaderMsgID))
		return nil
	}))
	require.Equal(t, []string{
		"w-0-run-0-begun", "w-1-run-0-begun", "w-0-run-0-call-0", "w-1-run-0-call-0", "w-0-run-0-end", "w-1-run-0-end",
		"w-2-run-0-begun", "w-2-run-0-call-0", "w-2-run-0-end",
	}, order)
}

func TestWorkloadStopsAtAnError(t *testing.T) {
	t.Parallel()
	n := 0
	err := workload{name: "w", sessions: 2, turns: 2}.each(func(*nats.Msg) error {
		if n++; n == 3 {
			return io.ErrClosedPipe
		}
		return nil
	})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Equal(t, 3, n)
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 100 << 10} {
		p := &prompts{name: "p", sessions: 2, messages: history(size)}
		require.InDelta(t, size, len(p.messages), 1500)
		runs, sessions := map[string]bool{}, map[string]bool{}
		for range 4 {
			env, err := payload.DecodeRequest(p.next())
			require.NoError(t, err)
			require.Equal(t, subjects.HookBeforePromptBuild, env.Hook)
			ctx, err := payload.DecodeContext(env.Ctx)
			require.NoError(t, err)
			require.Equal(t, "user", ctx.Trigger)
			runs[ctx.RunID], sessions[ctx.SessionID] = true, true
		}
		require.Len(t, runs, 4, "each request is for a new run")
		require.Len(t, sessions, 2)
	}
}
