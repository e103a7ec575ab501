package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/natsserver"
)

// Keys of the event stream's metadata that identify a system (contract §9).
const (
	metaSystem = "intenthint-system"
	metaStore  = "intenthint-store"
	metaPlace  = "intenthint-place"
)

// System identifies the processes that share an event stream. It is stored in
// the stream's metadata.
type System struct {
	// ID is random, or made from the stream (see WriteSystem).
	ID string
	// Store is the kind of the session store, file or kv.
	Store string
	// Place is where the session files are, as HOST:DIRECTORY.
	Place string
}

func (s System) metadata() map[string]string {
	if s.ID == "" {
		return nil
	}
	return map[string]string{metaSystem: s.ID, metaStore: s.Store, metaPlace: s.Place}
}

func systemOf(metadata map[string]string) System {
	return System{ID: metadata[metaSystem], Store: metadata[metaStore], Place: metadata[metaPlace]}
}

// ErrOtherSystem reports a server that holds another system's stream.
var ErrOtherSystem = errors.New("NATS server of another system")

// ReadSystem returns the identity in the stream's metadata, the zero System for a
// stream without one. alive reports whether a process pulls from the durable.
func ReadSystem(ctx context.Context, js jetstream.JetStream, l Layout) (s System, alive bool, err error) {
	if s, err = readSystem(ctx, js, l.Stream); err != nil {
		return System{}, false, err
	}
	durable, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) {
		return js.Consumer(ctx, l.Stream, l.QueueGroup)
	})
	return s, err == nil && durable.CachedInfo().NumWaiting > 0, nil
}

func readSystem(ctx context.Context, js jetstream.JetStream, name string) (System, error) {
	stream, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, name) })
	if err != nil {
		return System{}, fmt.Errorf("reading identity of stream %s: %w", name, err)
	}
	return systemOf(stream.CachedInfo().Config.Metadata), nil
}

// WriteSystem puts the identity into the metadata of a stream, and returns what it
// has written. Other metadata is unchanged. Without an id the system gets one
// from the name and creation time of the stream, so that processes that name it
// at the same moment give it the same one.
func WriteSystem(ctx context.Context, js jetstream.JetStream, l Layout, s System) (System, error) {
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) {
		stream, err := js.Stream(ctx, l.Stream)
		if err != nil {
			return nil, err
		}
		info := stream.CachedInfo()
		if s.ID == "" {
			sum := sha256.Sum256([]byte(l.Stream + " " + info.Created.UTC().Format(time.RFC3339Nano)))
			s.ID = hex.EncodeToString(sum[:11])
		}
		config := info.Config
		config.Metadata = maps.Clone(config.Metadata)
		if config.Metadata == nil {
			config.Metadata = map[string]string{}
		}
		maps.Copy(config.Metadata, s.metadata())
		return js.UpdateStream(ctx, config)
	})
	if err != nil {
		return System{}, fmt.Errorf("identity of stream %s not written: %w", l.Stream, err)
	}
	return s, nil
}

// system is what the connections of a process know of their system.
type system struct {
	mu     sync.Mutex
	member *natsserver.Member
	stream string
	id     string
	// fault is set while another system's server is at the address, unknown
	// after a reconnect to a server that could not be asked.
	fault   error
	unknown bool
}

// Belong tells the connection, and those that [Bus.Another] made, their system.
// From now on they do not reconnect to a server whose stream has another
// identity, see [Bus.Check].
func (b *Bus) Belong(stream, id string) {
	b.system.mu.Lock()
	defer b.system.mu.Unlock()
	b.system.stream, b.system.id = stream, id
}

// Check returns an error while another system's server is at the address of this
// one, or while the server of this process cannot store anything. It is a
// health check.
func (b *Bus) Check(ctx context.Context) error {
	if srv := b.srv.Load(); srv != nil {
		return srv.Check(ctx)
	}
	b.system.mu.Lock()
	defer b.system.mu.Unlock()
	return b.system.fault
}

// found records the result of checking a server, and logs a change.
func (s *system) found(fault error, unknown bool, log *slog.Logger) {
	s.mu.Lock()
	before := s.fault
	s.fault, s.unknown = fault, unknown
	s.mu.Unlock()
	switch {
	case fault != nil && before == nil:
		log.Error("server belongs to another system", "error", fault)
	case fault == nil && before != nil:
		log.Info("server belongs to this system again")
	}
}

