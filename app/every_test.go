package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
