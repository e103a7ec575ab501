package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/batch"
	"intenthint/internal/bus"
)

const (
	// maxOutbox and maxOutboxBytes bound the publications that wait while the
	// stream cannot take them. Beyond that the oldest are dropped and logged.
	maxOutbox      = 65536
	maxOutboxBytes = 64 << 20
	// minBatch is the size from which on a group travels as an atomic batch,
	// which costs the server about as much as two hundred single messages.
	minBatch = 256
	// maxDirect and maxDirectBytes bound the publications that are sent one by
	// one and are not acknowledged, about a second's work of a stream that syncs
	// each of them. It falls behind when many turns begin at once; what comes
	// beyond that travels in groups.
	maxDirect      = 2048
	maxDirectBytes = 32 << 20
	// directAckTime is how long the stream may take to acknowledge one of them:
	// a slow disk, of a hundred syncs a second, needs 20 s for maxDirect. What
	// is lost with a connection is sent again as soon as there is another one.
	directAckTime = 20 * time.Second
	// maxGroup bounds what is sent together. A server takes 1000.
	maxGroup = 500
	// ackTime is how long the stream may take to acknowledge a group.
	ackTime = 5 * time.Second
)

// Publisher publishes events asynchronously and retries until they are
// acknowledged.
//
// A message is sent to the server before Publish returns, so the turn is not lost
// if the process is killed after its reply. Only when many are unacknowledged do
// further messages gather while a group is in flight, and form the next group. A
// large group is sent as an atomic batch, which the server syncs to disk once, if
// the stream allows that.
type Publisher struct {
	nc      *nats.Conn
	direct  jetstream.JetStream // for what leaves at once
	js      jetstream.JetStream // for groups
	metrics *Metrics
	log     *slog.Logger
	// single: the stream takes no batches. Used by the sending goroutine only.
	single bool
	most   int // maxDirect, but in tests
	// again are those sent one by one that were not acknowledged. It has room
	// for all that are on their way: the client puts them there, and holds a
	// lock of its own meanwhile.
	again chan *nats.Msg

	mu      sync.Mutex // guards what follows
	outbox  []*nats.Msg
	bytes   int
	waiting bool // for the first message of a group

	wake   chan struct{}
	quit   chan struct{}   // closed: end once everything is acknowledged
	giveUp context.Context //nolint:containedctx // the life of the sending goroutine
	cancel context.CancelFunc
	done   chan struct{}
}

// NewPublisher returns a publisher on nc. Stop ends it.
func NewPublisher(nc *nats.Conn, metrics *Metrics, log *slog.Logger) (*Publisher, error) {
	return newPublisher(nc, metrics, log, maxDirect, directAckTime)
}

func newPublisher(nc *nats.Conn, metrics *Metrics, log *slog.Logger, most int, directAckTime time.Duration) (*Publisher, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(maxGroup), jetstream.WithPublishAsyncTimeout(ackTime))
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		nc: nc, js: js, metrics: metrics, log: log, most: most, waiting: true,
		again: make(chan *nats.Msg, most), wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	p.direct, err = jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(most),
		jetstream.WithPublishAsyncTimeout(directAckTime),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) {
			log.Debug("event not acknowledged", "subject", m.Subject, "error", err)
			metrics.publishRetries.Inc()
			p.again <- m
		}),
	)
	if err != nil {
		return nil, err
	}
	// The client subscribes to acknowledgements with the first publication, also
	// one that it refuses. Later would be while a service counts what it has.
	for _, js := range []jetstream.JetStream{p.js, p.direct} {
		if _, err := js.PublishMsgAsync(&nats.Msg{}); !errors.Is(err, nats.ErrBadSubject) {
			return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
		}
	}
	p.giveUp, p.cancel = context.WithCancel(context.Background())
	go p.run()
	return p, nil
}

// Publish takes a message and returns at once. The message must carry
// Nats-Msg-Id, for it may be sent more than once, and is the publisher's from
// now on.
func (p *Publisher) Publish(m *nats.Msg) {
	if most := p.nc.MaxPayload(); most > 0 && int64(m.Size()) > most {
		p.log.Error("event too large for the server", "subject", m.Subject, "bytes", m.Size())
		return
	}
	if !p.sendDirect(m) {
		p.gather(m)
	}
}

// sendDirect sends a message at once and reports whether it did. It does not if
// the message would overtake others, or if too many are in flight.
func (p *Publisher) sendDirect(m *nats.Msg) bool {
	p.mu.Lock()
	idle := p.waiting
	p.mu.Unlock()
	if !idle || p.direct.PublishAsyncPending() >= min(p.most, maxDirectBytes/m.Size()) {
		return false
	}
	// No stall: a request must not wait for events.
	_, err := p.direct.PublishMsgAsync(m, jetstream.WithRetryAttempts(0), jetstream.WithStallWait(time.Microsecond))
	if err != nil {
		m.Reply = ""
	}
	return err == nil
}

