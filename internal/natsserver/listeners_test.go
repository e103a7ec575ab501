package natsserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"intenthint/internal/tlstest"
)

// conf writes a configuration file of a server.
func conf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestOpenListeners(t *testing.T) {
	authority := tlstest.New(t)
	cert, key := authority.Issue("server", "127.0.0.1")
	tls := fmt.Sprintf("cert_file: %q, key_file: %q, ca_file: %q", cert, key, authority.File)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	nkey, err := user.PublicKey()
	require.NoError(t, err)
	const everywhere = `listen: "0.0.0.0:4222"` + "\n"
	for _, row := range []struct {
		name, conf string
		open       []string
	}{
		{"port only", `port: 4222`, nil},
		{"loopback", `listen: "127.0.0.1:4222"`, nil},
		{"IPv6 loopback", `listen: "[::1]:4222"`, nil},
		{"localhost", `listen: "LocalHost:4222"`, nil},
		{"every address", everywhere, []string{"clients on 0.0.0.0:4222"}},
		{"every IPv6 address", `listen: "[::]:4222"`, []string{"clients on [::]:4222"}},
		{"one address", `listen: "192.0.2.1:4222"`, []string{"clients on 192.0.2.1:4222"}},
		{"a name", `listen: "nats.example:4222"`, []string{"clients on nats.example:4222"}},
		{"one user", everywhere + `authorization { user: a, password: b }`, nil},
		{"a token", everywhere + `authorization { token: abc }`, nil},
		{"users", everywhere + `authorization { users: [{user: a, password: b}] }`, nil},
		{"nkeys", everywhere + `authorization { users: [{nkey: ` + nkey + `}] }`, nil},
		{"users of an account", everywhere + `accounts { A { users: [{user: a, password: b}] } }`, nil},
		{"accounts without users", everywhere + `accounts { A {} }`, []string{"clients on 0.0.0.0:4222"}},
		{"no_auth_user", everywhere + `authorization { users: [{user: a, password: b}] }` + "\nno_auth_user: a", []string{"clients on 0.0.0.0:4222"}},
		{"certificates of clients", everywhere + `tls {` + tls + `, verify: true}`, nil},
		{"certificates of clients as users", everywhere + `tls {` + tls + `, verify_and_map: true}` + "\n" + `authorization { users: [{user: a}] }`, nil},
		{"TLS without verification", everywhere + `tls {` + tls + `}`, []string{"clients on 0.0.0.0:4222"}},
		{"TLS is optional", everywhere + "allow_non_tls: true\n" + `tls {` + tls + `, verify: true}`, []string{"clients on 0.0.0.0:4222"}},
		{"monitoring", `http: "0.0.0.0:8222"`, []string{"monitoring on 0.0.0.0:8222"}},
		{"monitoring, with users", `http: "0.0.0.0:8222", authorization { user: a, password: b }`, []string{"monitoring on 0.0.0.0:8222"}},
		{"monitoring on loopback", `http: "127.0.0.1:8222"`, nil},
		{"monitoring on the host of clients", `http_port: 8222`, nil},
		{"profiling", everywhere + `authorization { user: a, password: b }` + "\nprof_port: 6060", []string{"profiling on 0.0.0.0:6060"}},
		{"websocket", `websocket { port: 8080, no_tls: true }`, []string{"websocket on 0.0.0.0:8080"}},
		{"websocket with a user", `websocket { port: 8080, no_tls: true, authorization { username: a, password: b } }`, nil},
		{"websocket on loopback", `websocket { listen: "127.0.0.1:8080", no_tls: true }`, nil},
		{"mqtt", `mqtt { port: 1883 }`, []string{"mqtt on 0.0.0.0:1883"}},
		{"mqtt with the server's users", `mqtt { port: 1883 }, authorization { user: a, password: b }`, nil},
		{"leafnodes", `leafnodes { port: 7422 }`, []string{"leafnodes on 0.0.0.0:7422"}},
		{"leafnodes with a user", `leafnodes { port: 7422, authorization { user: a, password: b } }`, nil},
		{"cluster", `cluster { name: c, port: 6222 }`, []string{"cluster on 0.0.0.0:6222"}},
		{"cluster with a user", `cluster { name: c, port: 6222, authorization { user: a, password: b } }`, nil},
		{"cluster with certificates", `cluster { name: c, port: 6222, tls {` + tls + `} }`, nil},
		{"gateway", `gateway { name: g, port: 7222 }`, []string{"gateway on 0.0.0.0:7222"}},
		{"several", everywhere + `http: "0.0.0.0:8222"`, []string{"clients on 0.0.0.0:4222", "monitoring on 0.0.0.0:8222"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{ConfFile: conf(t, row.conf), DataDir: filepath.Join(t.TempDir(), "data")}
			opts, err := o.parse()
			require.NoError(t, err)
			require.Equal(t, row.open, openListeners(opts))
			if row.open == nil {
				require.NoError(t, o.Check())
				return
			}
			err = o.Check()
			require.ErrorIs(t, err, ErrOpenListener)
			require.ErrorContains(t, err, row.open[0])
			require.ErrorContains(t, err, "HINT_ALLOW_OPEN=1")
			_, _, err = Open(t.Context(), o, quiet)
			require.ErrorIs(t, err, ErrOpenListener)
			require.NoDirExists(t, o.DataDir, "nothing was started")
			o.AllowOpen = true
			require.NoError(t, o.Check())
		})
	}
}
