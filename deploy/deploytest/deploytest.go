// Package deploytest starts NATS servers from the files in deploy, for tests.
package deploytest

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"intenthint/internal/natstest"
	"intenthint/internal/tlstest"
)

// Users are the users of accounts.conf.
var Users = []string{"gateway", "gateway2", "consumer", "operator", "system"}

// Password returns a user's password.
func Password(user string) string { return "the-" + user + "-secret" }

// Site is an environment of servers, with certificates for all users.
type Site struct {
	// Dir is the directory of the files.
	Dir string
	// Authority signs the certificates.
	Authority *tlstest.Authority

	certs map[string][2]string
}

// NewSite sets the environment variables of server.env.example. dir is the
// directory of the files, relative to the test.
func NewSite(t *testing.T, dir string) *Site {
	t.Helper()
	s := &Site{Dir: dir, Authority: tlstest.New(t), certs: map[string][2]string{}}
	cert, key := s.Authority.Issue("server", "127.0.0.1")
	t.Setenv("NATS_CERT", cert)
	t.Setenv("NATS_KEY", key)
	t.Setenv("NATS_CA", s.Authority.File)
	for user, variable := range map[string]string{
		"gateway": "GATEWAY_PASSWORD", "gateway2": "GATEWAY2_PASSWORD", "consumer": "CONSUMER_PASSWORD", "operator": "OPERATOR_PASSWORD", "system": "SYSTEM_PASSWORD",
	} {
		hash, err := bcrypt.GenerateFromPassword([]byte(Password(user)), bcrypt.MinCost)
		require.NoError(t, err)
		t.Setenv(variable, string(hash))
		cert, key := s.Authority.Issue(user)
		s.certs[user] = [2]string{cert, key}
	}
	return s
}

// Options reads one of the files, and replaces the address for clients by a free
// port on loopback.
func (s *Site) Options(t *testing.T, file string) *server.Options {
	t.Helper()
	t.Setenv("NATS_STORE", t.TempDir())
	opts, err := server.ProcessConfigFile(filepath.Join(s.Dir, file))
	require.NoError(t, err)
	opts.Host, opts.Port = "127.0.0.1", server.RANDOM_PORT
	opts.HTTPPort = 0
	return opts
}

// Edited returns the site with changes in its files.
func (s *Site) Edited(t *testing.T, changes map[string]string) *Site {
	t.Helper()
	there := *s
	there.Dir = Copy(t, s.Dir, changes)
	return &there
}

// Copy copies the server files of dir, with changes, and returns the directory.
// Each change must match something.
func Copy(t *testing.T, dir string, changes map[string]string) string {
	t.Helper()
	to := t.TempDir()
	files, err := filepath.Glob(filepath.Join(dir, "*.conf"))
	require.NoError(t, err)
	made := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		text := string(data)
		for from, by := range changes {
			made[from] = made[from] || strings.Contains(text, from)
			text = strings.ReplaceAll(text, from, by)
		}
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(text), 0o600)) //nolint:gosec // a test's own directory
	}
	require.Len(t, made, len(changes))
	for from, ok := range made {
		require.True(t, ok, "no match for the change of %q", from)
	}
	return to
}

// Start is [natstest.Start].
func Start(t *testing.T, opts *server.Options) *server.Server {
	t.Helper()
	return natstest.Start(t, opts)
}

// Settings returns a user's HINT_ variables, as in consumer.env.example.
func (s *Site) Settings(ns *server.Server, user string) map[string]string {
	u := url.URL{Scheme: "tls", Host: ns.Addr().(*net.TCPAddr).String(), User: url.UserPassword(user, Password(user))}
	return map[string]string{
		"HINT_NATS_URL":          u.String(),
		"HINT_NATS_INBOX_PREFIX": "_INBOX_" + user,
		"HINT_NATS_CA":           s.Authority.File,
		"HINT_NATS_CERT":         s.certs[user][0],
		"HINT_NATS_KEY":          s.certs[user][1],
	}
}

// Connect connects as a user. Further options take precedence.
func (s *Site) Connect(t *testing.T, ns *server.Server, user string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := s.Dial(ns, user, opts...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Dial is [Site.Connect] for connections that may fail.
func (s *Site) Dial(ns *server.Server, user string, opts ...nats.Option) (*nats.Conn, error) {
	set := s.Settings(ns, user)
	return nats.Connect("tls://"+ns.Addr().String(), append([]nats.Option{
		nats.UserInfo(user, Password(user)),
		nats.CustomInboxPrefix(set["HINT_NATS_INBOX_PREFIX"]),
		nats.RootCAs(set["HINT_NATS_CA"]),
		nats.ClientCert(set["HINT_NATS_CERT"], set["HINT_NATS_KEY"]),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, opts...)...)
}