// gather takes a message for the next group.
func (p *Publisher) gather(m *nats.Msg) {
	p.mu.Lock()
	p.outbox = append(p.outbox, m)
	p.bytes += m.Size()
	p.bound()
	waiting := p.waiting
	p.waiting = false
	p.mu.Unlock()
	if waiting {
		p.wake <- struct{}{}
	}
}

// bound drops the oldest messages beyond the bounds of the outbox. The lock is
// held.
func (p *Publisher) bound() {
	lost := 0
	for len(p.outbox) > maxOutbox || p.bytes > maxOutboxBytes && len(p.outbox) > 1 {
		lost++
		p.bytes -= p.outbox[0].Size()
		p.outbox = p.outbox[1:]
	}
	if lost > 0 {
		p.log.Error("outbox full, oldest events lost", "events", lost)
	}
}

// take returns the next group. It is empty if no message waits; wake then signals
// the next one.
func (p *Publisher) take() []*nats.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.outbox) == 0 {
		p.outbox, p.waiting = nil, true
		return nil
	}
	n := min(len(p.outbox), maxGroup)
	group := p.outbox[:n:n]
	p.outbox = p.outbox[n:]
	for _, m := range group {
		p.bytes -= m.Size()
	}
	return group
}

// putBack makes the messages the next ones again.
func (p *Publisher) putBack(group []*nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outbox = append(slices.Clip(group), p.outbox...)
	for _, m := range group {
		p.bytes += m.Size()
	}
	p.bound()
	p.waiting = false // run is awake
}

// sendAgain makes the messages that were not acknowledged the next ones.
func (p *Publisher) sendAgain(first *nats.Msg) {
	group := []*nats.Msg{first}
	for len(p.again) > 0 {
		group = append(group, <-p.again)
	}
	for i, m := range group {
		group[i] = &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
	}
	p.putBack(group)
}

// run sends one group after the other. It retries an unacknowledged group after a
// pause, so that a recovering stream is not flooded.
func (p *Publisher) run() {
	defer close(p.done)
	for failures := 0; ; {
		select {
		case m := <-p.again:
			p.sendAgain(m)
		default:
		}
		group := p.take()
		if group == nil {
			select {
			case m := <-p.again:
				p.sendAgain(m)
				continue
			case <-p.wake:
				continue
			case <-p.quit:
				if len(p.again) > 0 {
					continue
				}
				return
			}
		}
		if failures > 0 {
			for range group {
				p.metrics.publishRetries.Inc()
			}
		}
		left, err := p.send(group)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; failures == 1 {
			p.log.Warn("events not acknowledged", "events", len(left), "error", err)
		}
		p.putBack(left)
		select {
		case <-time.After(bus.Backoff(failures)):
		case <-p.giveUp.Done():
			return
		}
	}
}

// send sends a group and returns the unacknowledged messages.
func (p *Publisher) send(group []*nats.Msg) ([]*nats.Msg, error) {
	if len(group) >= minBatch && !p.single {
		err := p.sendBatch(group)
		if err == nil {
			return nil, nil
		}
		if _, refused := errors.AsType[*jetstream.APIError](err); !refused && !errors.Is(err, nats.ErrMaxPayload) {
			return group, err
		}
		// One of them is there already, after an acknowledgement that was
		// lost; or it is too large with a batch's headers; or the stream takes
		// no batches. Each by itself, then.
	}
	return p.sendSingly(group)
}

// sendSingly sends messages one by one without waiting in between.
func (p *Publisher) sendSingly(group []*nats.Msg) ([]*nats.Msg, error) {
	var (
		left  []*nats.Msg
		cause error
	)
	failed := func(m *nats.Msg, err error) {
		left, cause = append(left, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}), err
	}
	acks := make([]jetstream.PubAckFuture, len(group))
	for i, m := range group {
		m.Reply = ""
		ack, err := p.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
		if err != nil {
			failed(m, err)
			continue
		}
		acks[i] = ack
	}
	for i, ack := range acks {
		if ack == nil {
			continue
		}
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			failed(group[i], err)
		}
	}
	return left, cause
}

// sendBatch sends a group that the stream takes as a whole or not at all; then
// the error is a [*jetstream.APIError].
func (p *Publisher) sendBatch(group []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), ackTime)
	defer cancel()
	ack, err := batch.Publish(ctx, p.nc, group)
	switch {
	case err != nil:
		return err
	case ack.Error != nil:
		p.single = p.single || ack.Error.ErrorCode == batch.CodeDisabled
		return ack.Error
	case ack.ID == "":
		// A server that knows no batches has stored each message and
		// acknowledged one.
		p.single = true
		return &jetstream.APIError{Description: "atomic batches not supported by the server"}
	}
	return nil
}

// Stop waits until all messages are acknowledged or ctx ends. The remaining ones
// are lost and logged.
func (p *Publisher) Stop(ctx context.Context) {
	defer p.cancel()
	select {
	case <-p.direct.PublishAsyncComplete():
	case <-ctx.Done():
	}
	close(p.quit)
	select {
	case <-p.done:
	case <-ctx.Done():
		pending := p.direct.PublishAsyncPending() + len(p.again)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.log.Error("events not acknowledged before stop", "events", len(p.outbox)+pending)
	}
}
