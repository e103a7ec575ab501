package kv_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// contended is a JetStream that calls a function before writes of the session.
type contended struct {
	jetstream.JetStream
	before func()
}

func (c *contended) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if m.Subject == "$KV.S.s" {
		c.before()
	}
	return c.JetStream.PublishMsg(ctx, m, opts...)
}

// removedRuns returns the names of removed runs in the bucket, in order.
func removedRuns(t *testing.T, js jetstream.JetStream) (names []string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	for _, key := range keys(t, js) {
		if strings.HasPrefix(key, "_.removed.") {
			m, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S."+key)
			require.NoError(t, err)
			names = append(names, strings.Fields(string(m.Data))...)
		}
	}
	slices.Sort(names)
	return names
}

func namesOf(runs ...string) (names []string) {
	for _, run := range runs {
		names = append(names, store.RemovedRun("s", run))
	}
	slices.Sort(names)
	return names
}

// A removal that meets other writers keeps the name of each run once, also of those
// that began meanwhile.
func TestRemoveKeepsTheNameOfARunOnce(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	other := open(t, js, store.Options{HistoryLimit: 1})
	for n, run := range []string{"a", "b", "c"} {
		apply(t, other, storetest.Begin("s", run, int64(n)))
	}
	meanwhile := []string{"d", "e"}
	process := &contended{JetStream: js, before: func() {
		if len(meanwhile) > 0 {
			apply(t, other, storetest.Begin("s", meanwhile[0], 10-int64(len(meanwhile))))
			meanwhile = meanwhile[1:]
		}
	}}
	s, err := kv.Open(t.Context(), process, bucket("S"), store.Options{HistoryLimit: 1})
	require.NoError(t, err)
	_, err = s.Remove(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, meanwhile)
	require.Equal(t, namesOf("a", "b", "c", "d", "e"), removedRuns(t, js))
}

// The retired turns of a session whose document an operator deleted do not come
// back either.
func TestRemoveKeepsTheNamesOfRetiredTurnsWithoutADocument(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{})
	for n, run := range []string{"a", "b", "c"} {
		apply(t, s, storetest.Begin("s", run, int64(n)))
	}
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.S.s")))
	left, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	require.NotEmpty(t, left)
	var retired []string
	for _, raw := range left {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		retired = append(retired, turn.RunID)
	}
	_, err = s.Remove(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, namesOf(retired...), removedRuns(t, js))
	late := storetest.Begin("s", retired[0], 9)
	late.Begin.Unanswered = true
	apply(t, s, late)
	_, err = s.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}
