package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/batch"
	"intenthint/internal/loglimit"
	"intenthint/internal/retry"
)

const (
	// maxOutbox and maxOutboxBytes bound the publications that wait while the
	// stream cannot take them. Beyond that the oldest are dropped and logged.
	maxOutbox      = 65536
	maxOutboxBytes = 64 << 20
	// minBatch is the smallest group that is sent as an atomic batch, which costs
	// the server about as much as two hundred single messages.
	minBatch = 256
	// maxPending and maxPendingBytes bound the unacknowledged publications that
	// are sent one by one, about a second's work of a stream that syncs each of
	// them. Beyond that, messages are sent in groups.
	maxPending      = 2048
	maxPendingBytes = 32 << 20
	// ackTime is how long the stream may take to acknowledge a message or a batch. A
	// stream that cannot take messages does not answer, and all messages must be
	// stored within ten seconds after it can take them again (contract §9). A
	// message that a slow disk stores after ackTime is sent again, but stored only
	// once.
	ackTime = 5 * time.Second
	// stallTime is how long the stream may acknowledge nothing while messages wait
	// before the health check fails; contract §9 allows five seconds.
	stallTime = 3 * time.Second
	// stallCheck is the interval at which stalls are looked for.
	stallCheck = 500 * time.Millisecond
	// returnCheck is the interval at which Stop checks whether the client has
	// returned the last messages, which takes microseconds.
	returnCheck = time.Millisecond
	// moreTime is how long Stop waits, after the current attempt, for a stream
	// that acknowledges nothing.
	moreTime = 2 * time.Second
	// maxGroup bounds what is sent together. A server accepts 1000.
	maxGroup = 500
)

// publishRetry bounds the pauses after groups that were not acknowledged. All
// messages must be stored within ten seconds after the stream can take them again
// (contract §9).
var publishRetry = retry.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}

// Publisher publishes events asynchronously and retries until they are
// acknowledged.
//
// A message is sent to the server before Publish returns, so the turn is not lost
// if the process is killed after its reply. Only when many messages are
// unacknowledged are further ones collected, while a group is in flight, to
// form the next group. A large group is sent as an atomic batch, which the
// server syncs to disk once, if the stream allows that.
type Publisher struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	metrics *Metrics
	log     *slog.Logger
	lines   loglimit.Limit
	// single reports whether the stream refuses batches. It is used by the sending
	// goroutine only.
	single bool
	most   int // maxPending, except in tests
	times  times
	// sent counts the messages given to the client: acked of them were
	// acknowledged, returned were returned unacknowledged. batched counts messages
	// acknowledged in batches.
	sent, acked, returned, batched atomic.Int64
	stalled                        atomic.Pointer[error]

	// mu guards what follows. The client holds its own lock while it reports a late
	// acknowledgement, and gather takes mu then: do not call js while holding mu.
	mu      sync.Mutex
	outbox  []*nats.Msg
	bytes   int
	sending int   // messages of the group that are neither in the outbox nor with the client
	waiting bool  // for the first message of a group
	failure error // why a message has come back since the last group was taken
	last    error // the latest failure
	dropped int   // messages dropped since the last log message

	wake   chan struct{}
	quit   chan struct{}   // closed: end once everything is acknowledged
	giveUp context.Context //nolint:containedctx // the life of the sending goroutine
	cancel context.CancelFunc
	done   chan struct{}
}

// times are the constants of the same names, except in tests.
type times struct{ ack, stall, stallCheck, more time.Duration }

// NewPublisher returns a publisher on nc. Stop ends it.
func NewPublisher(nc *nats.Conn, metrics *Metrics, log *slog.Logger) (*Publisher, error) {
	return newPublisher(nc, metrics, log, maxPending, times{ackTime, stallTime, stallCheck, moreTime})
}

