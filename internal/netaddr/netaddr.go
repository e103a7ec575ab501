// Package netaddr classifies network addresses.
package netaddr

import (
	"net"
	"net/http"
	"net/netip"
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
// reached counts instead. A foreign page that rebinds its own name to this
// machine (DNS rebinding) sends that name. The port is ignored: it says nothing
// about rebinding, and a tunnel or a container may use another one.
func AsksOwnHost(r *http.Request, configured string) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
	}
	if IsLoopback(host) {
		return true
	}
	if listen, err := netip.ParseAddr(configured); configured != "" && (err != nil || !listen.Unmap().IsUnspecified()) {
		return strings.EqualFold(host, configured)
	}
	asked, err := netip.ParseAddr(host)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && asked.Unmap() == local.AddrPort().Addr().Unmap()
}
