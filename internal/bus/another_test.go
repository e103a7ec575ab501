package bus

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

// The server may stop between the first and the second connection of a process.
func TestSecondConnectionWaitsForServer(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{})
	port := ns.Addr().(*net.TCPAddr).Port
	b, err := Open(t.Context(), Options{URL: ns.ClientURL(), Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	ns.Shutdown()
	ns.WaitForShutdown()

	type result struct {
		bus *Bus
		err error
	}
	opened := make(chan result, 1)
	go func() {
		other, err := b.Another(t.Context(), "another")
		opened <- result{other, err}
	}()
	select {
	case r := <-opened:
		require.FailNow(t, "opened without a server", "%v", r.err)
	case <-time.After(100 * time.Millisecond):
	}
	natstest.Start(t, &server.Options{Port: port})
	r := <-opened
	require.NoError(t, r.err)
	r.bus.Close()
}
