package events

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m, 4) }

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

// provisionTest creates the resources of the test layout and returns its event
// stream.
func provisionTest(t testing.TB, b *bus.Bus) jetstream.Stream {
	t.Helper()
	_, err := bus.Provision(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	stream, err := b.JS.Stream(t.Context(), testLayout().Stream)
	require.NoError(t, err)
	return stream
}

// consumerOf returns the durable of the sessions.
func consumerOf(t testing.TB, b *bus.Bus) jetstream.Consumer {
	t.Helper()
	durable, err := b.JS.Consumer(t.Context(), testLayout().Stream, testLayout().QueueGroup)
	require.NoError(t, err)
	return durable
}

func newMetrics() *Metrics { return NewMetrics(prometheus.NewRegistry()) }

// total is the sum of a counter over the hooks of the sink "sessions", totalOf
// that of another sink.
func total(c *prometheus.CounterVec) int { return totalOf(c, "sessions") }

func totalOf(c *prometheus.CounterVec, sink string) int {
	sum := 0.0
	for _, hook := range []string{"after_tool_call", "agent_end", "llm_output", "session_end", "turn_begun", labelOther} {
		sum += testutil.ToFloat64(c.WithLabelValues(sink, hook))
	}
	return int(sum)
}

// startTest starts the sink "sessions" of the test layout.
func startTest(t testing.TB, js jetstream.JetStream, m *Metrics, h Handler[string]) *Sink[string] {
	t.Helper()
	s, err := StartSink(t.Context(), SinkOptions[string]{Name: "sessions", JS: js, Layout: testLayout(), Handler: h, Metrics: m, Log: quiet})
	require.NoError(t, err)
	return s
}

// lettersStream is the dead-letter stream.
func lettersStream(t testing.TB, b *bus.Bus) jetstream.Stream {
	t.Helper()
	s, err := b.JS.Stream(t.Context(), testLayout().DeadLetterStream())
	require.NoError(t, err)
	return s
}
