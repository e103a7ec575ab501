package bus

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
)

// A credentials file that cannot be read is an error with an embedded server, too.
func TestUnreadableIdentityIsAnError(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for name, identity := range map[string]Identity{"HINT_NATS_CREDS": {Creds: missing}, "HINT_NATS_NKEY": {NKey: missing}} {
		_, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Identity: identity, Log: quiet})
		require.ErrorContains(t, err, name+" "+missing)
	}
}

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
	b := openTest(t)
	config := jetstream.KeyValueConfig{Bucket: "T"}
	kv := NewKV(b.JS, config)
	require.NoError(t, kv.Open(t.Context()))
	require.NoError(t, kv.Use(t.Context(), func(kv jetstream.KeyValue) error {
		_, err := kv.PutString(t.Context(), "a", "b")
		return err
	}))
	state, err := kv.State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, state.Messages)
	require.Positive(t, state.Last)
	require.False(t, state.Made.IsZero())
	state, err = NewKV(leaderless{b.JS}, config).State(t.Context())
	require.ErrorIs(t, err, errNoLeader)
	require.Zero(t, state)
	_, err = NewKV(b.JS, jetstream.KeyValueConfig{Bucket: "OTHER"}).State(t.Context())
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}
