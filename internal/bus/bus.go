package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/natsserver"
	"intenthint/internal/retry"
	"intenthint/redact"
)

// Errors of a connection.
var (
	errNoJetStream = errors.New("JetStream not enabled on the NATS server")
	errUnreachable = errors.New("NATS server unreachable")
	// ErrNotNATS reports that the listener at the server's address does not answer
	// like a NATS server: it is another program, or a server that hangs.
	ErrNotNATS = errors.New("the program listening there does not answer as a NATS server")
)

// Options configure a connection.
type Options struct {
	// URL is one or more servers, separated by commas; "" starts an embedded
	// server, or joins the one that listens at its address.
	URL string
	// Context is the file of a context of the nats command line, "" for none. URL and
	// Identity win over it.
	Context string
	// Local means that URL is that of the server of Embedded.DataDir.
	Local bool
	// Identity is not needed for the embedded server, unless its users are
	// defined by JSON web tokens only.
	Identity Identity
	// Name is the client name that the server shows.
	Name string
	// Embedded is used when URL is empty.
	Embedded natsserver.Options
	// As is the user, of those that an embedded server makes, that this process is in
	// another process's server (access.Consumer); "" for an operator.
	As string
	// Wait makes Open wait for an external server for as long as the context
	// lives; without it the first failure is final.
	Wait bool
	Log  *slog.Logger
}

// Bus is a connection, and the embedded server if there is one.
type Bus struct {
	NC *nats.Conn
	JS jetstream.JetStream

	// srv is nil when the server runs in another process. A member starts it
	// again when that process has died.
	srv     atomic.Pointer[natsserver.Server]
	member  *natsserver.Member
	system  *system       // shared with the connections that Another made
	closing chan struct{} // closed by endWork: no server is started after that
	endWork func()
	work    sync.WaitGroup
	closed  chan struct{} // closed by the client
	denied  atomic.Pointer[deliveryDenial]
	drops   drops
	options Options
	target  string
}

// Open connects. If no server is configured it starts an embedded one first.
func Open(ctx context.Context, o Options) (*Bus, error) {
	b := newBus(o, "")
	for {
		b.target = o.URL
		if o.URL == "" {
			srv, join, err := natsserver.Open(ctx, o.Embedded, o.Log)
			if err != nil {
				return nil, err
			}
			b.srv.Store(srv)
			b.target = join
		}
		joined := o.URL == "" && b.srv.Load() == nil
		err := b.connect(ctx, o.Wait && o.URL != "")
		if err == nil {
			break
		}
		b.stopServer()
		if !joined || !wentAway(b.target, err) {
			return nil, err
		}
	}
	if err := b.checkAuth(); err != nil {
		b.Close()
		return nil, err
	}
	switch srv := b.srv.Load(); {
	case srv != nil:
		o.Log.Info("embedded NATS server started", "url", srv.URL(), "store", srv.StoreDir())
	case o.URL == "":
		o.Log.Info("joined running NATS server", "url", b.target)
		b.join()
	default:
		o.Log.Info("connected to NATS", "url", b.NC.ConnectedUrlRedacted())
	}
	return b, nil
}

// wentAway reports whether the server to join has stopped in the meantime.
func wentAway(target string, err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, natsserver.ErrStranger) || !natsserver.Listens(strings.TrimPrefix(target, "nats://"))
}

// Another opens a second connection to the same server. Its Close does not stop
// the server. It waits for a server as Open does, including a joined server that
// has stopped since.
func (b *Bus) Another(ctx context.Context, name string) (*Bus, error) {
	o := b.options
	o.Name = name
	out := newBus(o, b.target)
	out.system = b.system
	return out, out.connectTo(ctx, b.srv.Load(), o.Wait && !b.Embedded())
}

func newBus(o Options, target string) *Bus {
	b := &Bus{closed: make(chan struct{}), closing: make(chan struct{}), system: &system{}, options: o, target: target}
	b.endWork = sync.OnceFunc(func() { close(b.closing) })
	return b
}

// Embedded reports whether the server runs in this process.
func (b *Bus) Embedded() bool { return b.srv.Load() != nil }

// URL returns the address at which other processes reach the server.
func (b *Bus) URL() string {
	if srv := b.srv.Load(); srv != nil {
		return srv.URL()
	}
	return b.NC.ConnectedUrlRedacted()
}

// CheckJetStream returns an error if the account cannot use JetStream.
func (b *Bus) CheckJetStream(ctx context.Context) error {
	_, err := Call(ctx, b.NC, b.JS.AccountInfo)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: %s: start it with JetStream (nats-server -js), or choose another server with HINT_NATS_URL or HINT_NATS_PORT", errNoJetStream, b.URL())
	default:
		// The user may lack the permission for this call and still be able to
		// use its streams. Provisioning will show.
		return nil
	}
}

// Close drains the connection, waits until it is closed, and stops the embedded
// server. Subscriptions and publications in flight are completed.
func (b *Bus) Close() {
	b.endWork()
	b.work.Wait()
	if b.NC != nil && !b.NC.IsClosed() {
		if err := b.NC.Drain(); err != nil {
			b.NC.Close()
		}
		select {
		case <-b.closed:
		case <-time.After(10 * time.Second):
			b.NC.Close()
		}
	}
	b.stopServer()
}

func (b *Bus) stopServer() {
	if srv := b.srv.Swap(nil); srv != nil {
		srv.Stop()
	}
	b.member.Leave()
}

