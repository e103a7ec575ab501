package natsserver

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"intenthint/internal/netaddr"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrOpenListener reports an embedded server with a non-loopback listener that
// requires no authentication.
var ErrOpenListener = errors.New("must not listen on non-loopback addresses without authentication")

// openListeners returns the non-loopback listeners without authentication, each
// as "what on host:port". Monitoring and profiling never have authentication.
func openListeners(o *server.Options) []string {
	var open []string
	check := func(what, host string, port int, asks bool) {
		if port != 0 && !asks && !netaddr.IsLoopback(host) {
			open = append(open, what+" on "+net.JoinHostPort(cmp.Or(host, server.DEFAULT_HOST), strconv.Itoa(port)))
		}
	}
	named := authenticates(o) && o.NoAuthUser == ""

	clients := o.Port
	if o.DontListen {
		clients = 0
	}
	check("clients", o.Host, clients, named || verifies(o.TLSConfig) && !o.AllowNonTLS)
	w := &o.Websocket
	check("websocket", w.Host, w.Port, verifies(w.TLSConfig) || w.NoAuthUser == "" && (named || w.Username != "" || w.Token != ""))
	m := &o.MQTT
	check("mqtt", m.Host, m.Port, verifies(m.TLSConfig) || m.NoAuthUser == "" && (named || m.Username != "" || m.Token != ""))
	l := &o.LeafNode
	check("leafnodes", l.Host, l.Port, verifies(l.TLSConfig) || named || l.Username != "" || l.Nkey != "" || len(l.Users) > 0)
	// TLS of routes and gateways always verifies both sides.
	check("cluster", o.Cluster.Host, o.Cluster.Port, o.Cluster.Username != "" || o.Cluster.TLSConfig != nil)
	check("gateway", o.Gateway.Host, o.Gateway.Port, o.Gateway.Username != "" || o.Gateway.TLSConfig != nil)
	monitoring := cmp.Or(o.HTTPHost, o.Host)
	check("monitoring", monitoring, o.HTTPPort, false)
	check("monitoring", monitoring, o.HTTPSPort, false)
	check("profiling", o.Host, o.ProfPort, false)
	return open
}

// authenticates reports whether the server has users, or another way to tell them.
func authenticates(o *server.Options) bool {
	return o.Username != "" || o.Authorization != "" || len(o.Users) > 0 || len(o.Nkeys) > 0 ||
		len(o.TrustedOperators) > 0 || len(o.TrustedKeys) > 0 || o.AuthCallout != nil || o.CustomClientAuthentication != nil
}

// verifies reports whether clients need a trusted certificate.
func verifies(c *tls.Config) bool {
	return c != nil && c.ClientAuth == tls.RequireAndVerifyClientCert
}

// Check returns an error that wraps [ErrConf] if the configuration file is
// invalid, and [ErrOpenListener] if the server would have a non-loopback listener
// without authentication.
func (o Options) Check() error {
	opts, err := o.parse()
	if err != nil {
		return err
	}
	return errors.Join(o.refuseOpen(opts), o.checkAccounts(opts))
}

func (o Options) refuseOpen(opts *server.Options) error {
	open := openListeners(opts)
	if len(open) == 0 || o.AllowOpen {
		return nil
	}
	return fmt.Errorf("%w: %s: listen on 127.0.0.1, require a user, nkey, token or client certificate (not possible for monitoring), "+
		"or set HINT_ALLOW_OPEN=1", ErrOpenListener, strings.Join(open, ", "))
}
