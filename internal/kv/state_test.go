package kv

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

// leaderless is a JetStream whose streams have no leader.
type leaderless struct{ jetstream.JetStream }

func (l leaderless) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := l.JetStream.Stream(ctx, name)
	return leaderlessStream{s}, err
}

type leaderlessStream struct{ jetstream.Stream }

func (s leaderlessStream) CachedInfo() *jetstream.StreamInfo {
	info := *s.Stream.CachedInfo()
	info.Cluster = &jetstream.ClusterInfo{Name: "cluster", RaftGroup: "S-R3F-x"}
	return &info
}

// The state of a bucket is what its leader says; what a replica says without one may
// lack the last changes.
func TestStateNeedsALeader(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	config := jetstream.KeyValueConfig{Bucket: "T"}
	b := New(js, config)
	require.NoError(t, b.Open(t.Context()))
	require.NoError(t, b.Use(t.Context(), func(kv jetstream.KeyValue) error {
		_, err := kv.PutString(t.Context(), "a", "b")
		return err
	}))
	state, err := b.State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, state.Messages)
	require.Positive(t, state.Last)
	require.False(t, state.Made.IsZero())
	state, err = New(leaderless{js}, config).State(t.Context())
	require.Equal(t, bus.RequireLeader(&jetstream.ClusterInfo{}), err)
	require.Zero(t, state)
	_, err = New(js, jetstream.KeyValueConfig{Bucket: "OTHER"}).State(t.Context())
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}
