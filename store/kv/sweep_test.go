package kv_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	const keep = 24 * time.Hour
	ns := newServer(t, 8<<10)
	js := connect(t, ns)
	now := time.Now()
	opts := store.Options{HistoryLimit: 1, Now: func() time.Time { return now }}
	s, another := open(t, js, opts), open(t, connect(t, ns), opts)
	fill := func(session string) {
		for n := range int64(5) {
			apply(t, s, long(session, n, 9000)...)
		}
	}
	sweep := func() int {
		t.Helper()
		var all sync.WaitGroup
		removed := make([]int, 2)
		for i, s := range []*kv.Store{s, another} {
			all.Go(func() {
				var err error
				if removed[i], err = s.Sweep(t.Context(), keep); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return removed[0] + removed[1]
	}
	put := func(key, value string) {
		_, err := js.Publish(t.Context(), "$KV.S."+key, []byte(value))
		require.NoError(t, err)
	}
	fill("s")
	fill("t")
	apply(t, s, storetest.Call("waiting", "cron", 1))
	put("s.x.17", "rsomething")
	before := keys(t, js)
	require.Zero(t, sweep())
	require.Equal(t, before, keys(t, js))

	// Unused chunks are removed after a while, others stay.
	put("s.c.abc-1", "rstray")
	put("s.h.r0.c.abc-2", "rstray")
	put("nobody.c.abc-3", "rstray")
	put("u.x.18", "cabc-4")
	put("u.c.abc-4", "rset aside")
	put("u.h.x.x.19", "cabc-5")
	put("u.h.x.c.abc-5", "rset aside")
	require.Zero(t, sweep())
	require.Len(t, keys(t, js), len(before)+7)
	now = now.Add(time.Hour)
	require.Zero(t, sweep())
	want := append(slices.Clone(before), "u.x.18", "u.c.abc-4", "u.h.x.x.19", "u.h.x.c.abc-5")
	slices.Sort(want)
	require.Equal(t, want, keys(t, js))

	now = now.Add(keep)
	removed, err := s.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Equal(t, want, keys(t, js))
	// A session that was just emptied is old by this clock: both may count it.
	require.GreaterOrEqual(t, sweep(), 3)
	// Set-aside values are gone, their chunks follow with the next sweep.
	sweep()
	require.Empty(t, keys(t, js), "no key or marker is left")

	// A process that has the session in memory starts a new one.
	for n := range int64(3) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	require.Equal(t, "r2", storetest.Show(t, another, "s").Current.RunID)
	turns, err := s.Retired(t.Context(), "t")
	require.NoError(t, err)
	require.Empty(t, turns)
}

func TestSweepKeepsASessionThatChanges(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	opts := store.Options{HistoryLimit: 0}
	touching := open(t, js, opts)
	for n := range int64(3) {
		apply(t, touching, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	// This store's clock is fast, and a fact arrives while it sweeps.
	late := &interrupted{JetStream: js, before: func() { apply(t, touching, storetest.Begin("s", "r3", 3)) }, beforePurge: func() {}}
	s, err := kv.Open(t.Context(), late, bucket("S"), store.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Equal(t, "r3", storetest.Show(t, touching, "s").Current.RunID)
	require.Len(t, archived(t, touching, "s"), 3)
	removed, err = s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	_, err = touching.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A session that begins while an old one of its name is being removed is kept.
func TestSweepKeepsASessionThatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	now := time.Now()
	opts := store.Options{HistoryLimit: 0, Now: func() time.Time { return now }}
	touching := open(t, js, opts)
	begin := func(from, to int64) {
		for n := from; n < to; n++ {
			apply(t, touching, storetest.Begin("s", fmt.Sprint("r", n), n))
		}
	}
	begin(0, 4)
	now = now.Add(time.Hour)
	late := &interrupted{JetStream: js, before: func() {}, beforePurge: func() { begin(10, 14) }}
	s, err := kv.Open(t.Context(), late, bucket("S"), opts)
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Equal(t, "r13", storetest.Show(t, touching, "s").Current.RunID)
	kept := archived(t, touching, "s")
	require.Len(t, kept, 3)
	for _, run := range []string{"r10", "r11", "r12"} {
		require.Contains(t, kept, run)
	}
}
