package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"intenthint"
	"intenthint/internal/atomicfile"
	"intenthint/internal/loglimit"
)

// Errors of an embedded server.
var (
	// ErrDataDirInUse reports that another process uses the data directory and
	// listens at another address than the configured one.
	ErrDataDirInUse = errors.New("data directory in use by another process")
	// ErrConf reports that the configuration file of the embedded server is
	// invalid.
	ErrConf = errors.New("must be a NATS configuration file")
	// ErrAddressTaken reports that the address belongs to the system of another
	// data directory, whose server is currently down.
	ErrAddressTaken = errors.New("address belongs to the system of another data directory")
	// ErrStranger reports a program at the address that is not the server of the data
	// directory.
	ErrStranger = errors.New("address taken")
	// ErrServerStart reports that the embedded server did not start.
	ErrServerStart = errors.New("embedded NATS server not started")
)

// Options configure an embedded NATS server.
type Options struct {
	// ConfFile is a configuration file; "" for the built-in one.
	ConfFile string
	// Port overrides the file's port: 0 keeps it, -1 picks a free one.
	Port int
	// DataDir holds the JetStream store in its folder jetstream.
	DataDir string
	// AllowOpen permits non-loopback listeners without authentication, with a
	// warning.
	AllowOpen bool
	// Auth gives a server whose configuration has no users some, with passwords in
	// the data directory, and refuses to join any server but that of the data
	// directory (contract §9, "Who may come in").
	Auth bool
	// Prefix is the subject prefix of what such users may reach; "" for openclaw.
	// InboxPrefix is that of replies, beside _INBOX.
	Prefix, InboxPrefix string
	// Contexts is the directory of the contexts of the nats command line, where a
	// server at the default port puts the gateway's; "" for none.
	Contexts string
}

// unlimitedStore is more than any disk holds, in bytes.
const unlimitedStore = 1 << 50

const (
	// urlFile is the name of the file in the data directory that holds the URL
	// of the embedded server for other processes on this machine.
	urlFile = "nats.url"
	// lockFile is held by the process that runs the server.
	lockFile = "jetstream.lock"
	// servingFile is held by that process while the server listens at the address in
	// urlFile. So who finds it held knows whose server is there.
	servingFile = "nats.lock"
)

// parse reads the server's options from the file or the built-in copy.
func (o Options) parse() (*server.Options, error) {
	var (
		opts *server.Options
		err  error
	)
	if o.ConfFile == "" {
		opts = &server.Options{}
		err = opts.ProcessConfigString(intenthint.NATSConf)
	} else {
		opts, err = server.ProcessConfigFile(o.ConfFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConf, err)
	}
	opts.Port = cmp.Or(o.Port, opts.Port, server.DEFAULT_PORT)
	opts.Host = cmp.Or(opts.Host, "127.0.0.1")
	opts.JetStream = true
	// Without a limit the server uses three quarters of the space that is free
	// when it starts, and refuses streams that reserve more. The streams have
	// their own bounds, and a full disk is detected (see storage).
	if opts.JetStreamMaxStore == 0 {
		opts.JetStreamMaxStore = unlimitedStore
	}
	// The server creates the folder jetstream in it.
	opts.StoreDir = o.DataDir
	// The process handles its own signals; the server's handler would exit.
	opts.NoSigs = true
	return opts, nil
}

// Server is a NATS server in this process.
type Server struct {
	ns      *server.Server
	opts    *server.Options
	lock    *flock.Flock
	serving *flock.Flock
	claim   *claim
	storage *storage
	// own is the key of the user reserved for this process, nil if the server
	// has no users or nkeys.
	own nkeys.KeyPair
}

// start starts a server with the options and waits until it accepts
// connections. The lock on the data directory must be held; the returned server
// takes over the lock and the claim.
func (o Options) start(opts *server.Options, lock *flock.Flock, c *claim, log *slog.Logger) (*Server, error) {
	a, err := o.admit(opts, log)
	if err != nil {
		return nil, err
	}
	own, err := addOwnUser(opts)
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	// Joining processes look for the URL as soon as the server listens.
	if opts.Port == server.RANDOM_PORT {
		_ = os.Remove(filepath.Join(opts.StoreDir, urlFile)) // of an earlier server
	} else {
		announce(opts.StoreDir, "nats://"+dialable(opts), log)
		if err := a.write("nats://" + dialable(opts)); err != nil {
			return nil, err
		}
	}
	started := make(chan string, 2) // "", or the reason of a failure
	ns.SetLoggerV2(&serverLogger{log: log, fatal: started}, false, false, false)
	go ns.Start()
	go func() {
		if ns.ReadyForConnections(30 * time.Second) {
			started <- ""
		} else {
			started <- "not ready in time"
		}
	}()
	reason, url := <-started, localURL(ns)
	if reason == "" {
		err = a.write(url)
	} else {
		err = errors.New(reason)
	}
	if err != nil {
		ns.Shutdown()
		return nil, err
	}
	a.share(opts, url, log)
	announce(opts.StoreDir, url, log)
	return &Server{ns: ns, opts: opts, lock: lock, serving: markServing(opts.StoreDir, log), claim: c, storage: watchStorage(ns, opts, log), own: own}, nil
}

