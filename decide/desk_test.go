package decide

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/payload"
)

// desk returns a desk over a stream with one decision about each of n minutes.
func desk(t *testing.T, n int) (*Desk, []string) {
	t.Helper()
	s, js := newStore(t)
	d := &Desk{Store: s, JS: js, Layout: bus.Layout{Prefix: "openclaw", QueueGroup: "intent-hint", Stream: "OPENCLAW_EVENTS", MaxBytes: 8 << 20}}
	_, err := bus.Provision(t.Context(), js, d.Layout)
	require.NoError(t, err)
	var ids []string
	for i := range n {
		e := &Decided{ID: fmt.Sprintf("%s-%d", newWords, i), Agent: "main", Rubric: newWords, Answer: "true", Probabilities: map[string]float64{"true": 1, "false": 0}}
		m, err := e.encode(d.Layout.Prefix, time.Now())
		require.NoError(t, err)
		publish(t, d, m)
		ids = append(ids, e.ID)
	}
	return d, ids
}

func publish(t *testing.T, d *Desk, m *nats.Msg) {
	t.Helper()
	_, err := d.JS.PublishMsg(t.Context(), m)
	require.NoError(t, err)
}

func TestADeskReadsTheLaterOnesOfTooMany(t *testing.T) {
	d, _ := desk(t, 20)
	began := time.Now()
	entries, from, err := d.Entries(t.Context(), newWords, began.Add(-time.Hour))
	require.NoError(t, err)
	require.Len(t, entries, 20)
	require.Equal(t, began.Add(-time.Hour), from)
	entries, _, err = d.Entries(t.Context(), oldWords, began.Add(-time.Hour))
	require.NoError(t, err)
	require.Empty(t, entries)

	later := &Decided{ID: newWords + "-later", Agent: "main", Rubric: newWords, Answer: "true", Probabilities: map[string]float64{"true": 1}}
	m, err := later.encode(d.Layout.Prefix, time.Now())
	require.NoError(t, err)
	publish(t, d, m)
	d.most = 10
	entries, from, err = d.Entries(t.Context(), "", began.Add(-time.Hour))
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 10)
	require.True(t, from.After(began.Add(-time.Hour)), from)
}

func TestADeskMarks(t *testing.T) {
	d, ids := desk(t, 1)
	var said []string
	d.Publish = func(_ context.Context, about payload.Context, f payload.Feedback) error {
		said = append(said, about.AgentID+" "+about.SessionID+" "+f.Kind+" "+f.ID+" "+f.Label+" "+f.By)
		return nil
	}
	found, err := d.Mark(t.Context(), ids[0], "false", "console")
	require.NoError(t, err)
	require.Equal(t, ids[0], found.ID)
	require.Equal(t, []string{"main " + newWords + " decision " + ids[0] + " false console"}, said)
	for _, row := range []struct {
		id, label string
		want      error
	}{{ids[0], "perhaps", ErrUnknownLabel}, {newWords + "-no", "true", ErrUnknownDecision}, {"x", "true", ErrUnknownDecision}} {
		_, err := d.Mark(t.Context(), row.id, row.label, "console")
		require.ErrorIs(t, err, row.want, row.id)
	}
	require.Len(t, said, 1)
}
