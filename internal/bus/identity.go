package bus

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"

	"intenthint/internal/access"
	"intenthint/internal/natsserver"
)

// ErrRefused reports a server that rejected the connection. A retry would not
// help.
var ErrRefused = errors.New("NATS server rejected the connection")

// Identity holds the credentials of a connection and the authorities it trusts.
// A user and password, or a token, are part of the URL.
type Identity struct {
	// Creds is a credentials file, NKey a file with a user's seed.
	Creds, NKey string
	// CA is a PEM file of the authorities trusted to sign the server
	// certificate; "" means the system's.
	CA string
	// Cert and Key are PEM files: the client's certificate and its key.
	Cert, Key string
	// TLSFirst begins a connection with the TLS handshake, before the server's greeting.
	TLSFirst bool
	// InboxPrefix is the prefix of reply subjects; "" is the NATS default.
	InboxPrefix string
}

// user returns the options that authenticate the user.
func (i Identity) user() ([]nats.Option, error) {
	var out []nats.Option
	if i.Creds != "" {
		if _, err := nats.NkeyOptionFromSeed(i.Creds); err != nil {
			return nil, fmt.Errorf("HINT_NATS_CREDS %s: %w", i.Creds, err)
		}
		out = append(out, nats.UserCredentials(i.Creds))
	}
	if i.NKey != "" {
		seed, err := nats.NkeyOptionFromSeed(i.NKey)
		if err != nil {
			return nil, fmt.Errorf("HINT_NATS_NKEY %s: %w", i.NKey, err)
		}
		out = append(out, seed)
	}
	return out, nil
}

// tls returns the TLS options of a network connection; without any file the
// server decides whether it is encrypted.
func (i Identity) tls() []nats.Option {
	var out []nats.Option
	if i.CA != "" {
		out = append(out, nats.RootCAs(i.CA))
	}
	if i.Cert != "" {
		out = append(out, nats.ClientCert(i.Cert, i.Key))
	}
	if i.TLSFirst {
		out = append(out, nats.TLSHandshakeFirst())
	}
	return out
}

// identify returns the options that authenticate this process to a server in another
// one: as configured, else, to the server of the data directory, as a user made there.
func (b *Bus) identify() ([]nats.Option, error) {
	out, err := b.options.Identity.user()
	if len(out) == 0 && b.options.Context == "" {
		out = append(out, b.options.Embedded.JoinOption(b.target, b.madeUser()))
	}
	return append(out, b.options.Identity.tls()...), err
}

// dial connects to servers by the context, if there is one, and the options, which win
// over it.
func (o Options) dial(target string, opts ...nats.Option) (*nats.Conn, error) {
	if o.Context == "" {
		return nats.Connect(target, opts...)
	}
	first := []nats.Option{func(no *nats.Options) error {
		no.Servers = strings.Split(target, ",")
		return nil
	}}
	if o.Identity.Creds != "" || o.Identity.NKey != "" || strings.Contains(target, "@") {
		first = append(first, withoutUser)
	}
	nc, _, err := natscontext.Connect(o.Context, append(first, opts...)...)
	return nc, err
}

// withoutUser leaves out the user of a context.
func withoutUser(o *nats.Options) error {
	o.User, o.Password, o.Token, o.Nkey, o.UserJWT, o.SignatureCB = "", "", "", "", nil, nil
	return nil
}

// joins reports whether the server is that of the data directory, or would be the one
// at its address, in another process.
func (b *Bus) joins() bool { return (b.options.URL == "" || b.options.Local) && !b.Embedded() }

// madeUser returns the user, of those that an embedded server makes, that this process
// is.
func (b *Bus) madeUser() string { return cmp.Or(b.options.As, access.Operator) }

// noUser returns advice for a server of the data directory whose users cannot be read;
// "" for any other server.
func (b *Bus) noUser() string {
	if !b.joins() || !natsserver.Serves(b.options.Embedded.DataDir, b.target) {
		return ""
	}
	if _, err := access.ReadContext(b.options.Embedded.DataDir, b.madeUser()); err != nil {
		return fmt.Sprintf("%v; the consumer that runs the server writes it again at its next start", err)
	}
	return ""
}

// ours returns an error that wraps [natsserver.ErrStranger] if the server to join at an
// address is not that of the data directory. Without authentication any server will do.
func (b *Bus) ours(address string) error {
	o := b.options.Embedded
	if !o.Auth || !b.joins() || natsserver.Serves(o.DataDir, address) {
		return nil
	}
	return fmt.Errorf("%w: the program at %s is not the NATS server of data directory %s", natsserver.ErrStranger, address, o.DataDir)
}

// errNoUsers reports a server of the same data directory that asks for no user.
var errNoUsers = errors.New("the server of this data directory asks for no user")

// checkAuth refuses to share a data directory with a consumer that asks for no user:
// whichever of the two restarts the server would change who may come in.
func (b *Bus) checkAuth() error {
	if !b.options.Embedded.Auth || !b.options.Wait || !b.joins() || b.NC.AuthRequired() {
		return nil
	}
	return fmt.Errorf("%w: %s was started with HINT_AUTH=off; set HINT_AUTH alike for all consumers of %s", errNoUsers, b.target, b.options.Embedded.DataDir)
}

// refusal returns advice for a permanent connection failure, "" for any other
// error.
func refusal(err error) string {
	text := strings.ToLower(err.Error())
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, greeted := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case strings.Contains(text, "authorization violation"), strings.Contains(text, "authentication expired"),
		strings.Contains(text, "authentication revoked"):
		return "check the user and password in HINT_NATS_URL, or HINT_NATS_CONTEXT, HINT_NATS_CREDS, HINT_NATS_NKEY or HINT_NATS_CERT; " +
			"for the server of a consumer on this machine set HINT_DATA_DIR to its directory"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server does not offer TLS, which a tls:// address, HINT_NATS_CA and HINT_NATS_CERT require"
	case greeted:
		return "the server does not begin with TLS, as HINT_NATS_TLS_FIRST wants; set it to false, or handshake_first in the server's tls block"
	case untrusted:
		return "the server certificate is not trusted: check the authority in HINT_NATS_CA and the host name in HINT_NATS_URL"
	case alert, strings.Contains(text, "remote error: tls"):
		return "set HINT_NATS_CERT and HINT_NATS_KEY to a client certificate that the server trusts"
	}
	return ""
}
