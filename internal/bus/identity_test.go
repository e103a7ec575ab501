package bus

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/tlstest"
)

// configured starts a server from a configuration.
func configured(t *testing.T, text string) *server.Server {
	t.Helper()
	opts, err := server.ProcessConfigFile(conf(t, text))
	require.NoError(t, err)
	return natstest.Start(t, opts)
}

// as returns the URL of the server for a user.
func as(ns *server.Server, user, password string) string {
	u := url.URL{Scheme: "nats", Host: ns.Addr().String()}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// conf writes a configuration file of a server.
func conf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// seed writes the seed of a new user.
func seed(t *testing.T) (file, public string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	secret, err := pair.Seed()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "user.nk")
	require.NoError(t, os.WriteFile(file, append(secret, '\n'), 0o600))
	return file, public
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	ours, theirs := tlstest.New(t), tlstest.New(t)
	cert, key := ours.Issue("server", "127.0.0.1")
	tls := fmt.Sprintf("cert_file: %q, key_file: %q, ca_file: %q", cert, key, ours.File)
	user, userKey := ours.Issue("consumer")
	stranger, strangerKey := theirs.Issue("consumer")
	known, public := seed(t)
	unknown, _ := seed(t)
	broken := filepath.Join(t.TempDir(), "broken.creds")
	require.NoError(t, os.WriteFile(broken, []byte("no credentials"), 0o600))

	open := configured(t, ``)
	users := configured(t, `authorization { users: [{user: consumer, password: secret}, {nkey: `+public+`}] }`)
	encrypted := configured(t, `tls {`+tls+`}`)
	verifying := configured(t, `tls {`+tls+`, verify: true}`)
	mapping := configured(t, `tls {`+tls+`, verify_and_map: true}, authorization { users: [{user: consumer}] }`)
	first := configured(t, `tls {`+tls+`, handshake_first: true}`)
	otherPlace, otherKey := ours.Issue("elsewhere")
	elsewhere := configured(t, fmt.Sprintf("tls {cert_file: %q, key_file: %q}", otherPlace, otherKey))

	for _, row := range []struct {
		name string
		url  string
		who  Identity
		says string // the error; "" for none
	}{
		{"user", as(users, "consumer", "secret"), Identity{}, ""},
		{"wrong password", as(users, "consumer", "wrong"), Identity{}, "HINT_NATS_URL"},
		{"no credentials", as(users, "", ""), Identity{}, "HINT_NATS_URL"},
		{"key", as(users, "", ""), Identity{NKey: known}, ""},
		{"unknown key", as(users, "", ""), Identity{NKey: unknown}, "HINT_NATS_NKEY"},
		{"invalid key file", as(users, "", ""), Identity{NKey: broken}, "HINT_NATS_NKEY"},
		{"invalid credentials file", as(users, "", ""), Identity{Creds: broken}, "HINT_NATS_CREDS"},
		{"trusted authority", as(encrypted, "", ""), Identity{CA: ours.File}, ""},
		{"no authority", as(encrypted, "", ""), Identity{}, "HINT_NATS_CA"},
		{"untrusted authority", as(encrypted, "", ""), Identity{CA: theirs.File}, "HINT_NATS_CA"},
		{"certificate of another host", as(elsewhere, "", ""), Identity{CA: ours.File}, "host name in HINT_NATS_URL"},
		{"no TLS on the server", as(open, "", ""), Identity{CA: ours.File}, "does not offer TLS"},
		{"TLS first", as(first, "", ""), Identity{CA: ours.File, TLSFirst: true}, ""},
		{"TLS first, and an untrusted authority", as(first, "", ""), Identity{CA: theirs.File, TLSFirst: true}, "HINT_NATS_CA"},
		{"TLS first, and the server greets", as(encrypted, "", ""), Identity{CA: ours.File, TLSFirst: true}, "HINT_NATS_TLS_FIRST"},
		{"TLS first, and the server has none", as(open, "", ""), Identity{CA: ours.File, TLSFirst: true}, "HINT_NATS_TLS_FIRST"},
		{"client certificate", as(verifying, "", ""), Identity{CA: ours.File, Cert: user, Key: userKey}, ""},
		{"no client certificate", as(verifying, "", ""), Identity{CA: ours.File}, "HINT_NATS_CERT"},
		{"client certificate of an untrusted authority", as(verifying, "", ""), Identity{CA: ours.File, Cert: stranger, Key: strangerKey}, "HINT_NATS_CERT"},
		{"certificate mapped to a user", as(mapping, "", ""), Identity{CA: ours.File, Cert: user, Key: userKey}, ""},
		{"certificate without a user", as(mapping, "", ""), Identity{CA: ours.File, Cert: otherPlace, Key: otherKey}, "HINT_NATS_CERT"},
	} {
		t.Run(row.name, func(t *testing.T) {
			// A refusal is final and does not wait.
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			b, err := Open(ctx, Options{URL: row.url, Identity: row.who, Wait: true, Log: quiet})
			if row.says == "" {
				require.NoError(t, err)
				b.Close()
				return
			}
			require.NoError(t, ctx.Err())
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "wrong")
			require.NotContains(t, err.Error(), "no credentials")
		})
	}
}

