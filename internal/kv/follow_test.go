package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

const patience = time.Minute // for a busy machine

// watched is what a watch was told.
type watched struct {
	mu     sync.Mutex
	begun  int
	known  uint64
	values map[string]string
}

func (w *watched) watch() Watch {
	return Watch{
		Begin: func(string, uint64) (uint64, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.begun++
			return w.known, nil
		},
		Take: func(entries []jetstream.KeyValueEntry, _ bool) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, entry := range entries {
				w.known, w.values[entry.Key()] = entry.Revision(), string(entry.Value())
			}
			return nil
		},
	}
}

func (w *watched) has(key string) func() bool {
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.values[key] != ""
	}
}

func (w *watched) began(times int) func() bool {
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.begun >= times
	}
}

// The client notices by missing heartbeats alone, many seconds later, that its
// consumer is gone.
func TestWatchBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, js jetstream.JetStream)
	}{
		{"after a lost connection", func(t *testing.T, js jetstream.JetStream) {
			require.NoError(t, js.Conn().ForceReconnect())
		}},
		{"when something was missed", func(t *testing.T, js jetstream.JetStream) {
			stream, err := js.Stream(t.Context(), "KV_T")
			require.NoError(t, err)
			for name := range stream.ConsumerNames(t.Context()).Name() {
				require.NoError(t, stream.DeleteConsumer(t.Context(), name))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			js := natstest.JetStream(t, ns)
			b := New(js, jetstream.KeyValueConfig{Bucket: "T"})
			other := New(natstest.JetStream(t, ns), jetstream.KeyValueConfig{Bucket: "T"})
			put := func(key string) {
				_, err := other.Put(t.Context(), key, key, 0)
				require.NoError(t, err)
			}
			put("a")
			w := &watched{values: map[string]string{}}
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() { _ = b.Watch(ctx, w.watch()) })
			defer watching.Wait()
			defer cancel()
			require.Eventually(t, w.has("a"), patience, time.Millisecond)
			tt.harm(t, js)
			put("b")
			require.Eventually(t, w.began(2), patience, time.Millisecond)
			require.Eventually(t, w.has("b"), patience, time.Millisecond)
			put("c")
			require.Eventually(t, w.has("c"), patience, time.Millisecond)
		})
	}
}

func TestWatchEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	b, cause := New(js, jetstream.KeyValueConfig{Bucket: "T"}), errors.New("full")
	fine := Watch{
		Begin: func(string, uint64) (uint64, error) { return 0, nil },
		Take:  func([]jetstream.KeyValueEntry, bool) error { return nil },
	}
	for name, harm := range map[string]func(*Watch){
		"begin": func(w *Watch) { w.Begin = func(string, uint64) (uint64, error) { return 0, cause } },
		"take":  func(w *Watch) { w.Take = func([]jetstream.KeyValueEntry, bool) error { return cause } },
		"held":  func(w *Watch) { w.Held = func() (uint64, error) { return 0, cause } },
	} {
		t.Run(name, func(t *testing.T) {
			w := fine
			harm(&w)
			require.ErrorIs(t, b.Watch(t.Context(), w), cause)
		})
	}
}

// Entries that are removed from the stream of a bucket leave no message. All others do,
// also if they come between two looks.
func TestWatchSeesWhetherTheBucketIsPurged(t *testing.T) {
	t.Parallel()
	errEnough := errors.New("enough")
	for _, tt := range []struct {
		name  string
		purge bool
		want  error
	}{
		{"others write", false, errEnough},
		{"purged", true, ErrPurged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			js := natstest.JetStream(t, ns)
			b := New(natstest.JetStream(t, ns), jetstream.KeyValueConfig{Bucket: "T"})
			require.NoError(t, b.Open(t.Context()))
			w := (&watched{values: map[string]string{}}).watch()
			held := uint64(0)
			w.Held = func() (uint64, error) {
				if held++; held == 3 {
					if !tt.purge {
						return 0, errEnough
					}
					stream, err := js.Stream(t.Context(), "KV_T")
					require.NoError(t, err)
					require.NoError(t, stream.Purge(t.Context()))
				}
				kv, err := js.KeyValue(t.Context(), "T")
				require.NoError(t, err)
				_, err = kv.PutString(t.Context(), fmt.Sprint("key", held), "")
				require.NoError(t, err)
				return held, nil
			}
			require.ErrorIs(t, b.Watch(t.Context(), w), tt.want)
			require.EqualValues(t, 3, held)
		})
	}
}

// A new copy is complete before it takes the place of the last one.
func TestFollowKeepsTheLastCopy(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t, nil))
	b := New(js, jetstream.KeyValueConfig{Bucket: "T"})
	for _, key := range []string{"a", "b"} {
		_, err := b.Put(t.Context(), key, key, 0)
		require.NoError(t, err)
	}
	var copies, settled atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		b.Follow(ctx, func() (func(jetstream.KeyValueEntry), func()) {
			copies.Add(1)
			known := map[string]bool{}
			return func(e jetstream.KeyValueEntry) { known[e.Key()] = true }, func() {
				if len(known) != 2 {
					t.Error("a copy that is not complete", known)
				}
				settled.Add(1)
			}
		}, slog.New(slog.DiscardHandler))
	})
	defer following.Wait()
	defer cancel()
	require.Eventually(t, func() bool { return settled.Load() == 1 }, patience, time.Millisecond)
	require.NoError(t, js.Conn().ForceReconnect())
	require.Eventually(t, func() bool { return settled.Load() == 2 && copies.Load() == 2 }, patience, time.Millisecond)
}
