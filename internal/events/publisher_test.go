package events

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/subjects"
)

// eventStream is an event stream with or without atomic batches.
func eventStream(atomic bool) jetstream.StreamConfig {
	l := testLayout()
	return jetstream.StreamConfig{
		Name: l.Stream, Subjects: []string{l.Prefix.Events()}, Duplicates: 2 * time.Minute, AllowDirect: true, AllowAtomicPublish: atomic,
	}
}

func turn(i int) *nats.Msg {
	m := nats.NewMsg("openclaw.event.turn_begun.main.s")
	m.Header.Set(subjects.HeaderMsgID, strconv.Itoa(i))
	m.Data = []byte(strconv.Itoa(i))
	return m
}

// stored returns the contents of the stream and the number of batched messages.
func stored(t *testing.T, s jetstream.Stream) (bodies []string, batched int) {
	t.Helper()
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		require.NoError(t, err)
		bodies = append(bodies, string(m.Data))
		if m.Header.Get("Nats-Batch-Id") != "" {
			batched++
		}
	}
	return bodies, batched
}

func upTo(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

func TestPublisherSendsOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const n = 2000
	for name, atomic := range map[string]bool{"in batches": true, "to a stream without batches": false} {
		t.Run(name, func(t *testing.T) {
			b := openTest(t)
			stream, err := b.JS.CreateStream(t.Context(), eventStream(atomic))
			require.NoError(t, err)
			c := newMetrics()
			p, err := newPublisher(b.NC, c, quiet, 64, times{ackTime, stallTime, stallCheck, moreTime})
			require.NoError(t, err)
			for i := range n {
				p.Publish(turn(i))
			}
			p.Stop(t.Context())
			bodies, batched := stored(t, stream)
			require.Equal(t, upTo(n), bodies)
			if atomic {
				require.Greater(t, batched, n/2)
			} else {
				require.Zero(t, batched)
			}
			require.Zero(t, testutil.ToFloat64(c.publishRetries))
		})
	}
}

func TestPublisherRetriesUntilStreamExists(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	c := newMetrics()
	p, err := NewPublisher(b.NC, c, quiet)
	require.NoError(t, err)
	for i := range 50 {
		p.Publish(turn(i))
	}
	require.Eventually(t, func() bool { return testutil.ToFloat64(c.publishRetries) > 0 }, time.Minute, time.Millisecond)
	stream := provisionTest(t, b)
	p.Stop(t.Context())
	bodies, _ := stored(t, stream)
	require.ElementsMatch(t, upTo(50), bodies)
}

// After a lost acknowledgement the server refuses the repeated batch as a whole.
// Its new messages must not be lost.
func TestPublisherSendsPartlyStoredBatch(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	for _, i := range []int{3, 5} {
		_, err := b.JS.PublishMsg(t.Context(), turn(i))
		require.NoError(t, err)
	}
	p, err := NewPublisher(b.NC, newMetrics(), quiet)
	require.NoError(t, err)
	defer p.Stop(t.Context())
	var group []*nats.Msg
	for i := range minBatch {
		group = append(group, turn(i))
	}
	p.sendGroup(group)
	p.mu.Lock()
	require.NoError(t, p.failure)
	require.Empty(t, p.outbox)
	p.mu.Unlock()
	bodies, batched := stored(t, stream)
	require.ElementsMatch(t, upTo(minBatch), bodies)
	require.Zero(t, batched, "headers of the refused batch remain")
}

