package faults

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo starts a server that sends back what it gets, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listen, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listen.Close() })
	go func() {
		for {
			c, err := listen.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return listen.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

func say(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.WriteString(c, "hello\n")
	require.NoError(t, err)
}

func hear(t *testing.T, c net.Conn) {
	t.Helper()
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
}

func ends(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	p, err := NewProxy("127.0.0.1", echo(t))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	c := dial(t, p)
	say(t, c)
	hear(t, c)

	p.Drop()
	ends(t, c)
	c = dial(t, p)
	say(t, c)
	hear(t, c)

	p.Freeze()
	say(t, c)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "no data and no end of the connection")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	p.Heal()
	hear(t, c)

	p.Delay(20 * time.Millisecond)
	say(t, c)
	hear(t, c)

	p.Cut()
	ends(t, c)
	ends(t, dial(t, p))
	p.Heal()
	c = dial(t, p)
	say(t, c)
	hear(t, c)
}

func TestCloseWhileFrozen(t *testing.T) {
	t.Parallel()
	p, err := NewProxy("127.0.0.1", echo(t))
	require.NoError(t, err)
	c := dial(t, p)
	say(t, c)
	hear(t, c)
	p.Freeze()
	say(t, c)
	p.Close()
	ends(t, c)
}