func newPublisher(nc *nats.Conn, metrics *Metrics, log *slog.Logger, most int, times times) (p *Publisher, err error) {
	p = &Publisher{
		nc: nc, metrics: metrics, log: log, most: most, times: times, waiting: true,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	p.js, err = jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(most),
		jetstream.WithPublishAsyncTimeout(times.ack),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			log.Debug("event not acknowledged", "subject", m.Subject, "error", err)
			metrics.publishRetries.Inc()
			p.gather(err, m)
			p.returned.Add(1) // last: until then the message counts as unanswered
		}),
		jetstream.WithPublishAsyncAckHandler(func(jetstream.JetStream, *nats.Msg, *jetstream.PubAck) { p.acked.Add(1) }),
	)
	if err != nil {
		return nil, err
	}
	metrics.waiting.add(p)
	// The client subscribes to acknowledgements with the first publication, even
	// one that it refuses. Do it now: later, a service may be counting its
	// subscriptions.
	if _, err := p.js.PublishMsgAsync(&nats.Msg{}); !errors.Is(err, nats.ErrBadSubject) {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	p.giveUp, p.cancel = context.WithCancel(context.Background())
	go p.run()
	go p.watch()
	return p, nil
}

// Check returns an error while messages wait and the stream acknowledges none
// of them. It is a health check.
func (p *Publisher) Check(context.Context) error {
	if err := p.stalled.Load(); err != nil {
		return *err
	}
	return nil
}

// watch notices a stream that acknowledges nothing.
func (p *Publisher) watch() {
	tick := time.NewTicker(p.times.stallCheck)
	defer tick.Stop()
	var acknowledged int64
	progress := time.Now()
	for {
		select {
		case <-p.giveUp.Done():
			p.reportDropped()
			return
		case now := <-tick.C:
			p.reportDropped()
			waiting, last := p.waits()
			if n := p.acked.Load() + p.batched.Load(); n != acknowledged || waiting == 0 {
				acknowledged, progress = n, now
			}
			if now.Sub(progress) < p.times.stall {
				p.stalled.Store(nil)
				continue
			}
			err := fmt.Errorf("%w: %d waiting", errStalled, waiting)
			if last != nil {
				err = fmt.Errorf("%w: %w", err, last)
			}
			p.stalled.Store(&err)
		}
	}
}

// unanswered returns how many messages the client has, including those that it
// is about to return: the client itself no longer counts these.
func (p *Publisher) unanswered() int {
	// An answer may come before the message is counted.
	return int(max(0, p.sent.Load()-p.acked.Load()-p.returned.Load()))
}

// waits returns how many messages are not acknowledged, and the latest failure.
func (p *Publisher) waits() (n int, last error) {
	n = p.unanswered()
	p.mu.Lock()
	defer p.mu.Unlock()
	return n + len(p.outbox) + p.sending, p.last
}

// reportDropped logs, in one message, how many messages were dropped since its
// last call: there may be thousands.
func (p *Publisher) reportDropped() {
	p.mu.Lock()
	n := p.dropped
	p.dropped = 0
	p.mu.Unlock()
	if n > 0 {
		p.log.Error("outbox full, oldest events lost", "events", n)
	}
}

// errStalled reports a stream that takes no events.
var errStalled = errors.New("events not acknowledged by the stream")

// Publish takes a message and returns at once. The message must carry
// Nats-Msg-Id, as it may be sent more than once. It belongs to the publisher
// from now on.
func (p *Publisher) Publish(m *nats.Msg) {
	if most := p.nc.MaxPayload(); most > 0 && int64(m.Size()) > most {
		p.lines.Error(p.log, "event too large for the server", "subject", m.Subject, "bytes", m.Size())
		p.metrics.lost.Inc()
		return
	}
	p.mu.Lock()
	idle := p.waiting
	p.mu.Unlock()
	// A message does not overtake others. A request must not wait for events:
	// no stall.
	if !idle || p.js.PublishAsyncPending() >= min(p.most, maxPendingBytes/m.Size()) || p.send(m, time.Microsecond) != nil {
		p.gather(nil, m)
	}
}

// send sends one message. If too many are in flight it waits for stall.
func (p *Publisher) send(m *nats.Msg, stall time.Duration) error {
	_, err := p.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0), jetstream.WithStallWait(stall))
	if err == nil {
		p.sent.Add(1)
	}
	return err
}

// gather puts messages into the outbox, after a failure if they have come back.
// It drops the oldest messages beyond the bounds.
func (p *Publisher) gather(failure error, messages ...*nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outbox = append(p.outbox, messages...)
	p.bytes += sizeOf(messages)
	p.failure, p.last = cmp.Or(failure, p.failure), cmp.Or(failure, p.last)
	lost := 0
	for len(p.outbox) > maxOutbox || p.bytes > maxOutboxBytes && len(p.outbox) > 1 {
		lost++
		p.bytes -= p.outbox[0].Size()
		p.outbox = p.outbox[1:]
	}
	p.dropped += lost
	p.metrics.lost.Add(float64(lost))
	p.waiting = false
	select {
	case p.wake <- struct{}{}:
	default: // run is awake
	}
}