func TestPublisherDropsOldestAndStopsInTime(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	log, metrics := &lines{}, newMetrics()
	p, err := NewPublisher(b.NC, metrics, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	for i := range 400 {
		m := turn(i)
		m.Data = make([]byte, 512<<10)
		p.Publish(m)
	}
	require.Positive(t, testutil.ToFloat64(metrics.lost))
	p.mu.Lock()
	require.LessOrEqual(t, p.bytes, maxOutboxBytes)
	p.mu.Unlock()
	// It may be on its way, and comes back as there is no stream.
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.outbox, func(m *nats.Msg) bool { return m.Header.Get(subjects.HeaderMsgID) == "399" })
	}, time.Minute, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx)
	// Some two hundred were dropped, and the log says so now and then, not each time.
	require.Eventually(t, func() bool { return log.n.Load() > 0 }, time.Minute, time.Millisecond)
	require.Less(t, log.n.Load(), int64(20))
}

// lines counts the lines of a log.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(p []byte) (int, error) {
	l.n.Add(1)
	return len(p), nil
}

// silent is a connection on which events are received and never acknowledged.
func silent(t *testing.T) (nc *nats.Conn, received *atomic.Int32) {
	t.Helper()
	b, received := openTest(t), new(atomic.Int32)
	other, err := b.Another(t.Context(), "receiver") // a connection gets no messages of its own
	require.NoError(t, err)
	t.Cleanup(other.Close)
	_, err = other.NC.Subscribe("openclaw.event.>", func(*nats.Msg) { received.Add(1) })
	require.NoError(t, err)
	require.NoError(t, other.NC.Flush())
	return b.NC, received
}

// brief are the times of a publisher that soon says that its stream is stalled.
func brief(ack time.Duration) times {
	return times{ack, 300 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond}
}

func TestPublisherRetriesAfterAckTimeout(t *testing.T) {
	t.Parallel()
	c := newMetrics()
	nc, received := silent(t)
	p, err := newPublisher(nc, c, quiet, 1, brief(50*time.Millisecond))
	require.NoError(t, err)
	p.Publish(turn(0))
	require.Eventually(t, func() bool { return received.Load() > 1 }, time.Minute, time.Millisecond)
	require.Positive(t, testutil.ToFloat64(c.publishRetries))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx)
}

// A stream that takes nothing is noticed within five seconds, a stop does not
// wait for it, and what is lost is counted.
func TestPublisherNoticesAStalledStream(t *testing.T) {
	t.Parallel()
	require.Less(t, stallTime+stallCheck, 5*time.Second)
	nc, _ := silent(t)
	m := newMetrics()
	p, err := newPublisher(nc, m, quiet, 1, brief(250*time.Millisecond))
	require.NoError(t, err)
	require.NoError(t, p.Check(t.Context()))
	require.Zero(t, m.waiting.value())
	p.Publish(turn(0))
	p.Publish(turn(1))
	require.Eventually(t, func() bool { return p.Check(t.Context()) != nil }, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, p.Check(t.Context()), "2 wait")
	require.Equal(t, 2, int(m.waiting.value()))
	require.ErrorIs(t, p.Check(t.Context()), errStalled)
	require.Equal(t, 2, p.Stop(t.Context()))
}

