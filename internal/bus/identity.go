package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// ErrRefused reports a server that answers and does not let this program in. To try again
// would not help.
var ErrRefused = errors.New("the NATS server does not let this program in")

// Identity is who a connection claims to be, and which server it trusts. A
// user and a password, or a token, stand in the URL.
type Identity struct {
	// Creds is a credentials file, NKey a file with a user's seed.
	Creds, NKey string
	// CA is a PEM file of the authorities that a server's certificate may
	// come from; "" trusts those of the machine.
	CA string
	// Cert and Key are PEM files: the client's certificate and its key.
	Cert, Key string
	// InboxPrefix begins the subjects on which replies come; "" is the one
	// that every NATS client has.
	InboxPrefix string
}

// user proves who this is.
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

// tls is what a connection over the network needs; without any file the
// server decides whether it is encrypted.
func (i Identity) tls() []nats.Option {
	var out []nats.Option
	if i.CA != "" {
		out = append(out, nats.RootCAs(i.CA))
	}
	if i.Cert != "" {
		out = append(out, nats.ClientCert(i.Cert, i.Key))
	}
	return out
}

// refusal says what to do about a failure to connect that does not go away by
// itself; it is "" for any other.
func refusal(err error) string {
	text := strings.ToLower(err.Error())
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case strings.Contains(text, "authorization violation"), strings.Contains(text, "authentication expired"),
		strings.Contains(text, "authentication revoked"):
		return "check the user and password in HINT_NATS_URL, or HINT_NATS_CREDS, HINT_NATS_NKEY or HINT_NATS_CERT"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "it does not offer TLS, which a tls:// address, HINT_NATS_CA and HINT_NATS_CERT ask for"
	case untrusted:
		return "its certificate is not trusted: HINT_NATS_CA names the authority, and HINT_NATS_URL a host that the certificate is for"
	case alert, strings.Contains(text, "remote error: tls"):
		return "set HINT_NATS_CERT and HINT_NATS_KEY to a client certificate that it trusts"
	}
	return ""
}