// connectOptions returns the options of a connection to srv, the embedded
// server, or over the network if srv is nil.
func (b *Bus) connectOptions(srv *natsserver.Server) ([]nats.Option, error) {
	o := b.options
	inbox := b.inbox()
	out := []nats.Option{
		nats.Name(cmp.Or(o.Name, "intenthint")),
		nats.MaxReconnects(-1),
		nats.PingInterval(pingInterval),
		// Broadcasts are for the other processes.
		nats.NoEcho(),
		nats.CustomReconnectDelay(b.reconnectDelay),
		nats.IgnoreAuthErrorAbort(),
		nats.Timeout(o.connectTime()),
		nats.DrainTimeout(10 * time.Second),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if err == nil {
				return
			}
			o.Log.Warn("NATS connection lost", "error", err)
			if b.drops.note(time.Now()) {
				o.Log.Warn("NATS connection lost again and again", "cause", "the server's max_pending may be too small", "setting", "max_pending", "needed", size(int64(PullBytes(nc))))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			o.Log.Info("reconnected to NATS", "url", nc.ConnectedUrlRedacted())
			b.verify(nc)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			level := slog.LevelWarn
			if errors.Is(err, nats.ErrSlowConsumer) && strings.HasPrefix(subject, inbox+".") {
				// A full pull buffer dropped a status message. A dropped event would be
				// redelivered.
				level = slog.LevelDebug
			}
			b.noteDenial(err)
			o.Log.Log(context.Background(), level, "NATS error", "error", err, "subject", subject)
		}),
	}
	if o.Identity.InboxPrefix != "" {
		out = append(out, nats.CustomInboxPrefix(o.Identity.InboxPrefix))
	}
	if srv != nil {
		own, identified, err := srv.ConnectOptions()
		out = append(out, own...)
		if err != nil || identified {
			return out, err
		}
		user, err := o.Identity.user()
		return append(out, user...), err
	}
	who, err := b.identify()
	return append(append(out, b.dialing), who...), err
}

// Pauses between attempts to connect. Those of a fleet differ, so that it does not
// reconnect at once; a server on this machine is back soon, started by another
// process.
var (
	remoteRetry = retry.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}
	localRetry  = retry.Backoff{First: 50 * time.Millisecond, Max: 250 * time.Millisecond}
)

// reconnectDelay is the pause before an attempt to reconnect; the loop is that of
// the client library.
func (b *Bus) reconnectDelay(attempt int) time.Duration {
	if b.options.URL == "" {
		return localRetry.Pause(attempt)
	}
	return remoteRetry.Pause(attempt)
}

// connect opens the connection to the embedded server or the target.
func (b *Bus) connect(ctx context.Context, wait bool) error {
	return b.connectTo(ctx, b.srv.Load(), wait)
}

// connectTo opens the connection. With wait it retries with backoff until the
// context ends or a server rejects the connection.
func (b *Bus) connectTo(ctx context.Context, srv *natsserver.Server, wait bool) error {
	target := b.target
	opts, err := b.connectOptions(srv)
	if err != nil {
		return err
	}
	policy := retry.Policy{
		Backoff:   remoteRetry,
		Temporary: func(err error) bool { return refusal(err) == "" },
		Failed: func(attempt int, pause time.Duration, err error) {
			b.options.Log.Warn("waiting for the NATS server",
				"url", redact.URLs(target), "attempt", attempt, "pause_ms", pause.Milliseconds(), "error", err)
		},
	}
	if !wait {
		policy.Attempts = 1
	}
	err = policy.Do(ctx, func(context.Context) (err error) {
		b.NC, err = b.options.dial(target, opts...)
		return err
	})
	if err == nil {
		b.JS, err = jetstream.New(b.NC)
		return err
	}
	switch advice := refusal(err); {
	case advice != "":
		return fmt.Errorf("%w: %s: %w: %s", ErrRefused, cmp.Or(redact.URLs(target), "embedded server"), err, cmp.Or(b.noUser(), advice))
	case !wait && notNATS(err):
		return fmt.Errorf("%s: %w: %w (it may be a NATS server that hangs, or one that waits for TLS: HINT_NATS_TLS_FIRST=true; to use another address, set HINT_NATS_URL or HINT_NATS_PORT)", redact.URLs(target), ErrNotNATS, err)
	default:
		return fmt.Errorf("%w at %s: %w", errUnreachable, redact.URLs(target), err)
	}
}

// connectTime bounds one attempt to connect to one server. Commands end within
// five seconds if no server answers (contract §9), also when several are
// configured; a server on this machine answers at once.
func (o Options) connectTime() time.Duration {
	switch {
	case o.URL == "":
		return 2 * time.Second
	case o.Wait:
		return 5 * time.Second
	}
	return max(4*time.Second/time.Duration(1+strings.Count(o.URL, ",")), 500*time.Millisecond)
}

// pingInterval is how often an idle connection is tested. After two pings without an
// answer it is given up, for another server if there is one: one that hangs does not
// close it.
const pingInterval = 10 * time.Second

// notNATS reports whether the program at the address accepted the connection and
// did not greet as a NATS server does.
func notNATS(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, nats.ErrNoInfoReceived) || ok && op.Op == "read" && op.Timeout()
}

// inbox is the prefix of reply subjects.
func (b *Bus) inbox() string { return cmp.Or(b.options.Identity.InboxPrefix, "_INBOX") }
