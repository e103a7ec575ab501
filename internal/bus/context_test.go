package bus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"intenthint/internal/tlstest"
)

// contextOf writes a context of the nats command line.
func contextOf(t *testing.T, fields map[string]any) string {
	t.Helper()
	data, err := json.Marshal(fields)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestConnectionsByContext(t *testing.T) {
	t.Parallel()
	ours, theirs := tlstest.New(t), tlstest.New(t)
	cert, key := ours.Issue("server", "127.0.0.1")
	client, clientKey := ours.Issue("consumer")
	known, public := seed(t)
	unknown, _ := seed(t)
	tls := fmt.Sprintf("cert_file: %q, key_file: %q, ca_file: %q", cert, key, ours.File)
	users := configured(t, `jetstream: enabled, authorization { users: [{user: consumer, password: secret}, {nkey: `+public+`}] }`)
	token := configured(t, `authorization { token: abc }`)
	verifying := configured(t, `tls {`+tls+`, verify: true}`)
	first := configured(t, `tls {`+tls+`, handshake_first: true}`)
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	creds := credentials(t, account, time.Time{})

	type context = map[string]any
	for _, row := range []struct {
		name    string
		context context
		o       Options
		says    string // the error; "" for none
	}{
		{"user", context{"url": as(users, "", ""), "user": "consumer", "password": "secret"}, Options{}, ""},
		{"user in the url", context{"url": as(users, "consumer", "secret")}, Options{URL: as(users, "consumer", "secret")}, ""},
		{"wrong password", context{"url": as(users, "", ""), "user": "consumer", "password": "wrong"}, Options{}, "HINT_NATS_CONTEXT"},
		{"key", context{"url": as(users, "", ""), "nkey": known}, Options{}, ""},
		{"unknown key", context{"url": as(users, "", ""), "nkey": unknown}, Options{}, "HINT_NATS_CONTEXT"},
		{"token", context{"url": as(token, "", ""), "token": "abc"}, Options{}, ""},
		{"client certificate", context{"url": as(verifying, "", ""), "ca": ours.File, "cert": client, "key": clientKey}, Options{}, ""},
		{"untrusted authority", context{"url": as(verifying, "", ""), "ca": theirs.File, "cert": client, "key": clientKey}, Options{}, "HINT_NATS_CA"},
		{"TLS first", context{"url": as(first, "", ""), "ca": ours.File, "tls_first": true}, Options{}, ""},
		{"another authority wins", context{"url": as(verifying, "", ""), "ca": theirs.File, "cert": client, "key": clientKey}, Options{Identity: Identity{CA: ours.File}}, ""},
		{"another certificate wins", context{"url": as(verifying, "", ""), "ca": ours.File}, Options{Identity: Identity{Cert: client, Key: clientKey}}, ""},
		{"another key wins", context{"url": as(users, "", ""), "user": "consumer", "password": "wrong"}, Options{Identity: Identity{NKey: known}}, ""},
		{"another key wins over credentials", context{"url": as(users, "", ""), "creds": creds}, Options{Identity: Identity{NKey: known}}, ""},
		{"another url wins", context{"url": "nats://127.0.0.1:1", "user": "consumer", "password": "secret"}, Options{URL: as(users, "", "")}, ""},
		{"another user wins", context{"url": as(users, "", ""), "user": "consumer", "password": "wrong"}, Options{URL: as(users, "consumer", "secret")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := row.o
			o.Context, o.Log, o.Wait = contextOf(t, row.context), quiet, true
			if o.URL == "" {
				o.URL, _ = row.context["url"].(string)
			}
			b, err := Open(t.Context(), o)
			if row.says != "" {
				require.ErrorIs(t, err, ErrRefused)
				require.ErrorContains(t, err, row.says)
				return
			}
			require.NoError(t, err)
			defer b.Close()
			// The connections that follow go by it too, and so does the check of a server.
			other, err := b.Another(t.Context(), "events")
			require.NoError(t, err)
			defer other.Close()
			b.Belong("NONE", "x")
			require.NoError(t, b.NC.ForceReconnect())
			require.Eventually(t, func() bool { return b.NC.IsConnected() && b.NC.Stats().Reconnects > 0 }, 10*time.Second, 10*time.Millisecond)
		})
	}
}
