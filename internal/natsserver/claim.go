package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// A claim is a shared lock on the server's address. All processes that use the
// server and its data directory hold it, so that while one of them runs, no
// process of another data directory starts a server at the address, not even
// between the death of the server and its restart.
//
// The lock file contains the data directory. It is in a directory of this user
// alone; without such a directory there is no claim.
type claim struct {
	lock *flock.Flock // nil without a claim
}

// claimAddress claims the address of a server with these options for the data
// directory. It fails with [ErrAddressTaken] if processes of another data
// directory hold it.
func claimAddress(opts *server.Options, dataDir string, log *slog.Logger) (*claim, error) {
	if opts.Port == server.RANDOM_PORT {
		return &claim{}, nil
	}
	path, err := claimFile(dialable(opts))
	if err != nil {
		log.Debug("server address not locked", "error", err)
		return &claim{}, nil
	}
	if dataDir, err = realPath(dataDir); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow))
	alone, err := lock.TryLock()
	if err == nil && alone {
		err = writeClaim(path, dataDir)
	}
	var shared bool
	if err == nil {
		shared, err = lock.TryRLock()
	}
	if err != nil {
		_ = lock.Close()
		log.Debug("server's address not locked", "file", path, "error", err)
		return &claim{}, nil
	}
	holder, err := os.ReadFile(path)
	if other := strings.TrimSpace(string(holder)); err != nil || !shared || other != dataDir {
		_ = lock.Close()
		return nil, fmt.Errorf("%w: %s is held for %s, not %s, and no server runs there; set HINT_DATA_DIR to the first, or another HINT_NATS_PORT",
			ErrAddressTaken, dialable(opts), other, dataDir)
	}
	return &claim{lock}, nil
}

// writeClaim replaces the content of the lock file, and writes through no link.
func writeClaim(path, dataDir string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|noFollow, 0o600) //nolint:gosec // of claimFile
	if err != nil {
		return err
	}
	_, err = f.WriteString(dataDir + "\n")
	return errors.Join(err, f.Close())
}

// realPath returns the one path of a directory that may be reached by others, through
// symbolic links. One that does not exist yet has an absolute path only.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return path, err
}

// release releases the address.
func (c *claim) release() {
	if c != nil && c.lock != nil {
		_ = c.lock.Close()
	}
}

// errNoLockDir reports that there is no directory of this user alone for locks.
var errNoLockDir = errors.New("not a directory of this user alone")

// claimFile returns the lock file of an address, HOST_PORT.lock in [lockDir].
func claimFile(address string) (string, error) {
	dir := lockDir(os.Getenv("XDG_RUNTIME_DIR"), os.Getuid())
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // the user's own variable
		return "", err
	}
	// In a directory that others can write to, or that another user made, the lock
	// may be a link to any file.
	info, err := os.Lstat(dir) //nolint:gosec // the user's own variable
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedBy(info, os.Getuid()) {
		return "", errors.Join(err, fmt.Errorf("%w: %s", errNoLockDir, dir))
	}
	return filepath.Join(dir, strings.NewReplacer(":", "_", "/", "_").Replace(address)+".lock"), nil
}

// lockDir returns the directory of the lock files: XDG_RUNTIME_DIR/intenthint; without
// that variable /run/intenthint for root, whose files must not depend on a place where
// everybody can write, and one below the directory of temporary files for other users.
func lockDir(runtime string, uid int) string {
	switch {
	case runtime != "":
		return filepath.Join(runtime, "intenthint")
	case uid == 0:
		return "/run/intenthint"
	}
	return filepath.Join(os.TempDir(), "intenthint-"+strconv.Itoa(uid))
}

// Member is a process that has joined a server on its own data directory. It
// can restart that server after the server's process has died.
type Member struct {
	opts    Options
	address string
	claim   *claim
	log     *slog.Logger
}

// Join returns a member if the server at url uses the data directory of the
// options, else nil.
func Join(o Options, url string, log *slog.Logger) *Member {
	address := strings.TrimPrefix(url, "nats://")
	if !held(o.DataDir) || portOf(lastURL(o.DataDir)) != portOf(url) {
		return nil
	}
	m := &Member{opts: o, address: address, log: log}
	opts, err := m.parse()
	if err != nil {
		return nil
	}
	if m.claim, err = claimAddress(opts, o.DataDir, log); err != nil {
		return nil
	}
	return m
}

// parse returns the server's options with the address at which it was joined.
func (m *Member) parse() (*server.Options, error) {
	port, err := strconv.Atoi(portOf(m.address))
	if err != nil {
		return nil, err
	}
	o := m.opts
	o.Port = port
	return o.parse()
}

// Foreign reports whether something listens at the address that does not use
// the data directory: nobody holds the lock.
func (m *Member) Foreign() bool { return !held(m.opts.DataDir) && Listens(m.address) }

// Restart restarts the server, at the same address and on the same store. It
// returns nil without an error if something listens there or another process is
// starting it.
func (m *Member) Restart() (*Server, error) {
	if Listens(m.address) {
		return nil, nil
	}
	opts, err := m.parse()
	if err != nil {
		return nil, err
	}
	srv, err := m.opts.tryStart(opts, m.log)
	if errors.Is(err, errHeld) {
		return nil, nil
	}
	return srv, err
}

// Leave gives up the right to restart the server.
func (m *Member) Leave() {
	if m != nil {
		m.claim.release()
	}
}

// portOf returns the port of an address or URL of a server, "" if it has none.
func portOf(url string) string {
	_, port, _ := hostPort(url)
	return port
}

// hostPort splits an address or a URL without a user.
func hostPort(url string) (host, port string, err error) {
	if _, address, ok := strings.Cut(url, "://"); ok {
		url = address
	}
	return net.SplitHostPort(url)
}
