package netaddr

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true, "LocalHost": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "192.168.1.1": false, "example.org": false, "localhost.example.org": false, "127.0.0.1:80": false, "[::1]": false,
	} {
		t.Run(host, func(t *testing.T) { require.Equal(t, want, IsLoopback(host)) })
	}
}

func TestAsksOwnHost(t *testing.T) {
	hostname = func() (string, error) { return "Gateway.lan", nil }
	t.Cleanup(func() { hostname = os.Hostname })
	local := &net.TCPAddr{IP: net.ParseIP("10.0.0.5"), Port: 8377}
	for _, row := range []struct {
		name, configured, host string
		local                  net.Addr
		want                   bool
	}{
		{"configured address", "127.0.0.1", "127.0.0.1:8377", local, true},
		{"localhost", "127.0.0.1", "localhost:8377", local, true},
		{"upper case", "127.0.0.1", "LocalHost:8377", local, true},
		{"IPv6 loopback", "127.0.0.1", "[::1]:8377", local, true},
		{"IPv6 without a port", "127.0.0.1", "[::1]", local, true},
		{"another loopback address", "127.0.0.1", "127.0.0.2:8377", local, true},
		{"port of a tunnel", "127.0.0.1", "localhost:9000", local, true},
		{"no port", "127.0.0.1", "localhost", local, true},
		{"nothing", "127.0.0.1", "", local, false},
		{"rebound name", "127.0.0.1", "evil.example:8377", local, false},
		{"name that begins like ours", "127.0.0.1", "localhost.evil.example:8377", local, false},
		{"name with a dot at its end", "127.0.0.1", "localhost.:8377", local, false},
		{"configured name", "hub.example", "Hub.Example:8377", local, true},
		{"configured name at a proxy's port", "hub.example", "hub.example", local, true},
		{"configured name, another one", "hub.example", "evil.example", local, false},
		{"configured name, the address it came in on", "hub.example", "10.0.0.5", local, false},
		{"configured IPv6 address", "fd00::1", "[fd00::1]:8377", local, true},
		{"one address, the one it came in on", "10.0.0.7", "10.0.0.5:8377", local, false},
		{"every address, the one it came in on", "", "10.0.0.5:8377", local, true},
		{"every address, without a port", "", "10.0.0.5", local, true},
		{"every address in IPv4", "0.0.0.0", "10.0.0.5:8377", local, true},
		{"every address in IPv6", "::", "10.0.0.5:8377", local, true},
		{"every address in IPv4 as IPv6", "::ffff:0.0.0.0", "10.0.0.5:8377", local, true},
		{"every address, asked in IPv6", "0.0.0.0", "[::ffff:10.0.0.5]:8377", local, true},
		{"every address, localhost", "0.0.0.0", "localhost:8377", local, true},
		{"every address, itself in IPv4", "0.0.0.0", "0.0.0.0:8377", local, false},
		{"every address, itself in IPv6", "::", "[::]:8377", local, false},
		{"every address, another one", "", "10.0.0.6:8377", local, false},
		{"every address, the machine's name", "", "gateway.lan:8377", local, true},
		{"every address in IPv4, the machine's name without its domain", "0.0.0.0", "gateway", local, true},
		{"every address in IPv6, the machine's name in another domain", "::", "gateway.evil.example:8377", local, false},
		{"every address, a name that begins like the machine's", "", "gateway2.evil.example:8377", local, false},
		{"every address, a name that ends like the machine's", "", "evil.gateway.lan:8377", local, false},
		{"one address, the machine's name", "10.0.0.5", "gateway.lan:8377", local, false},
		{"every address, a name", "", "evil.example:8377", local, false},
		{"every address, nothing", "", "", local, false},
		{"every address, reached at an unknown one", "", "10.0.0.5:8377", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, row.local), http.MethodGet, "/", nil)
			r.Host = row.host
			require.Equal(t, row.want, AsksOwnHost(r, row.configured))
		})
	}
}
