package run

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Peers are the other consumer processes: each broadcasts its answers on one
// core NATS subject as it gives them.
type Peers struct {
	nc      *nats.Conn
	subject string
	sub     *nats.Subscription
	// learned counts the broadcasts that were dealt with.
	learned atomic.Int64
}

// Listen calls learn with every turn_begun message that another process
// broadcasts on the subject; learn must not block. nc must be the connection that
// replies go out on: a broadcast then reaches the server before the reply that
// follows it. It must not get its own messages back ([nats.NoEcho], as those of
// package bus).
func Listen(nc *nats.Conn, subject string, learn func(message []byte)) (*Peers, error) {
	p := &Peers{nc: nc, subject: subject}
	sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
		defer p.learned.Add(1)
		learn(m.Data)
	})
	p.sub = sub
	return p, err
}

func (p *Peers) tell(message []byte) error { return p.nc.Publish(p.subject, message) }

// settle returns once every broadcast that the connection had received when it
// was called has been learned. The server sends an answer before a request that
// follows it, but the two subscriptions have goroutines of their own: without
// this the request could overtake the answer.
func (p *Peers) settle(ctx context.Context) {
	waiting, _, err := p.sub.Pending() // with the one that learn works on
	if err != nil || waiting == 0 {
		return
	}
	all := p.learned.Load() + int64(waiting)
	for p.learned.Load() < all && ctx.Err() == nil {
		if waiting, _, err = p.sub.Pending(); err != nil || waiting == 0 {
			return
		}
		runtime.Gosched()
	}
}
