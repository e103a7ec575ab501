package bucket_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/knowhub/bucket"
)

// Since when extraction is on is one time for all processes, by the server's clock, and
// another one after it was off.
func TestExtractionIsSwitched(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	config := jetstream.KeyValueConfig{Bucket: "T", TTL: time.Hour}
	a, b := bucket.NewTurns(natstest.JetStream(t, ns), config), bucket.NewTurns(natstest.JetStream(t, ns), config)
	require.NoError(t, bucket.SwitchOffIn(t.Context(), natstest.JetStream(t, ns), config), "a bucket that is missing")
	_, err := natstest.JetStream(t, ns).KeyValue(t.Context(), "T")
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound, "it stays so")

	require.NoError(t, a.SwitchOff(t.Context()))
	first, err := a.SwitchOn(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), first, time.Minute)
	for _, turns := range []*bucket.Turns{b, a, b} {
		again, err := turns.SwitchOn(t.Context())
		require.NoError(t, err)
		require.True(t, first.Equal(again), "%s %s", first, again)
	}
	require.NoError(t, b.SwitchOff(t.Context()))
	require.NoError(t, a.SwitchOff(t.Context()))
	second, err := b.SwitchOn(t.Context())
	require.NoError(t, err)
	require.True(t, second.After(first))
	require.NoError(t, bucket.SwitchOffIn(t.Context(), natstest.JetStream(t, ns), config))
	third, err := a.SwitchOn(t.Context())
	require.NoError(t, err)
	require.True(t, third.After(second))
	require.Equal(t, time.Hour, a.Age())
}
