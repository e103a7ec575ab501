package bus

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

// A pull that the server never gets is asked again.
func TestReadStreamAsksAgain(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	// The first pull goes to a subject of the same length on which nobody answers.
	_, err := natstest.Connect(t, ns).Subscribe("$XX.>", func(*nats.Msg) {})
	require.NoError(t, err)
	pull, elsewhere := []byte("$JS.API.CONSUMER.MSG.NEXT."), []byte("$XX.API.CONSUMER.MSG.NEXT.")
	var lost atomic.Bool
	url := natstest.Through(t, ns, func(chunk []byte) []byte {
		if bytes.Contains(chunk, pull) && lost.CompareAndSwap(false, true) {
			return bytes.ReplaceAll(chunk, pull, elsewhere)
		}
		return chunk
	})
	b, err := Open(t.Context(), Options{URL: url, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	provisionTest(t, b)
	_, err = b.JS.Publish(t.Context(), testLayout().Prefix.Event("agent_end", "main", "s"), []byte("{}"))
	require.NoError(t, err)
	read := make(chan error, 1)
	events := 0
	go func() {
		config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy}
		read <- ReadStream(t.Context(), b.JS, testLayout(), config, 0, func(portion []jetstream.Msg, _ int) error {
			events += len(portion)
			return nil
		})
	}()
	select {
	case err := <-read:
		require.NoError(t, err)
		require.True(t, lost.Load())
		require.Equal(t, 1, events)
	case <-time.After(time.Minute):
		t.Fatal("the read hangs")
	}
}