// localURL returns the URL at which processes on this machine reach a server.
func localURL(ns *server.Server) string {
	url := ns.ClientURL()
	if host, port, err := hostPort(url); err == nil && net.ParseIP(host).IsUnspecified() {
		scheme, _, _ := strings.Cut(url, "://")
		return scheme + "://" + net.JoinHostPort("127.0.0.1", port)
	}
	return url
}

// announce writes the server's URL for other processes on this machine. The file
// is kept when the server stops: processes that joined restart the server at
// the same address.
func announce(dataDir, url string, log *slog.Logger) {
	if err := atomicfile.Write(filepath.Join(dataDir, urlFile), urlFile+".tmp-*", []byte(url+"\n"), 0o600); err != nil {
		log.Warn("URL file of the NATS server not written", "directory", dataDir, "error", err)
	}
}

// URL returns the URL at which clients reach the server.
func (e *Server) URL() string { return e.ns.ClientURL() }

// StoreDir returns the directory of the JetStream store.
func (e *Server) StoreDir() string { return filepath.Join(e.opts.StoreDir, "jetstream") }

// Stop shuts the server down and waits for it. Call it last: afterwards no
// message can be published or acknowledged.
func (e *Server) Stop() {
	e.storage.stop()
	_ = e.serving.Close()
	e.ns.Shutdown()
	e.ns.WaitForShutdown()
	_ = e.lock.Unlock()
	e.claim.release()
}

// Check returns why JetStream cannot store anything at present, or nil. It is a
// health check.
func (e *Server) Check(context.Context) error { return e.storage.check() }

// ConnectOptions returns the options to connect to this server in process,
// without a socket, even if the file requires a user or a token. identified
// reports whether they name a user; if not, a server that requires a user also
// needs the options of a configured identity.
func (e *Server) ConnectOptions() (opts []nats.Option, identified bool, err error) {
	opts = []nats.Option{nats.InProcessServer(e.ns)}
	switch {
	case e.own != nil:
		key, err := e.own.PublicKey()
		return append(opts, nats.Nkey(key, e.own.Sign)), true, err
	case e.opts.Username != "":
		return append(opts, nats.UserInfo(e.opts.Username, e.opts.Password)), true, nil
	case e.opts.Authorization != "":
		return append(opts, nats.Token(e.opts.Authorization)), true, nil
	}
	return opts, false, nil
}

// addOwnUser adds a user for this process to a server that has users. Its key
// never leaves the process, it may connect in process only, and it belongs to the
// one account that is neither the system's nor imports services, as those of gateways
// do. It returns nil if the server has no users.
func addOwnUser(opts *server.Options) (nkeys.KeyPair, error) {
	if len(opts.Users) == 0 && len(opts.Nkeys) == 0 {
		return nil, nil
	}
	var account *server.Account
	for _, a := range opts.Accounts {
		switch {
		case a.Name == opts.SystemAccount:
		case a.NumServiceImports() > 0: // gateways, which reach the streams by imports
		case account != nil:
			return nil, fmt.Errorf("ambiguous accounts %s and %s: run such a server separately (nats-server -c) and set HINT_NATS_URL",
				account.Name, a.Name)
		default:
			account = a
		}
	}
	own, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	key, err := own.PublicKey()
	if err != nil {
		return nil, err
	}
	opts.Nkeys = append(opts.Nkeys, &server.NkeyUser{
		Nkey: key, Account: account,
		AllowedConnectionTypes: map[string]struct{}{jwt.ConnectionTypeInProcess: {}},
	})
	if opts.AuthCallout != nil {
		opts.AuthCallout.AuthUsers = append(opts.AuthCallout.AuthUsers, key)
	}
	return own, nil
}

// dialable returns the address at which a process on this machine reaches a
// server with these options.
func dialable(opts *server.Options) string {
	host := opts.Host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(opts.Port))
}