func sizeOf(messages []*nats.Msg) (bytes int) {
	for _, m := range messages {
		bytes += m.Size()
	}
	return bytes
}

// take returns the next group. It is empty if no message waits; wake then signals
// the next one.
func (p *Publisher) take() []*nats.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = nil
	if len(p.outbox) == 0 {
		p.outbox, p.waiting = nil, true
		return nil
	}
	n := min(len(p.outbox), maxGroup)
	group := p.outbox[:n:n]
	p.outbox = p.outbox[n:]
	p.bytes -= sizeOf(group)
	p.sending = n
	return group
}

// run sends one group after the other. After a failure it pauses, so that a
// recovering stream is not flooded.
func (p *Publisher) run() {
	defer close(p.done)
	for failures := 0; p.giveUp.Err() == nil; {
		group := p.take()
		if group == nil {
			select {
			case <-p.wake:
				continue
			case <-p.quit:
			}
			if group = p.take(); group == nil {
				if p.unanswered() == 0 {
					return
				}
				select {
				case <-time.After(returnCheck):
				case <-p.giveUp.Done():
				}
				continue
			}
		}
		p.sendGroup(group)
		p.leaveSending(0)
		p.mu.Lock()
		err, waiting := p.failure, len(p.outbox)
		p.mu.Unlock()
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures == 1 {
			p.log.Warn("events not acknowledged", "events", waiting, "error", err)
		}
		_ = publishRetry.Wait(p.giveUp, failures)
	}
}

// sendGroup sends a group and waits until it is acknowledged. Messages that are
// not acknowledged return to the outbox, with the failure.
func (p *Publisher) sendGroup(group []*nats.Msg) {
	if len(group) >= minBatch && !p.single {
		err := p.sendBatch(group)
		if err == nil {
			p.batched.Add(int64(len(group)))
			return
		}
		if _, refused := errors.AsType[*jetstream.APIError](err); !refused && !errors.Is(err, nats.ErrMaxPayload) {
			p.metrics.publishRetries.Add(float64(len(group)))
			p.gather(err, group...)
			return
		}
		// A message was stored before and its acknowledgement lost; or it is too
		// large with a batch's headers; or the stream takes no batches. Send the
		// messages one by one.
	}
	for i, m := range group {
		if err := p.send(m, p.times.ack); err != nil {
			p.metrics.publishRetries.Add(float64(len(group) - i))
			p.gather(err, group[i:]...)
			p.leaveSending(0)
			break
		}
		p.leaveSending(len(group) - i - 1)
	}
	select {
	case <-p.js.PublishAsyncComplete():
	case <-p.giveUp.Done():
	}
}

// leaveSending sets how many messages of the group are still to be sent.
func (p *Publisher) leaveSending(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending = n
}

// sendBatch sends a group that the stream stores as a whole or not at all; in
// the latter case the error is a [*jetstream.APIError].
func (p *Publisher) sendBatch(group []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.times.ack)
	defer cancel()
	ack, err := batch.Publish(ctx, p.nc, group)
	switch {
	case err != nil:
		return err
	case ack.Error != nil:
		p.single = p.single || ack.Error.ErrorCode == batch.CodeDisabled
		return ack.Error
	case ack.ID == "":
		// A server without support for batches has stored every message and
		// acknowledged one.
		p.single = true
		return &jetstream.APIError{Description: "atomic batches not supported by the server"}
	}
	return nil
}

// Stop waits until all messages are acknowledged or ctx ends; if the stream
// acknowledges nothing, it waits only briefly. It returns the number of
// messages lost.
func (p *Publisher) Stop(ctx context.Context) (lost int) {
	defer p.cancel()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for since := time.Duration(0); since < p.times.ack+p.times.more; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(p.times.stallCheck):
			}
			if p.Check(ctx) != nil {
				since += p.times.stallCheck
			} else {
				since = 0
			}
		}
		cancel()
	}()
	select {
	case <-p.js.PublishAsyncComplete():
	case <-ctx.Done():
	}
	close(p.quit)
	select {
	case <-p.done:
	case <-ctx.Done():
		lost, _ = p.waits()
		p.metrics.lost.Add(float64(lost))
	}
	return lost
}
