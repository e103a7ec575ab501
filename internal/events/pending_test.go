package events

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

// A server whose max_pending is below a pull closes the connection at each pull, and says
// why in its own log alone.
func TestASmallMaxPendingIsNamed(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{JetStream: true, StoreDir: t.TempDir(), MaxPayload: 200 << 10, MaxPending: 256 << 10})
	log := &logText{}
	b, err := bus.Open(t.Context(), bus.Options{URL: ns.ClientURL(), Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	provisionTest(t, b)
	large := []byte("s/" + strings.Repeat("x", 150<<10))
	for range 100 {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.h.a.s", large)
		require.NoError(t, err)
	}
	sink := startTest(t, b.JS, newMetrics(), Handler[string]{Decode: decodeText, Apply: func(context.Context, []string) error { return nil }})
	t.Cleanup(func() { _ = sink.Stop(context.WithoutCancel(t.Context())) })
	require.Eventually(t, func() bool {
		return log.has("lost again and again", "setting=max_pending", `needed="16 MiB"`)
	}, time.Minute, 10*time.Millisecond, log)
}

// logText is a log.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// has reports whether a line has all of the texts.
func (l *logText) has(texts ...string) bool {
lines:
	for line := range strings.Lines(l.String()) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return true
	}
	return false
}
