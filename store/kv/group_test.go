package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow is a server that writes one thing after the other.
type slow struct {
	turn          chan struct{}
	single, batch time.Duration // what a put takes, and a batch
	refuse        error         // instead of a batch
	revision      uint64
	singles       int
	groups        []int
}

func (s *slow) grouper() *grouper {
	s.turn = make(chan struct{}, 1)
	return &grouper{
		one: func(p *put) {
			s.turn <- struct{}{}
			time.Sleep(s.single)
			s.singles++
			s.revision++
			p.revision = s.revision
			<-s.turn
		},
		many: func(group []*put) error {
			s.turn <- struct{}{}
			defer func() { <-s.turn }()
			time.Sleep(s.batch)
			s.groups = append(s.groups, len(group))
			if s.refuse != nil {
				return s.refuse
			}
			for _, p := range group {
				s.revision++
				p.revision = s.revision
			}
			return nil
		},
	}
}

// load puts so many values from so many at once.
func load(t *testing.T, g *grouper, writers, puts int) (took time.Duration, failed int) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range puts / writers {
				p := put{ctx: t.Context(), value: []byte("value")}
				g.put(&p)
				mu.Lock()
				if p.err != nil {
					failed++
				} else {
					assert.NotZero(t, p.revision)
					assert.False(t, seen[p.revision])
					seen[p.revision] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return time.Since(began), failed
}

func TestPutsTravelTogetherWhereThatPays(t *testing.T) {
	refused := fmt.Errorf("%w: no such thing", errNoBatch)
	conflict := fmt.Errorf("%w: %w", errNoBatch, errConflict)
	for _, row := range []struct {
		name            string
		server          slow
		writers         int
		fewest, most    int           // batches of 6400 puts
		quicker, slower time.Duration // bounds of the time
		failed          bool
	}{
		{"every put is synced", slow{single: 400 * time.Microsecond, batch: 5 * time.Millisecond}, 64, 50, 400, 0, 2 * time.Second, false},
		{"the disk is slow", slow{single: 5 * time.Millisecond, batch: 20 * time.Millisecond}, 64, 50, 400, 0, 16 * time.Second, false},
		{"few write at once", slow{single: 400 * time.Microsecond, batch: 5 * time.Millisecond}, 31, 0, 0, 2500 * time.Millisecond, 2600 * time.Millisecond, false},
		{"the server is quick", slow{single: 90 * time.Microsecond, batch: time.Millisecond}, 64, 0, 0, 500 * time.Millisecond, 600 * time.Millisecond, false},
		{"batches are dear", slow{single: 200 * time.Microsecond, batch: 15 * time.Millisecond}, 64, trialBatches, trialBatches, time.Second, 1500 * time.Millisecond, false},
		{"batches are refused", slow{single: 400 * time.Microsecond, batch: time.Millisecond, refuse: refused}, 64, 1, 1, 2500 * time.Millisecond, 2600 * time.Millisecond, false},
		{"one put of each batch conflicts", slow{single: 400 * time.Microsecond, batch: time.Millisecond, refuse: conflict}, 64, 2, 3, 2500 * time.Millisecond, 2600 * time.Millisecond, false},
		{"nobody knows", slow{single: 400 * time.Microsecond, batch: time.Millisecond, refuse: errors.New("no answer")}, 64, 1, 1, 2400 * time.Millisecond, 2600 * time.Millisecond, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := row.server.grouper()
				took, failed := load(t, g, row.writers, 6400)
				require.GreaterOrEqual(t, len(row.server.groups), row.fewest)
				require.LessOrEqual(t, len(row.server.groups), row.most)
				require.Greater(t, took, row.quicker)
				require.Less(t, took, row.slower)
				if row.failed {
					require.Equal(t, row.server.groups[0], failed)
				} else {
					require.Zero(t, failed)
				}
			})
		})
	}
}

// Who is alone again waits for nobody.
func TestPutsTravelAloneOnceTheCrowdHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{single: 400 * time.Microsecond, batch: 5 * time.Millisecond}
		g := s.grouper()
		load(t, g, 64, 6400)
		require.NotEmpty(t, s.groups)
		load(t, g, 2, 20)
		require.False(t, g.batching)
		before := len(s.groups)
		took, _ := load(t, g, 8, 80)
		require.Equal(t, 80*s.single, took)
		require.Len(t, s.groups, before)
		load(t, g, 64, 6400)
		require.Greater(t, len(s.groups), before, "the next crowd")
	})
}

// Who gives up before his put is in a batch is not kept.
func TestAPutThatWaitsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{single: time.Millisecond, batch: time.Second}
		g := s.grouper()
		g.batching, g.single, g.small = true, time.Hour, -1000
		var first sync.WaitGroup
		for range minGroup + 1 {
			first.Go(func() {
				p := put{ctx: t.Context()}
				g.put(&p)
				assert.NoError(t, p.err)
			})
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond) // one went alone, the others are in a batch
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		p := put{ctx: ctx}
		g.put(&p)
		require.ErrorIs(t, p.err, context.DeadlineExceeded)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		first.Wait()
		require.Equal(t, []int{minGroup}, s.groups)
		require.Equal(t, 1, s.singles)
	})
}

// One stall of the server does not make its puts look slow for good.
func TestSinglePutsAreMeasuredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{single: 20 * time.Microsecond, batch: 5 * time.Millisecond}
		g := s.grouper()
		var n atomic.Int64
		one := g.one
		g.one = func(p *put) {
			if n.Add(1) == 40 {
				time.Sleep(time.Second)
			}
			one(p)
		}
		took, _ := load(t, g, 64, 64_000)
		require.Less(t, took, 4*time.Second)
		require.False(t, g.batching)
	})
}

func TestABatchIsBounded(t *testing.T) {
	var g grouper
	for range maxGroup + 1 {
		g.waiting = append(g.waiting, &put{value: []byte("x")})
	}
	require.Len(t, g.take(), maxGroup)
	require.Len(t, g.take(), 1)
	require.Empty(t, g.take())
	large := make([]byte, maxGroupBytes/2)
	for range 3 {
		g.waiting = append(g.waiting, &put{value: large})
	}
	g.waiting = append(g.waiting, &put{value: make([]byte, maxGroupBytes+1)}, &put{})
	require.Len(t, g.take(), 2)
	require.Len(t, g.take(), 1)
	require.Len(t, g.take(), 1, "what is too large for any goes by itself")
	require.Len(t, g.take(), 1)
}