// credentials writes a credentials file for a user of the account.
func credentials(t *testing.T, account nkeys.KeyPair, expires time.Time) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	secret, err := pair.Seed()
	require.NoError(t, err)
	claims := jwt.NewUserClaims(public)
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	token, err := claims.Encode(account)
	require.NoError(t, err)
	content, err := jwt.FormatUserConfig(token, secret)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "user.creds")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	return file
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	operator, err := nkeys.CreateOperator()
	require.NoError(t, err)
	operatorKey, err := operator.PublicKey()
	require.NoError(t, err)
	operatorToken, err := jwt.NewOperatorClaims(operatorKey).Encode(operator)
	require.NoError(t, err)
	makeAccount := func(limits jwt.JetStreamLimits) (pair nkeys.KeyPair, public, token string) {
		pair, err := nkeys.CreateAccount()
		require.NoError(t, err)
		public, err = pair.PublicKey()
		require.NoError(t, err)
		claims := jwt.NewAccountClaims(public)
		claims.Limits.JetStreamLimits = limits
		token, err = claims.Encode(operator)
		require.NoError(t, err)
		return pair, public, token
	}
	_, systemKey, systemToken := makeAccount(jwt.JetStreamLimits{})
	account, accountKey, accountToken := makeAccount(jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1})
	text := fmt.Sprintf("jetstream: enabled\noperator: %s\nresolver: MEMORY\nsystem_account: %s\nresolver_preload: { %s: %s, %s: %s }\n",
		operatorToken, systemKey, systemKey, systemToken, accountKey, accountToken)
	good, expired := credentials(t, account, time.Time{}), credentials(t, account, time.Now().Add(-time.Minute))

	ns := configured(t, text)
	b, err := Open(t.Context(), Options{URL: as(ns, "", ""), Identity: Identity{Creds: good}, Wait: true, Log: quiet})
	require.NoError(t, err)
	b.Close()
	_, err = Open(t.Context(), Options{URL: as(ns, "", ""), Identity: Identity{Creds: expired}, Wait: true, Log: quiet})
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "HINT_NATS_CREDS")

	embedded := natsserver.Options{ConfFile: conf(t, text), Port: server.RANDOM_PORT, DataDir: t.TempDir()}
	own, err := Open(t.Context(), Options{Embedded: embedded, Identity: Identity{Creds: good}, Log: quiet})
	require.NoError(t, err)
	defer own.Close()
	require.NoError(t, own.CheckJetStream(t.Context()))
}

func TestMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	const look = `"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.INFO.*.*"`
	conf := func(publish, subscribe string) string {
		return `jetstream: enabled, authorization { users: [
			{user: consumer, password: p, permissions { publish: [` + publish + `], subscribe: [` + subscribe + `] } }
		] }`
	}
	t.Run("receiving replies", func(t *testing.T) {
		ns := configured(t, conf(look, `"_INBOX_c.>"`))
		who := Options{URL: as(ns, "consumer", "p"), Log: quiet}
		deaf, err := Open(t.Context(), who)
		require.NoError(t, err)
		defer deaf.Close()
		_, err = Provision(t.Context(), deaf.JS, testLayout())
		require.ErrorIs(t, err, errNoReplies)
		require.ErrorContains(t, err, "HINT_NATS_INBOX_PREFIX")
		who.Identity.InboxPrefix = "_INBOX_c"
		b, err := Open(t.Context(), who)
		require.NoError(t, err)
		defer b.Close()
		_, err = Provision(t.Context(), b.JS, testLayout())
		require.ErrorIs(t, err, ErrDenied)
		require.ErrorContains(t, err, "$JS.API.STREAM.CREATE.OPENCLAW_EVENTS")
	})
	t.Run("receiving requests", func(t *testing.T) {
		ns := configured(t, conf(look, `"_INBOX.>", "$SRV.>", "openclaw.request.> another-group"`))
		b, err := Open(t.Context(), Options{URL: as(ns, "consumer", "p"), Log: quiet})
		require.NoError(t, err)
		defer b.Close()
		_, err = StartService(t.Context(), b.NC, ServiceOptions{Layout: testLayout(), Name: "intent-hint", Version: "1.2.3", Log: quiet}, endpointOf("before_prompt_build", Bound{}, func(context.Context, Request) Reply { return Reply{} }))
		require.NoError(t, err)
		err = b.Subscribed(t.Context())
		require.ErrorIs(t, err, ErrDenied)
		require.ErrorContains(t, err, `"openclaw.request.before_prompt_build.*"`)
		_, err = b.NC.SubscribeSync("openclaw.runs")
		require.NoError(t, err)
		err = b.Subscribed(t.Context())
		require.ErrorIs(t, err, ErrDenied)
		require.ErrorContains(t, err, `"openclaw.runs"`)
	})
}

// The sink's connection also carries calls.
func TestDeniedAcknowledgementEndsNoCall(t *testing.T) {
	t.Parallel()
	ns := configured(t, `jetstream: enabled, authorization { users: [
		{user: consumer, password: p, permissions { publish: { deny: ["$JS.ACK.>", "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.API.STREAM.DELETE.>"] } } }
	] }`)
	b, err := Open(t.Context(), Options{URL: as(ns, "consumer", "p"), Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	for subject, ends := range map[string]bool{
		"$JS.ACK.S.d.1.1.1.1.0": false, "$JS.API.CONSUMER.MSG.NEXT.S.d": false, "$JS.API.STREAM.DELETE.S": true,
	} {
		_, err := Call(t.Context(), b.NC, func(ctx context.Context) (any, error) {
			require.NoError(t, b.NC.Publish(subject, nil))
			require.NoError(t, b.NC.Flush())
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(100 * time.Millisecond): // twenty looks at the connection
				return nil, nil
			}
		})
		if ends {
			require.ErrorIs(t, err, ErrDenied, subject)
		} else {
			require.NoError(t, err, subject)
		}
	}
}

func TestEmbeddedServerAcceptsItsProcess(t *testing.T) {
	t.Parallel()
	authority := tlstest.New(t)
	cert, key := authority.Issue("server", "127.0.0.1")
	tls := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify_and_map: true }\n", cert, key, authority.File)
	_, nkey := seed(t)
	const account = "accounts { SYS { users: [{user: sys, password: s}] }, A { jetstream: enabled, users: [{user: a, password: b}] } }\nsystem_account: SYS\n"
	for _, row := range []struct{ name, conf string }{
		{"one user", `authorization { user: a, password: b }`},
		{"a token", `authorization { token: abc }`},
		{"users", `authorization { users: [{user: a, password: b}] }`},
		{"nkeys", `authorization { users: [{nkey: ` + nkey + `}] }`},
		{"an account", account},
		{"an account and certificates as users", account + tls},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, err := Open(t.Context(), Options{Embedded: natsserver.Options{ConfFile: conf(t, row.conf), Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
			require.NoError(t, err)
			defer b.Close()
			require.NoError(t, b.CheckJetStream(t.Context()))
			provisionTest(t, b)
			other, err := b.Another(t.Context(), "events")
			require.NoError(t, err)
			defer other.Close()
			require.NoError(t, other.CheckJetStream(t.Context()))
			_, err = Open(t.Context(), Options{URL: b.URL(), Log: quiet})
			require.ErrorIs(t, err, ErrRefused, "other processes are refused")
		})
	}
	t.Run("two accounts", func(t *testing.T) {
		file := conf(t, `accounts { A { users: [{user: a, password: b}] }, B { users: [{user: c, password: d}] } }`)
		_, err := Open(t.Context(), Options{Embedded: natsserver.Options{ConfFile: file, Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
		require.ErrorIs(t, err, natsserver.ErrServerStart)
		require.ErrorContains(t, err, "HINT_NATS_URL")
	})
}