func TestPublisherRecoversFromAStalledStream(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	patient := brief(250 * time.Millisecond)
	patient.more = time.Minute
	m := newMetrics()
	p, err := newPublisher(b.NC, m, quiet, 1, patient)
	require.NoError(t, err)
	p.Publish(turn(0)) // no stream yet
	require.Eventually(t, func() bool { return p.Check(t.Context()) != nil }, time.Minute, 10*time.Millisecond)
	stream := provisionTest(t, b)
	require.Eventually(t, func() bool { return p.Check(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	require.Zero(t, p.Stop(t.Context()))
	require.Zero(t, m.waiting.value())
	bodies, _ := stored(t, stream)
	require.Len(t, bodies, 1)
}

// A long outbox that leaves in batches is not stalled.
func TestPublisherBatchesAreProgress(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	p, err := NewPublisher(b.NC, newMetrics(), quiet)
	require.NoError(t, err)
	defer p.Stop(t.Context())
	var group []*nats.Msg
	for i := range minBatch {
		group = append(group, turn(i))
	}
	p.sendGroup(group)
	require.EqualValues(t, minBatch, p.batched.Load())
	require.Zero(t, p.sent.Load())
}

func TestPublisherStopsWithoutAcknowledgements(t *testing.T) {
	t.Parallel()
	nc, _ := silent(t)
	p, err := newPublisher(nc, newMetrics(), quiet, 1, brief(time.Hour))
	require.NoError(t, err)
	p.Publish(turn(0))
	p.Publish(turn(1)) // waits for the first
	require.Equal(t, 1, p.js.PublishAsyncPending())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Stop(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("Stop waits for the stream")
	}
}

// whenLate is called while the client reports a message that was not acknowledged in time.
type whenLate func()

func (f whenLate) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("event not acknowledged")) {
		f()
	}
	return len(p), nil
}

// The client holds its lock while it reports a late message.
func TestPublisherStopsWhileAMessageIsLate(t *testing.T) {
	t.Parallel()
	nc, _ := silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	late := whenLate(func() {
		cancel()
		time.Sleep(100 * time.Millisecond) // the stop counts what is lost
	})
	log := slog.New(slog.NewTextHandler(late, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := newPublisher(nc, newMetrics(), log, 1, times{ack: 200 * time.Millisecond, stall: time.Hour, stallCheck: time.Hour, more: time.Hour})
	require.NoError(t, err)
	p.Publish(turn(0))
	p.Publish(turn(1)) // waits for the first
	lost := make(chan int, 1)
	go func() { lost <- p.Stop(ctx) }()
	select {
	case n := <-lost:
		require.Positive(t, n)
	case <-time.After(time.Minute):
		t.Fatal("Stop and the client wait for each other")
	}
}

// After a lost connection the client forgets its messages first, and gives them back
// one after another then.
func TestPublisherStopsWhileAMessageComesBack(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	p, err := NewPublisher(b.NC, newMetrics(), quiet)
	require.NoError(t, err)
	p.sent.Add(1)
	require.Zero(t, p.js.PublishAsyncPending())
	lost := make(chan int, 1)
	go func() { lost <- p.Stop(t.Context()) }()
	<-p.quit
	select {
	case <-lost:
		t.Fatal("Stop does not wait for the message")
	case <-time.After(20 * time.Millisecond):
	}
	p.gather(nats.ErrDisconnected, turn(0))
	p.returned.Add(1)
	require.Zero(t, <-lost)
	bodies, _ := stored(t, stream)
	require.Equal(t, upTo(1), bodies)
}

// BenchmarkPublisher publishes turns as fast as the stream takes them, which
// syncs each acknowledgement to the disk.
func BenchmarkPublisher(b *testing.B) {
	for _, atomic := range []bool{true, false} {
		b.Run(fmt.Sprintf("batches=%v", atomic), func(b *testing.B) {
			own := openTest(b)
			_, err := own.JS.CreateStream(b.Context(), eventStream(atomic))
			require.NoError(b, err)
			p, err := NewPublisher(own.NC, newMetrics(), quiet)
			require.NoError(b, err)
			body := make([]byte, 3<<10)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				m := turn(i)
				m.Data = body
				p.Publish(m)
				if i++; i%10000 == 0 {
					for {
						p.mu.Lock()
						n := len(p.outbox)
						p.mu.Unlock()
						if n == 0 {
							break
						}
						time.Sleep(time.Millisecond)
					}
				}
			}
			p.Stop(b.Context())
		})
	}
}

func TestPublisherSubscribesAtOnce(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	before := b.NC.NumSubscriptions()
	p, err := NewPublisher(b.NC, newMetrics(), quiet)
	require.NoError(t, err)
	defer p.Stop(t.Context())
	require.Equal(t, before+1, b.NC.NumSubscriptions())
	provisionTest(t, b)
	after := b.NC.NumSubscriptions()
	p.Publish(turn(0))
	p.gather(nil, turn(1))
	require.Equal(t, after, b.NC.NumSubscriptions())
}
