package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxUnacknowledged bounds the publications that wait for the server's
	// acknowledgement.
	maxUnacknowledged = 4096
	// maxOutbox bounds the publications that wait to be sent again while the
	// stream cannot take them. Beyond it the oldest is given up, and said so.
	maxOutbox = 65536
)

// PublishObserver counts publications that had to be repeated.
type PublishObserver interface {
	PublishRetry()
}

// Publisher sends events to the stream without making anybody wait for the
// acknowledgement, and sends them again until it has come.
type Publisher struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	observer PublishObserver
	log      *slog.Logger

	mu     sync.Mutex
	outbox []*nats.Msg // not acknowledged; to be sent again
	quit   chan struct{}
	done   chan struct{}
}

// NewPublisher returns a publisher on nc. Stop ends it.
func NewPublisher(nc *nats.Conn, observer PublishObserver, log *slog.Logger) (*Publisher, error) {
	p := &Publisher{nc: nc, observer: observer, log: log, quit: make(chan struct{}), done: make(chan struct{})}
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(maxUnacknowledged),
		jetstream.WithPublishAsyncTimeout(5*time.Second),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) { p.keep(m, err) }),
	)
	if err != nil {
		return nil, err
	}
	p.js = js
	go p.resend()
	return p, nil
}

// Publish hands the message to the connection, in order with what else is
// published there, and returns at once. The message must carry Nats-Msg-Id: it
// may be sent more than once.
func (p *Publisher) Publish(m *nats.Msg) {
	// No stall: a request waits for nothing that concerns events.
	_, err := p.js.PublishMsgAsync(m, jetstream.WithStallWait(time.Microsecond), jetstream.WithRetryAttempts(0))
	if err != nil {
		p.keep(m, err)
	}
}

// keep puts a message aside to be sent again.
func (p *Publisher) keep(m *nats.Msg, cause error) {
	if errors.Is(cause, nats.ErrMaxPayload) {
		p.log.Error("an event is too large for the server", "subject", m.Subject, "bytes", len(m.Data))
		return
	}
	again := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.outbox) == 0 {
		p.log.Warn("an event was not acknowledged by the stream, it is sent again until it is", "subject", m.Subject, "error", cause)
	}
	if len(p.outbox) >= maxOutbox {
		p.log.Error("too many events wait for the stream, the oldest is lost", "subject", p.outbox[0].Subject)
		p.outbox = p.outbox[1:]
	}
	p.outbox = append(p.outbox, again)
}

func (p *Publisher) take() *nats.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.outbox) == 0 {
		p.outbox = nil
		return nil
	}
	m := p.outbox[0]
	p.outbox = p.outbox[1:]
	return m
}

// resend sends what was put aside, one at a time and with pauses, so that a
// stream that comes back is not flooded.
func (p *Publisher) resend() {
	defer close(p.done)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		p.sendOutbox(context.Background())
	}
}

// sendOutbox sends until the outbox is empty or one fails.
func (p *Publisher) sendOutbox(ctx context.Context) bool {
	for m := p.take(); m != nil; m = p.take() {
		send, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := p.js.PublishMsg(send, m)
		cancel()
		if err != nil {
			p.mu.Lock()
			p.outbox = append([]*nats.Msg{m}, p.outbox...)
			p.mu.Unlock()
			return false
		}
		p.observer.PublishRetry()
	}
	return true
}

// Stop waits until everything published is acknowledged, or ctx ends; what is
// left then is lost and said so.
func (p *Publisher) Stop(ctx context.Context) {
	select {
	case <-p.js.PublishAsyncComplete():
	case <-ctx.Done():
	}
	close(p.quit)
	<-p.done
	for !p.sendOutbox(ctx) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.outbox) + p.js.PublishAsyncPending(); n > 0 {
		p.log.Error("events were not acknowledged before the stop", "events", n)
	}
}
