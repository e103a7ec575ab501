package events

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

// Two sinks of one durable: while the first leaves the events to the second, the second
// has all of them, and none is applied twice or missing.
func TestSinkLeavesEventsToOthers(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	var mu sync.Mutex
	applied := map[string][]string{}
	sink := func(name string) *Sink[string] {
		nc, err := bus.Open(t.Context(), bus.Options{URL: b.URL(), Log: quiet})
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		s := startTest(t, nc.JS, newMetrics(), Handler[string]{Decode: decodeText, Apply: func(_ context.Context, facts []string) error {
			mu.Lock()
			defer mu.Unlock()
			applied[name] = append(applied[name], facts...)
			return nil
		}})
		t.Cleanup(func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) })
		return s
	}
	first, second := sink("first"), sink("second")
	sent := 0
	publish := func(n int) {
		t.Helper()
		for range n {
			_, err := b.JS.Publish(t.Context(), "openclaw.event.h.a.s", []byte("s"+strconv.Itoa(sent%7)+"/"+strconv.Itoa(sent)))
			require.NoError(t, err)
			sent++
		}
	}
	count := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return len(applied[name])
	}
	done := func() {
		t.Helper()
		require.Eventually(t, func() bool { return count("first")+count("second") == sent }, time.Minute, time.Millisecond)
	}
	publish(200)
	done()
	for range 3 { // again and again
		first.Leave(true)
		first.Leave(true)
		publish(1)
		done()
		before := count("first")
		publish(200)
		done()
		require.Equal(t, before, count("first"), "all went to the second")
		first.Leave(false)
		first.Leave(false)
		second.Leave(true)
		publish(200)
		done()
		second.Leave(false)
		require.Greater(t, count("first"), before, "it takes them again")
	}
	var all []string
	for _, facts := range applied {
		all = append(all, facts...)
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), sent)
	first.Leave(true) // Stop ends this, too
}
