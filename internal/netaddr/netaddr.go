// Package netaddr classifies network addresses.
package netaddr

import (
	"net"
	"strings"
)

// IsLoopback reports whether host, a name or an IP address without a port, is
// reachable from this machine only. An empty host is not: a listener on it
// takes connections on every address.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
