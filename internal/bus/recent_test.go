package bus

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/internal/batch"
	"intenthint/subjects"
)

func TestRecentEvents(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	for i := range 3 {
		// A request that got no answer is no answer.
		_, err := b.JS.Publish(t.Context(), "openclaw.event.before_prompt_build.main.s", []byte("unanswered"))
		require.NoError(t, err)
		_, err = b.JS.Publish(t.Context(), "openclaw.event.turn_begun.main.s", strconv.AppendInt(nil, int64(i), 10))
		require.NoError(t, err)
	}
	var replayed []string
	learn := func(data []byte) { replayed = append(replayed, string(data)) }
	require.NoError(t, RecentEvents(t.Context(), b.JS, testLayout(), time.Now().Add(-time.Minute), subjects.HookTurnBegun, learn))
	require.Equal(t, []string{"0", "1", "2"}, replayed)
	replayed = nil
	require.NoError(t, RecentEvents(t.Context(), b.JS, testLayout(), time.Now().Add(time.Hour), subjects.HookTurnBegun, learn))
	require.Empty(t, replayed)
}

func TestRecentEventsAfterFlood(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	const turns, others = maxRecent + 1, scanWindow - 10
	publish := func(hook string, from, to int) {
		group := make([]*nats.Msg, 0, 1000)
		for i := from; i < to; i++ {
			group = append(group, &nats.Msg{Subject: "openclaw.event." + hook + ".main.s", Data: strconv.AppendInt(nil, int64(i), 10), Header: nats.Header{}})
			if len(group) == cap(group) || i == to-1 {
				ack, err := batch.Publish(t.Context(), b.NC, group)
				require.NoError(t, err)
				require.Nil(t, ack.Error)
				group = group[:0]
			}
		}
	}
	var replayed []string
	learn := func(data []byte) { replayed = append(replayed, string(data)) }
	publish("turn_begun", 0, turns-1)
	require.NoError(t, RecentEvents(t.Context(), b.JS, testLayout(), time.Now().Add(-time.Minute), subjects.HookTurnBegun, learn))
	require.Len(t, replayed, turns-1)
	replayed = nil
	publish("turn_begun", turns-1, turns)
	publish("after_tool_call", 0, others)
	require.NoError(t, RecentEvents(t.Context(), b.JS, testLayout(), time.Now().Add(-time.Minute), subjects.HookTurnBegun, learn))
	require.Len(t, replayed, scanWindow-others)
	require.Equal(t, strconv.Itoa(turns-1), replayed[len(replayed)-1])
}
