package kv

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// A call that finds the bucket gone does not wait for another one that opens it, beyond
// its own time.
func TestUseEndsInTime(t *testing.T) {
	for _, tt := range []struct {
		name string
		held bool // by another call
		took time.Duration
		kept bool // the bucket counts as open
	}{
		{"another call opens the bucket", true, time.Second, true},
		{"alone", false, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(nil, jetstream.KeyValueConfig{Bucket: "T"})
				b.kv = struct{ jetstream.KeyValue }{}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := b.Use(ctx, func(jetstream.KeyValue) error {
					if tt.held {
						b.lock <- struct{}{}
					}
					return nats.ErrNoResponders
				})
				require.ErrorIs(t, err, nats.ErrNoResponders)
				require.Equal(t, tt.took, time.Since(began))
				require.Equal(t, tt.kept, b.kv != nil)
			})
		})
	}
}
