package faults

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards TCP connections to one address until it is told to break
// them. It is safe for concurrent use.
type Proxy struct {
	target string
	listen net.Listener
	work   sync.WaitGroup

	mu sync.Mutex
	// links are the connections, and what ends each.
	links map[net.Conn]context.CancelFunc
	cut   bool
	delay time.Duration
	// frozen is closed at the end of a freeze; nil outside of one.
	frozen chan struct{}
}

// NewProxy listens on host, at a free port, and forwards to target.
func NewProxy(host, target string) (*Proxy, error) {
	var config net.ListenConfig
	listen, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listen: listen, links: map[net.Conn]context.CancelFunc{}}
	p.work.Go(p.accept)
	return p, nil
}

// Addr is the host and port that the proxy listens on.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Drop ends all connections, perhaps in the middle of a message. New ones are
// forwarded.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.links {
		end()
	}
}

// Cut ends all connections and refuses new ones until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Drop()
}

// Freeze forwards nothing in either direction and closes nothing, like a network
// that loses every packet. It lasts until Heal.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Delay holds back each piece that is forwarded, until Heal.
func (p *Proxy) Delay(each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = each
}

// Heal ends Cut, Freeze and Delay. What was held back is forwarded.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.listen.Close()
	p.Cut()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(client) })
	}
}

// serve forwards a connection until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close() //nolint:errcheck // nothing more is written
	dialer := net.Dialer{Timeout: 5 * time.Second}
	server, err := dialer.DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // nothing more is written
	ctx, end := context.WithCancel(context.Background())
	defer end()
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		return
	}
	p.links[client] = end
	p.mu.Unlock()
	context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})

	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		both.Go(func() {
			defer end()
			p.forward(ctx, way[0], way[1])
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.links, client)
	p.mu.Unlock()
}

// forward moves bytes until either connection or the context ends.
func (p *Proxy) forward(ctx context.Context, to io.Writer, from io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(ctx) {
			return
		}
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pass waits until bytes may go on, and reports whether the connection still
// stands.
func (p *Proxy) pass(ctx context.Context) bool {
	p.mu.Lock()
	frozen, delay := p.frozen, p.delay
	p.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
