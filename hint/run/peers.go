package run

import (
	"context"
	"runtime"
	"sync"

	"github.com/nats-io/nats.go"
)

// Peers are the other consumer processes: each broadcasts its answers on one
// core NATS subject as it gives them.
type Peers struct {
	nc      *nats.Conn
	subject string
	sub     *nats.Subscription

	mu sync.Mutex
	// learning reports whether a broadcast is being processed; learned counts the
	// processed ones.
	learning bool
	learned  int
	waiters  []waiter // by count
}

// waiter has a channel that is closed once the given number of broadcasts has
// been processed.
type waiter struct {
	count int
	done  chan struct{}
}

// Listen calls learn with every message that another process broadcasts on the
// subject, turn_begun or session_removed; learn must not block. nc must be the
// connection that replies go out on: a broadcast then reaches the server before
// the reply that follows it. It must not receive its own messages ([nats.NoEcho],
// as set by package bus).
func Listen(nc *nats.Conn, subject string, learn func(message []byte)) (*Peers, error) {
	p := &Peers{nc: nc, subject: subject}
	sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
		p.begin()
		defer p.end()
		learn(m.Data)
	})
	p.sub = sub
	return p, err
}

func (p *Peers) broadcast(message []byte) error { return p.nc.Publish(p.subject, message) }

func (p *Peers) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learning = true
}

func (p *Peers) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learning = false
	p.learned++
	for len(p.waiters) > 0 && p.waiters[0].count <= p.learned {
		close(p.waiters[0].done)
		p.waiters = p.waiters[1:]
	}
}

// settle returns once every broadcast that the connection had received when it
// was called has been learned, or when ctx is done. The server sends an answer before
// a request that follows it, but each of the two subscriptions has its own
// goroutine: without settle, the request could overtake the answer.
func (p *Peers) settle(ctx context.Context) {
	for ctx.Err() == nil {
		// Pending includes the message that learn is processing.
		if waiting, _, err := p.sub.Pending(); err != nil || waiting == 0 {
			return
		}
		if done := p.wait(); done != nil {
			select {
			case <-done:
			case <-ctx.Done():
			}
			return
		}
		runtime.Gosched()
	}
}

// wait returns a channel that is closed once all waiting broadcasts have been
// learned. It is nil while none is being learned: the last one may then still
// count as waiting until the subscription looks for the next.
func (p *Peers) wait() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, _, err := p.sub.Pending()
	if err != nil || !p.learning {
		return nil
	}
	count := p.learned + waiting
	if n := len(p.waiters); n > 0 && p.waiters[n-1].count == count {
		return p.waiters[n-1].done
	}
	w := waiter{count, make(chan struct{})}
	p.waiters = append(p.waiters, w)
	return w.done
}
