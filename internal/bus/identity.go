package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
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
	return out
}

// refusal returns advice for a permanent connection failure, "" for any other
// error.
func refusal(err error) string {
	text := strings.ToLower(err.Error())
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case strings.Contains(text, "authorization violation"), strings.Contains(text, "authentication expired"),
		strings.Contains(text, "authentication revoked"):
		return "check the user and password in HINT_NATS_URL, or HINT_NATS_CREDS, HINT_NATS_NKEY or HINT_NATS_CERT"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server does not offer TLS, which a tls:// address, HINT_NATS_CA and HINT_NATS_CERT require"
	case untrusted:
		return "the server certificate is not trusted: check the authority in HINT_NATS_CA and the host name in HINT_NATS_URL"
	case alert, strings.Contains(text, "remote error: tls"):
		return "set HINT_NATS_CERT and HINT_NATS_KEY to a client certificate that the server trusts"
	}
	return ""
}
