package fair_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/fair"
)

// order notes what ran.
type order struct {
	mu   sync.Mutex
	list []string
}

func (o *order) note(what string) func(context.Context) {
	return func(context.Context) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = append(o.list, what)
	}
}

func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ctx := fair.New(1), t.Context()
		gate := make(chan struct{})
		var ran order
		require.True(t, q.Go(ctx, "noisy", 1, func(context.Context) { <-gate }))
		for i := range 4 {
			require.True(t, q.Go(ctx, "noisy", 1, ran.note(fmt.Sprintf("noisy %d", i))))
		}
		require.True(t, q.Go(ctx, "calm", 1, ran.note("calm 0")))
		require.True(t, q.Go(ctx, "calm", 1, ran.note("calm 1")))
		require.True(t, q.Go(ctx, "third", 1, ran.note("third 0")))
		synctest.Wait()
		require.Empty(t, ran.list, "there is one place")
		close(gate)
		synctest.Wait()
		require.Equal(t, "noisy 0, calm 0, third 0, noisy 1, calm 1, noisy 2, noisy 3", strings.Join(ran.list, ", "))
		time.Sleep(time.Minute) // idle goroutines end
	})
}

func TestAsMuchRunsAsThereArePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fair.New(3)
		var running, most int
		var mu sync.Mutex
		for i := range 20 {
			require.True(t, q.Go(t.Context(), strconv.Itoa(i%2), 1, func(context.Context) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				mu.Unlock()
			}))
		}
		time.Sleep(7 * time.Second)
		synctest.Wait()
		require.Equal(t, 3, most)
		require.Zero(t, running)
		time.Sleep(time.Minute)
	})
}

func TestWhoYieldsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fair.New(1)
		gate := make(chan struct{})
		var ran order
		require.True(t, q.Go(t.Context(), "a", 1, func(ctx context.Context) {
			fair.Yield(ctx)
			fair.Yield(ctx) // its place is given away once
			<-gate
		}))
		hold := make(chan struct{})
		require.True(t, q.Go(t.Context(), "a", 1, func(context.Context) { <-hold }))
		require.True(t, q.Go(t.Context(), "a", 1, ran.note("third")))
		synctest.Wait()
		require.Empty(t, ran.list, "the second has the place")
		close(gate) // the first ends, and has no place to give
		synctest.Wait()
		require.Empty(t, ran.list)
		close(hold)
		synctest.Wait()
		require.Equal(t, []string{"third"}, ran.list)
		time.Sleep(time.Minute)
	})
	fair.Yield(t.Context()) // without a queue
}

func TestWhoAsksForTooMuchIsRefused(t *testing.T) {
	for _, row := range []struct {
		name  string
		size  int
		lines int
		want  int // of one caller
	}{
		{"small", 1, 8, 1024},
		{"large", 8 << 20, 4, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := fair.New(1)
				gate := make(chan struct{})
				require.True(t, q.Go(t.Context(), "first", row.size, func(context.Context) { <-gate }))
				ran := 0 // one at a time
				for caller := range row.lines {
					for range row.want {
						require.True(t, q.Go(t.Context(), strconv.Itoa(caller), row.size, func(context.Context) { ran++ }))
					}
					require.False(t, q.Go(t.Context(), strconv.Itoa(caller), row.size, nil))
				}
				require.False(t, q.Go(t.Context(), "one too many", row.size, nil))
				close(gate)
				synctest.Wait()
				require.Equal(t, row.lines*row.want, ran)
				require.True(t, q.Go(t.Context(), "0", row.size, func(context.Context) { ran++ }), "there is room again")
				synctest.Wait()
				require.Equal(t, row.lines*row.want+1, ran)
				time.Sleep(time.Minute)
			})
		})
	}
}

func BenchmarkQueue(b *testing.B) {
	q := fair.New(4)
	var wg sync.WaitGroup
	b.ReportAllocs()
	for b.Loop() {
		wg.Add(1)
		q.Go(b.Context(), "caller", 1000, func(context.Context) { wg.Done() })
		wg.Wait()
	}
}
