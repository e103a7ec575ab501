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

	mu    sync.Mutex
	links map[*link]struct{}
	cut   bool
	delay time.Duration
	// moves is closed while bytes are forwarded.
	moves  chan struct{}
	frozen bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	once           sync.Once
	done           chan struct{}
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// NewProxy listens on host, at a free port, and forwards to target.
func NewProxy(host, target string) (*Proxy, error) {
	var config net.ListenConfig
	listen, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listen: listen, links: map[*link]struct{}{}, moves: make(chan struct{})}
	close(p.moves)
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host and port.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Drop ends all connections, in the middle of a message maybe. New ones are
// forwarded.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Cut ends all connections and refuses new ones until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Drop()
}

// Freeze forwards nothing any more, in either direction, and closes nothing,
// as a network does that loses all packets. It lasts until Heal.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.frozen {
		p.frozen, p.moves = true, make(chan struct{})
	}
}

// Delay holds each piece of what is forwarded for so long, until Heal.
func (p *Proxy) Delay(each time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = each
}

// Heal forwards everything as it comes. What was held back arrives.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
	if p.frozen {
		p.frozen = false
		close(p.moves)
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
		p.work.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	server, err := dialer.DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()

	var both sync.WaitGroup
	both.Go(func() { p.forward(l, server, client) })
	both.Go(func() { p.forward(l, client, server) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// forward moves bytes until either side ends.
func (p *Proxy) forward(l *link, to io.Writer, from io.Reader) {
	defer l.close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(l) {
			return
		}
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pass waits until bytes may go on; false when the connection has ended.
func (p *Proxy) pass(l *link) bool {
	p.mu.Lock()
	moves, delay := p.moves, p.delay
	p.mu.Unlock()
	if delay > 0 {
		held := time.NewTimer(delay)
		defer held.Stop()
		select {
		case <-held.C:
		case <-l.done:
			return false
		}
	}
	select {
	case <-moves:
		return true
	case <-l.done:
		return false
	}
}
