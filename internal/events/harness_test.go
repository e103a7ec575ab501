package events

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/subjects"
)

var quiet = slog.New(slog.DiscardHandler)

func testLayout() bus.Layout {
	return bus.Layout{Prefix: subjects.DefaultPrefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream, MaxAge: time.Hour, MaxBytes: 64 << 20}
}

// openTest starts an embedded server on a free port.
func openTest(t testing.TB) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func provisionTest(t testing.TB, b *bus.Bus) bus.Provisioned {
	t.Helper()
	p, err := bus.Provision(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	return p
}
