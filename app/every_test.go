package app

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestEveryEndsWhenItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		every(t.Context(), time.Minute, func() bool { calls++; return calls == 3 })
		require.Equal(t, 3, calls)
		require.Equal(t, 3*time.Minute, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		calls = 10
		every(ctx, time.Minute, func() bool { calls++; return false })
		require.Equal(t, 11, calls)
	})
}

func TestPatiently(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	tests := []struct {
		name  string
		errs  []error // of each call; the last one is repeated
		calls int
		want  error
	}{
		{"at once", []error{nil}, 1, nil},
		{"no leader yet", []error{nats.ErrNoResponders, &jetstream.APIError{Code: 503}, context.DeadlineExceeded, nil}, 4, nil},
		{"for good", []error{nats.ErrNoResponders, jetstream.ErrStreamNotFound}, 2, jetstream.ErrStreamNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := retryTemporary(t.Context(), quiet, func(ctx context.Context) error {
					deadline, ok := ctx.Deadline()
					require.True(t, ok)
					require.Equal(t, startTimeout, time.Until(deadline))
					calls++
					return tt.errs[min(calls, len(tt.errs))-1]
				})
				require.ErrorIs(t, err, tt.want)
				require.Equal(t, tt.calls, calls)
			})
		})
	}
	t.Run("until the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			err := retryTemporary(ctx, quiet, func(context.Context) error { return nats.ErrNoResponders })
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, nats.ErrNoResponders)
			require.Equal(t, time.Minute, time.Since(began))
		})
	})
}
