package bus

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// A server may go away between the first connection of a process and the
// second.
func TestAnotherConnectionWaitsForTheServerAsTheFirstOneDoes(t *testing.T) {
	opts := server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true}
	start := func() *server.Server {
		o := opts
		ns, err := server.NewServer(&o)
		require.NoError(t, err)
		go ns.Start()
		require.True(t, ns.ReadyForConnections(10*time.Second))
		t.Cleanup(ns.Shutdown)
		return ns
	}
	ns := start()
	opts.Port = ns.Addr().(*net.TCPAddr).Port
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
		require.FailNow(t, "it has not waited", "%v", r.err)
	case <-time.After(100 * time.Millisecond):
	}
	start()
	r := <-opened
	require.NoError(t, r.err)
	r.bus.Close()
}
