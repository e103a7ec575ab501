package events

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

// deaf dials connections that lose what the server sends, while it is set.
type deaf struct {
	lost atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func (d *deaf) Dial(network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: time.Minute}).Dial(network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, conn)
	return &deafConn{conn, d}, nil
}

// heal ends the losses. The connections, which have a gap, are closed; the client
// opens new ones.
func (d *deaf) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range d.conns {
		_ = conn.Close()
	}
	d.lost.Store(false)
}

type deafConn struct {
	net.Conn
	of *deaf
}

func (c *deafConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !c.of.lost.Load() {
			return n, err
		}
	}
}

// A batch whose acknowledgement fails was stored as a whole or not at all, and the
// publisher cannot know. In the end each id is in the stream exactly once.
func TestPublisherBatchWithoutAcknowledgement(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stream bool // exists when the batch is sent
		others bool // a subscriber without a stream gets it: no answer instead of no responders
	}{
		"stored, and the acknowledgement is lost": {stream: true},
		"no stream":           {},
		"nobody acknowledges": {others: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			watcher := natstest.JetStream(t, ns)
			create := func() jetstream.Stream {
				t.Helper()
				stream, err := watcher.CreateStream(t.Context(), eventStream(true))
				require.NoError(t, err)
				return stream
			}
			var stream jetstream.Stream
			if row.stream {
				stream = create()
			}
			if row.others {
				_, err := watcher.Conn().Subscribe("openclaw.event.>", func(*nats.Msg) {})
				require.NoError(t, err)
				require.NoError(t, watcher.Conn().Flush())
			}
			network, metrics := &deaf{}, newMetrics()
			nc, err := nats.Connect(ns.ClientURL(), nats.SetCustomDialer(network), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond))
			require.NoError(t, err)
			defer nc.Close()
			p, err := newPublisher(nc, metrics, quiet, maxPending, times{ack: 250 * time.Millisecond, stall: time.Hour, stallCheck: stallCheck, more: time.Hour})
			require.NoError(t, err)
			require.NoError(t, nc.Flush())
			var group []*nats.Msg
			for i := range minBatch {
				group = append(group, turn(i))
			}

			network.lost.Store(row.stream)
			p.sendGroup(group)
			require.Zero(t, p.batched.Load(), "nothing is acknowledged")
			require.GreaterOrEqual(t, testutil.ToFloat64(metrics.publishRetries), float64(minBatch))
			if row.stream {
				require.Eventually(t, func() bool {
					info, err := stream.Info(t.Context())
					return err == nil && info.State.Msgs == minBatch
				}, time.Minute, 5*time.Millisecond)
				network.heal()
			} else {
				stream = create()
			}
			require.Zero(t, p.Stop(context.WithoutCancel(t.Context())))
			require.Zero(t, testutil.ToFloat64(metrics.lost))
			bodies, _ := stored(t, stream)
			require.ElementsMatch(t, upTo(minBatch), bodies)
		})
	}
}