// Open starts an embedded server, or finds the one that already runs on this
// machine: then url is the URL to join and the server is nil.
//
// Only the holder of the lock on the data directory may start a server, so if
// several processes start at once, one starts it and the others join, even
// while the first is still reading a large store. An address claimed by
// processes of another data directory is left to them, even if their server has
// just died.
func Open(ctx context.Context, o Options, log *slog.Logger) (srv *Server, url string, err error) {
	opts, err := o.parse()
	if err != nil {
		return nil, "", err
	}
	if err := errors.Join(o.refuseOpen(opts), o.checkAccounts(opts)); err != nil {
		return nil, "", err
	}
	for _, listener := range openListeners(opts) {
		log.Warn("non-loopback listener without authentication", "listener", listener)
	}
	if err := os.MkdirAll(opts.StoreDir, 0o700); err != nil {
		return nil, "", fmt.Errorf("data directory (HINT_DATA_DIR): %w", err)
	}
	anyPort := opts.Port == server.RANDOM_PORT
	address := dialable(opts)
	began, said := time.Now(), time.Now()
	for {
		if !anyPort && Listens(address) {
			switch {
			case !o.Auth || Serves(o.DataDir, address):
				return nil, "nats://" + address, nil
			case !held(o.DataDir):
				return nil, "", o.stranger(address)
			}
		}
		srv, err := o.tryStart(opts, log)
		if !errors.Is(err, errHeld) {
			if err != nil && !errors.Is(err, ErrAddressTaken) && !anyPort && Listens(address) {
				continue // another server got the port first
			}
			if !errors.Is(err, ErrAddressTaken) || time.Since(began) > claimPatience {
				return srv, "", err
			}
		}
		if running := o.announced(); running != "" {
			if anyPort {
				return nil, running, nil
			}
			if !Listens(address) {
				return nil, "", fmt.Errorf("%w: %s serves at %s (set HINT_DATA_DIR or HINT_NATS_PORT)", ErrDataDirInUse, o.DataDir, running)
			}
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			log.Info("NATS server of another process not ready", "directory", o.DataDir)
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// claimPatience is how long a process waits for the server of another data
// directory to come back: twice the time within which a process of that system
// restarts it (contract §9).
const claimPatience = 10 * time.Second

// errHeld reports that another process holds the lock on the data directory.
var errHeld = errors.New("data directory locked")

// tryStart starts a server unless another process holds the data directory or
// the address.
func (o Options) tryStart(opts *server.Options, log *slog.Logger) (*Server, error) {
	lock := flock.New(filepath.Join(o.DataDir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("data directory (HINT_DATA_DIR): %w", err)
	case !locked:
		return nil, errHeld
	}
	c, err := claimAddress(opts, o.DataDir, log)
	if err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	srv, err := o.start(opts, lock, c, log)
	if err != nil {
		c.release()
		_ = lock.Unlock()
		return nil, fmt.Errorf("%w: %w", ErrServerStart, err)
	}
	return srv, nil
}

// announced returns the URL of the server that runs on the data directory; ""
// if no server runs there or it does not listen yet.
func (o Options) announced() string {
	if !held(o.DataDir) {
		return ""
	}
	url := lastURL(o.DataDir)
	address := strings.TrimPrefix(url, "nats://")
	if url == "" || o.Auth && !Serves(o.DataDir, address) || !Listens(address) {
		return ""
	}
	return url
}

// held reports whether a process runs or is starting a server on the data
// directory.
func held(dataDir string) bool {
	path := filepath.Join(dataDir, lockFile)
	if _, err := os.Stat(path); err != nil {
		return false // so that a read-only command does not create the file
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	_ = lock.Close()
	return err == nil && !free
}

// lastURL returns the URL in the data directory, which may be that of a server
// that has stopped; "" if the file is missing.
func lastURL(dataDir string) string {
	data, err := os.ReadFile(filepath.Join(dataDir, urlFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// LocalURL returns the URL of the server of this data directory, as far as known
// without connecting: the URL written by its process, else the configured one. With
// authentication the error wraps [ErrStranger] if another server listens there.
func LocalURL(o Options) (string, error) {
	if url := o.announced(); url != "" {
		return url, nil
	}
	opts, err := o.parse()
	if err != nil {
		return "", err
	}
	address := dialable(opts)
	switch {
	case opts.Port == server.RANDOM_PORT || !Listens(address):
		return "", nil
	case !o.Auth || Serves(o.DataDir, address):
		return "nats://" + address, nil
	case held(o.DataDir):
		return "", nil // starting, or at another address
	}
	return "", o.stranger(address)
}

// Stored reports whether a server has ever run on the data directory.
func (o Options) Stored() bool {
	_, err := os.Stat(filepath.Join(o.DataDir, "jetstream"))
	return err == nil
}

// Listens reports whether something accepts connections at an address
// ("host:port").
func Listens(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// serverLogger forwards the server's log. Fatalf must not exit: the server calls
// it when it cannot listen or open its store.
type serverLogger struct {
	log   *slog.Logger
	lines loglimit.Limit
	once  sync.Once
	fatal chan<- string
}

func (l *serverLogger) Noticef(format string, v ...any) {
	l.log.Debug("nats-server: " + fmt.Sprintf(format, v...)) //nolint:sloglint // the server's own words
}

func (l *serverLogger) Warnf(format string, v ...any) {
	l.limited(slog.LevelWarn, format, v)
}

func (l *serverLogger) Errorf(format string, v ...any) {
	l.limited(slog.LevelError, format, v)
}

// limited logs what clients can cause, such as wrong passwords. The format of what is
// about a client begins with its address and ends with what it did.
func (l *serverLogger) limited(level slog.Level, format string, v []any) {
	kind := format[max(0, strings.LastIndex(format, " - ")):]
	if leftOut, ok := l.lines.Admit(kind, time.Now()); ok {
		l.log.Log(context.Background(), level, "nats-server: "+fmt.Sprintf(format, v...), loglimit.LeftOut(leftOut)...) //nolint:sloglint // the server's own words
	}
}

func (l *serverLogger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("nats-server: " + text) //nolint:sloglint // the server's own words
	l.once.Do(func() { l.fatal <- text })
}

func (l *serverLogger) Debugf(string, ...any) {}

func (l *serverLogger) Tracef(string, ...any) {}
