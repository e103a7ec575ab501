// Package porttest finds ports for tests.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports below the ephemeral range, which other processes use for connections.
const (
	lowest = 10_000
	count  = 20_000
)

// given are the ports that this process has handed out.
var given sync.Map

// Free returns a free loopback port, and each port only once. A server that can
// report its port should listen on port 0 instead.
func Free(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := lowest + rand.IntN(count)
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		var config net.ListenConfig
		l, err := config.Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
