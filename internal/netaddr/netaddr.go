// Package netaddr classifies network addresses.
package netaddr

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// IsLoopback reports whether host, a name or an IP address without a port, is
// reachable from this machine only. An empty host is not: a listener on it
// accepts connections on every address.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// AsksOwnHost reports whether the Host of a request is a loopback name or the
// configured one, a host without a port. For a listener on all addresses,
// configured as "" or an unspecified address, the address at which it was
// reached and the name of the machine count instead. A foreign page that rebinds
// its own name to this machine (DNS rebinding) sends that name. The port is
// ignored: it says nothing about rebinding, and a tunnel or a container may use
// another one.
func AsksOwnHost(r *http.Request, configured string) bool {
	host := AskedHost(r)
	if IsLoopback(host) {
		return true
	}
	if listen, err := netip.ParseAddr(configured); configured != "" && (err != nil || !listen.Unmap().IsUnspecified()) {
		return strings.EqualFold(host, configured)
	}
	if machine, err := hostname(); err == nil && isMachine(host, machine) {
		return true
	}
	asked, err := netip.ParseAddr(host)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && asked.Unmap() == local.AddrPort().Addr().Unmap()
}

// AskedHost returns the Host of a request without the port and without the brackets
// of an IPv6 address.
func AskedHost(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
}

// hostname returns the host name of the machine; tests replace it.
var hostname = os.Hostname

// isMachine reports whether a host is the host name of the machine, with or without
// its own domain. The same name in another domain may belong to anybody.
func isMachine(host, machine string) bool {
	name, _, _ := strings.Cut(machine, ".")
	return name != "" && (strings.EqualFold(host, machine) || strings.EqualFold(host, name))
}
