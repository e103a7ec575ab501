package bus

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/porttest"
	"intenthint/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m, 4) }

var quiet = slog.New(slog.DiscardHandler)

func testLayout() Layout {
	return Layout{Prefix: subjects.DefaultPrefix, QueueGroup: subjects.DefaultQueueGroup, Stream: subjects.DefaultStream, MaxAge: time.Hour, MaxBytes: 64 << 20}
}

// openTest starts an embedded server on a free port.
func openTest(t testing.TB) *Bus {
	t.Helper()
	b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// provisionTest creates the resources of the test layout and returns its event
// stream.
func provisionTest(t testing.TB, b *Bus) jetstream.Stream {
	t.Helper()
	warnings, err := Provision(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Empty(t, warnings)
	return eventsOf(t, b.JS)
}

// eventsOf is the event stream of the test layout.
func eventsOf(t testing.TB, js jetstream.JetStream) jetstream.Stream {
	t.Helper()
	stream, err := js.Stream(t.Context(), testLayout().Stream)
	require.NoError(t, err)
	return stream
}

func TestConcurrentProcessesShareOneServer(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), porttest.Free(t)
	buses := make([]*Bus, 5)
	var started sync.WaitGroup
	for i := range buses {
		started.Go(func() {
			b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: port, DataDir: dir}, Log: quiet})
			if err == nil {
				_, err = Provision(t.Context(), b.JS, testLayout())
			}
			if err != nil {
				t.Error(err)
				return
			}
			buses[i] = b
		})
	}
	started.Wait()
	servers := 0
	for _, b := range buses {
		require.NotNil(t, b)
		if b.Embedded() {
			servers++
			defer b.Close()
		} else {
			b.Close()
		}
	}
	require.Equal(t, 1, servers)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	t.Run("address of another program", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
				_ = c.Close()
			}
		}()
		_, err = Open(t.Context(), Options{Embedded: natsserver.Options{Port: l.Addr().(*net.TCPAddr).Port, DataDir: t.TempDir()}, Log: quiet})
		require.ErrorIs(t, err, ErrNotNATS)
		require.ErrorContains(t, err, l.Addr().String()+": the program listening there does not answer as a NATS server")
	})
	t.Run("data directory of another server", func(t *testing.T) {
		dir := t.TempDir()
		b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: dir}, Log: quiet})
		require.NoError(t, err)
		defer b.Close()
		_, err = Open(t.Context(), Options{Embedded: natsserver.Options{Port: porttest.Free(t), DataDir: dir}, Log: quiet})
		require.ErrorIs(t, err, natsserver.ErrDataDirInUse)
		require.ErrorContains(t, err, b.URL())
	})
	t.Run("invalid configuration file", func(t *testing.T) {
		conf := filepath.Join(t.TempDir(), "nats.conf")
		require.NoError(t, os.WriteFile(conf, []byte("listen: {"), 0o600))
		_, err := Open(t.Context(), Options{Embedded: natsserver.Options{ConfFile: conf, DataDir: t.TempDir()}, Log: quiet})
		require.ErrorIs(t, err, natsserver.ErrConf)
	})
	t.Run("unreachable external server", func(t *testing.T) {
		_, err := Open(t.Context(), Options{URL: "nats://user:secret@127.0.0.1:" + strconv.Itoa(porttest.Free(t)), Log: quiet})
		require.ErrorIs(t, err, errUnreachable)
		require.NotContains(t, err.Error(), "secret")
	})
}

func TestRandomPortJoinsServerOfDataDirectory(t *testing.T) {
	t.Parallel()
	o := Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet}
	first, err := Open(t.Context(), o)
	require.NoError(t, err)
	defer first.Close()
	second, err := Open(t.Context(), o)
	require.NoError(t, err)
	defer second.Close()
	require.True(t, first.Embedded())
	require.False(t, second.Embedded())
	require.Contains(t, first.URL(), second.URL())
}

// attempts is a log handler that reports failed connection attempts.
type attempts struct {
	slog.Handler
	failed chan struct{}
}

func (*attempts) Enabled(context.Context, slog.Level) bool { return true }

func (a *attempts) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "waiting for the NATS server" {
		select {
		case a.failed <- struct{}{}:
		default:
		}
	}
	return nil
}

func TestOpenWaitsForAnExternalServer(t *testing.T) {
	t.Parallel()
	port := porttest.Free(t)
	log := &attempts{Handler: slog.DiscardHandler, failed: make(chan struct{}, 2)}
	type result struct {
		bus *Bus
		err error
	}
	opened := make(chan result, 1)
	go func() {
		b, err := Open(t.Context(), Options{URL: "nats://127.0.0.1:" + strconv.Itoa(port), Wait: true, Log: slog.New(log)})
		opened <- result{b, err}
	}()
	for range 2 {
		select {
		case <-log.failed:
		case r := <-opened:
			t.Fatalf("opened without a server: %v", r.err)
		}
	}
	srv, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: port, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	defer srv.Close()
	select {
	case r := <-opened:
		require.NoError(t, r.err)
		require.False(t, r.bus.Embedded())
		r.bus.Close()
	case <-time.After(time.Minute):
		t.Fatal("not opened with a server")
	}
}

func TestCheckJetStreamNamesTheCause(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{})
	b, err := Open(t.Context(), Options{URL: ns.ClientURL(), Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	require.ErrorIs(t, b.CheckJetStream(t.Context()), errNoJetStream)
}

func client(t testing.TB, b *Bus) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// The process that runs the server may end after it was found and before it is
// joined.
func TestOpenReplacesServerThatStopsBeforeJoin(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
		_ = l.Close()
	}()
	b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: l.Addr().(*net.TCPAddr).Port, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	defer b.Close()
	require.True(t, b.Embedded())
}
