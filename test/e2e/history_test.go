//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNoTurnOfALongSessionIsLost(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_HISTORY_LIMIT": "3"})
	s.serve(2, 2)
	g := s.gateway()
	began := time.Now().Add(-time.Hour).UnixMilli()
	const turns = 12
	run := func(i int) string { return fmt.Sprintf("r%02d", i) }
	start := func(i int) int64 { return began + int64(i)*1000 }
	for i := range turns {
		g.ask(turn{session: "long", run: run(i), prompt: "Hello there, " + run(i), ts: start(i)})
		g.publish(toolCall("long", run(i), "call-"+run(i), "read", start(i)+1))
	}
	s.shows("long", patient, "the last call", func(d document) bool {
		return d.Current.RunID == run(turns-1) && len(d.Current.ToolCalls) == 1
	})
	g.drained()
	// Late events, sent twice, for a turn that has left the file.
	late := toolCall("long", run(1), "late-"+run(1), "read", start(1)+2)
	g.publish(late)
	again := late.message()
	again.Header.Del("Nats-Msg-Id")
	g.store(again)
	g.drained()

	d, _ := s.document("long")
	require.Len(t, d.History, 3)
	require.Equal(t, run(turns-4), d.History[0].RunID)
	data, err := os.ReadFile(filepath.Join(s.sessionsDir(), "long.history.jsonl"))
	require.NoError(t, err)
	last := map[string]documentTurn{}
	for line := range strings.Lines(string(data)) {
		var turn documentTurn
		require.NoError(t, json.Unmarshal([]byte(line), &turn), line)
		last[turn.RunID] = turn
	}
	require.Len(t, last, turns-4)
	for i := range turns - 4 {
		turn := last[run(i)]
		require.Equal(t, "Hello there, "+run(i), turn.Input)
		want := []string{"call-" + run(i)}
		if i == 1 {
			want = append(want, "late-"+run(1))
		}
		require.Equal(t, want, turn.toolCallIDs(), run(i))
	}
}

func TestEventsWithoutATurn(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(2, 2)
	g := s.gateway()
	now := time.Now().UnixMilli()
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: now})
	g.publish(
		toolCall("s1", "somebody-else's", "stray", "read", now+5),
		toolCall("s1", "", "before", "read", now-5), // no turn had begun
		toolCall("s1", "", "unnamed", "read", now+6),
		sessionEnd("s1", "shutdown", now-10), // older than the turn
	)
	// Of several attempts the latest by ts counts, in whatever order they come.
	g.publish(agentEnd("s1", "r1", "Hello there.", "second attempt", now+20))
	first := agentEnd("s1", "r1", "Hello there.", "first attempt", now+10)
	first.id = "end-r1-first"
	g.publish(first)
	g.drained()
	d := s.shows("s1", visible(), "its end", func(d document) bool { return d.Current.Result != "" })
	require.Equal(t, []string{"unnamed"}, d.Current.toolCallIDs())
	require.Equal(t, "second attempt", d.Current.Result)
	require.True(t, sameTime(d.Current.Timestamps.End, now+20), d.Current.Timestamps.End)
	require.Nil(t, d.Ended)
	require.Empty(t, d.History)
}

func TestModelErrorOfARun(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1)
	g := s.gateway()
	now := time.Now().UnixMilli()
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: now})
	e := agentEnd("s1", "r1", "Hello there.", "", now+10)
	e.event["messages"] = []any{
		object{"role": "user", "content": "Hello there."},
		object{"role": "assistant", "content": []any{}, "stopReason": "error", "errorMessage": "500 out of order"},
	}
	g.publish(e)
	d := s.shows("s1", visible(), "its error", func(d document) bool { return d.Current.Error != "" })
	require.Equal(t, "500 out of order", d.Current.Error)
	require.Empty(t, d.Current.Result)
}
