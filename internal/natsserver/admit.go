package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"intenthint/internal/access"
	"intenthint/internal/netaddr"
)

// admission is how a server tells others of its users.
type admission struct {
	options   Options
	passwords map[string]string // of the users that were made, nil without any
}

// admit makes the users of a server that gets some.
func (o Options) admit(opts *server.Options, log *slog.Logger) (admission, error) {
	a := admission{options: o}
	if !o.makesUsers(opts) {
		return a, nil
	}
	var err error
	if a.passwords, err = o.addUsers(opts, log); err != nil {
		return a, fmt.Errorf("users of the NATS server: %w", err)
	}
	return a, nil
}

// write writes the users' contexts, for a server at a URL.
func (a admission) write(url string) error {
	if a.passwords == nil {
		return nil
	}
	if err := access.WriteContexts(a.options.DataDir, url, a.passwords); err != nil {
		return fmt.Errorf("users of the NATS server not stored (HINT_DATA_DIR): %w", err)
	}
	return nil
}

// share puts the gateway's context of a server at the default port where gateways on
// this machine find it. Where the server asks for no user, it takes the password out of
// the context that is there.
func (a admission) share(opts *server.Options, url string, log *slog.Logger) {
	if a.options.Contexts == "" || opts.Port != server.DEFAULT_PORT || a.passwords == nil && hasUsers(opts) {
		return
	}
	dir, err := filepath.Abs(a.options.DataDir)
	if err != nil {
		dir = a.options.DataDir
	}
	err = access.ShareContext(a.options.Contexts, dir, url, a.passwords[access.Gateway])
	if err != nil {
		log.Warn("NATS context of gateways not written, name the file in the plugin's natsContext",
			"file", access.ContextFile(dir, access.Gateway), "error", err)
	}
}

// markServing tells other processes that the server of a data directory listens at the
// address that it announced.
func markServing(dataDir string, log *slog.Logger) *flock.Flock {
	lock := flock.New(filepath.Join(dataDir, servingFile), flock.SetPermissions(0o600))
	// Others look for an instant, see Serves.
	if err := lock.Lock(); err != nil {
		log.Warn("NATS server not marked as that of the data directory, no process can join it", "directory", dataDir, "error", err)
	}
	return lock
}

// Serves reports whether the server at an address ("host:port") is that of a data
// directory: its process holds a lock in there as long as it listens. A process of
// another user cannot pretend that, so no password goes to a program that took the port.
func Serves(dataDir, address string) bool {
	path := filepath.Join(dataDir, servingFile)
	if _, err := os.Stat(path); err != nil {
		return false
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock() // shared, so that two that look do not find it held by each other
	_ = lock.Close()
	return err == nil && !free && portOf(lastURL(dataDir)) == portOf(address)
}

func (o Options) stranger(address string) error {
	dir, err := realPath(o.DataDir)
	if err != nil {
		dir = o.DataDir
	}
	if _, err := os.ReadDir(o.DataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		dir += ", which this user may not read"
	}
	return fmt.Errorf("%w: the program at %s is not the NATS server of data directory %s; set HINT_DATA_DIR to that of the consumer there, HINT_NATS_CONTEXT or HINT_NATS_URL to join another server, or another HINT_NATS_PORT",
		ErrStranger, address, dir)
}

// JoinOption returns the option to connect to a server as the user that was made for
// consumers or for operators, if the server is that of the data directory: it names the
// user to no other. The context is read at each connection, as the server may have been
// started anew.
func (o Options) JoinOption(url, user string) nats.Option {
	return nats.UserInfoHandler(func() (string, string) {
		host, _, err := hostPort(url)
		if err != nil || !netaddr.IsLoopback(host) && host != hostOf(lastURL(o.DataDir)) || !Serves(o.DataDir, url) {
			return "", ""
		}
		c, err := access.ReadContext(o.DataDir, user)
		if err != nil {
			return "", ""
		}
		return c.User, c.Password
	})
}

func hostOf(url string) string {
	host, _, _ := hostPort(url)
	return host
}