// dialer dials the servers of a connection, and refuses those of another system
// before the connection subscribes, pulls or publishes there.
type dialer struct {
	bus  *Bus
	next nats.CustomDialer // nil for a direct connection
}

// dialing is the option of a connection whose servers are checked, see [dialer].
func (b *Bus) dialing(o *nats.Options) error {
	o.CustomDialer = dialer{b, o.CustomDialer}
	return nil
}

// checkTime bounds each step of the check of a server, which delays a reconnect: while
// a leader of the stream is elected, the server cannot say whose it is, but passes
// requests on.
const checkTime = time.Second

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(network, address string) (net.Conn, error) {
	if err := d.bus.ours(address); err != nil {
		return nil, err
	}
	s := d.bus.system
	s.mu.Lock()
	known := s.id != ""
	s.mu.Unlock()
	if known {
		unknown, err := d.check(address)
		s.found(err, unknown, d.bus.options.Log)
		if err != nil {
			return nil, err
		}
	}
	conn, err := dial(d.next, network, address, d.bus.options.connectTime())
	if err != nil {
		return nil, err
	}
	// It may have gone in between, and another one taken the port.
	if err := d.bus.ours(address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func dial(proxy nats.CustomDialer, network, address string, timeout time.Duration) (net.Conn, error) {
	if proxy != nil {
		return proxy.Dial(network, address)
	}
	return (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), network, address)
}

// check returns an error that wraps [ErrOtherSystem] if the server at the
// address is certainly another system's. unknown: it could not be asked; it is
// down, or has no JetStream at present.
func (d dialer) check(address string) (unknown bool, err error) {
	s, b := d.bus.system, d.bus
	s.mu.Lock()
	member := s.member
	s.mu.Unlock()
	if member != nil && member.Foreign() {
		return false, fmt.Errorf("%w: %s does not serve the data directory of this system", ErrOtherSystem, address)
	}
	who, err := b.identify()
	if err != nil {
		return true, nil //nolint:nilerr // the connection reports it
	}
	only := func(o *nats.Options) error {
		o.CustomDialer = fixed{address, o.CustomDialer}
		return nil
	}
	nc, err := b.options.dial(b.target, append(who,
		nats.Name("intenthint identity check"), only, nats.NoReconnect(), nats.Timeout(checkTime),
		nats.CustomInboxPrefix(b.inbox()), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		return true, nil //nolint:nilerr // the connection reports it
	}
	defer nc.Close()
	return s.ask(nc)
}

// ask compares the identity of the server behind a connection.
func (s *system) ask(nc *nats.Conn) (unknown bool, err error) {
	s.mu.Lock()
	stream, id := s.stream, s.id
	s.mu.Unlock()
	js, err := jetstream.New(nc)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	found, err := readSystem(ctx, js, stream)
	switch {
	case errors.Is(err, ErrDenied):
		return false, nil // assumed to be the right one (contract §2)
	case err != nil:
		// This includes a missing stream: it was deleted and will be recreated with
		// this identity, or another system is about to create its own.
		return true, nil //nolint:nilerr // unknown
	case found.ID != "" && found.ID != id:
		return false, fmt.Errorf("%w: stream %s at %s belongs to system %s, not %s", ErrOtherSystem, stream, nc.ConnectedUrlRedacted(), found.ID, id)
	}
	return false, nil
}

// verifyPause is the interval between attempts to identify the server after a
// reconnect. It does not grow: events may go to another system until it is known.
const verifyPause = time.Second

// verify asks the server again until it answers, after a reconnect to a server
// that could not be asked.
func (b *Bus) verify(nc *nats.Conn) {
	b.system.mu.Lock()
	unknown := b.system.unknown
	b.system.mu.Unlock()
	if !unknown {
		return
	}
	go func() {
		for nc.IsConnected() {
			unknown, err := b.system.ask(nc)
			b.system.found(err, unknown, b.options.Log)
			if err != nil {
				if err := nc.ForceReconnect(); err != nil {
					b.options.Log.Error("connection to another system not closed", "error", err)
				}
			}
			if !unknown {
				return
			}
			select {
			case <-b.closing:
				return
			case <-time.After(verifyPause):
			}
		}
	}()
}

// fixed dials one address, whatever address it is given.
type fixed struct {
	address string
	next    nats.CustomDialer
}

// Dial implements [nats.CustomDialer].
func (f fixed) Dial(network, _ string) (net.Conn, error) {
	return dial(f.next, network, f.address, checkTime)
}
