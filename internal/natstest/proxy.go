package natstest

import (
	"io"
	"net"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Through returns the URL of a proxy in front of a server. pass receives the
// chunks that clients send, and returns what to forward to the server; nil
// closes the client's connection. It is called from several goroutines.
func Through(t testing.TB, ns *server.Server, pass func(chunk []byte) []byte) (url string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ns.Addr().String())
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, upstream)
				_ = client.Close()
			}()
			go func() {
				defer func() { _ = upstream.Close() }()
				buf := make([]byte, 64<<10)
				for {
					n, err := client.Read(buf)
					if err != nil {
						return
					}
					chunk := pass(buf[:n])
					if chunk == nil {
						return
					}
					if _, err := upstream.Write(chunk); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "nats://" + listener.Addr().String()
}
