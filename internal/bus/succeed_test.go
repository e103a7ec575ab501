package bus

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natsserver"
	"intenthint/internal/porttest"
)

// within is the time of contract §9 in which a server is started again.
const within = 5 * time.Second

// process opens a bus as a consumer process does, with the id of its system.
func process(t *testing.T, dir string, port int) *Bus {
	t.Helper()
	b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: port, DataDir: dir}, Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// named provisions the test layout for a system.
func named(t *testing.T, b *Bus, id string) {
	t.Helper()
	l := testLayout()
	l.System = System{ID: id, Store: "file", Place: "host:/sessions"}
	_, err := Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	found, _, err := ReadSystem(t.Context(), b.JS, l)
	require.NoError(t, err)
	b.Belong(l.Stream, found.ID)
}

func TestServerOfADeadProcessIsStartedByAnother(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	first := process(t, dir, port)
	named(t, first, "one")
	second, third := process(t, dir, port), process(t, dir, port)
	for _, b := range []*Bus{second, third} {
		require.False(t, b.Embedded())
		named(t, b, "another")
	}
	_, err := first.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	url := first.URL()
	first.Close()

	require.Eventually(t, func() bool { return second.Embedded() || third.Embedded() }, within, 10*time.Millisecond)
	for _, b := range []*Bus{second, third} {
		require.Eventually(t, b.NC.IsConnected, within, 10*time.Millisecond)
		require.EqualValues(t, 1, eventsOf(t, b.JS).CachedInfo().State.Msgs, "nothing that was acknowledged is missing")
		require.Equal(t, url, b.URL())
	}
	require.NotEqual(t, second.Embedded(), third.Embedded(), "one of them runs the server")

	last, gone := second, third
	if third.Embedded() {
		last, gone = third, second
	}
	last.Close()
	require.Eventually(t, func() bool { return gone.Embedded() && gone.NC.IsConnected() }, within, 10*time.Millisecond, "and then the other")
}

// While the processes of a system wait for their server, one of another
// directory must not take its address.
func TestAddressOfADeadServerStaysWithItsSystem(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, port := t.TempDir(), porttest.Free(t)
	first := process(t, dir, port)
	named(t, first, "one")
	// A member that does not start the server, as one that is slow.
	member := natsserver.Join(natsserver.Options{Port: port, DataDir: dir}, first.URL(), quiet)
	require.NotNil(t, member)
	first.Close()

	joined := make(chan *Bus, 1)
	go func() {
		b, err := Open(t.Context(), Options{Embedded: natsserver.Options{Port: port, DataDir: t.TempDir()}, Wait: true, Log: quiet})
		if err != nil {
			t.Error(err)
		}
		joined <- b
	}()
	select {
	case <-joined:
		require.FailNow(t, "a process of another directory has taken the address")
	case <-time.After(500 * time.Millisecond):
	}
	srv, err := member.Restart()
	require.NoError(t, err)
	require.NotNil(t, srv)
	t.Cleanup(srv.Stop)
	stranger := <-joined
	require.NotNil(t, stranger)
	t.Cleanup(stranger.Close)
	require.False(t, stranger.Embedded())
	found, _, err := ReadSystem(t.Context(), stranger.JS, testLayout())
	require.NoError(t, err)
	require.Equal(t, "one", found.ID)
}

func TestServersOfOtherDirectoriesAreNotStartedAgain(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	port := porttest.Free(t)
	first := process(t, t.TempDir(), port)
	named(t, first, "one")
	require.Nil(t, natsserver.Join(natsserver.Options{Port: port, DataDir: t.TempDir()}, first.URL(), quiet))
}

func TestAnotherSystemsServerIsNotUsed(t *testing.T) {
	t.Parallel()
	o := &server.Options{Host: "127.0.0.1", Port: porttest.Free(t), JetStream: true, NoLog: true, NoSigs: true}
	start := func(id string) (stop func()) {
		o := o.Clone()
		o.StoreDir = t.TempDir()
		ns, err := server.NewServer(o)
		require.NoError(t, err)
		go ns.Start()
		require.True(t, ns.ReadyForConnections(10*time.Second))
		b, err := Open(t.Context(), Options{URL: ns.ClientURL(), Log: quiet})
		require.NoError(t, err)
		named(t, b, id)
		b.Close()
		stop = func() { ns.Shutdown(); ns.WaitForShutdown() }
		t.Cleanup(stop)
		return stop
	}
	stop := start("ours")
	b, err := Open(t.Context(), Options{URL: "nats://" + dialed(o), Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	named(t, b, "ours")
	other, err := b.Another(t.Context(), "events")
	require.NoError(t, err)
	t.Cleanup(other.Close)
	require.NoError(t, b.Check(t.Context()))

	stop()
	stop = start("theirs")
	require.Eventually(t, func() bool { return errors.Is(b.Check(t.Context()), ErrOtherSystem) }, within, 10*time.Millisecond)
	require.ErrorContains(t, b.Check(t.Context()), "theirs")
	require.Eventually(t, func() bool { return !b.NC.IsConnected() && !other.NC.IsConnected() }, within, 10*time.Millisecond)
	require.Never(t, func() bool { return b.NC.IsConnected() || other.NC.IsConnected() }, time.Second, 10*time.Millisecond)

	stop()
	start("ours")
	require.Eventually(t, func() bool { return b.NC.IsConnected() && other.NC.IsConnected() }, 2*within, 10*time.Millisecond)
	require.NoError(t, b.Check(t.Context()))
}

// A server without JetStream cannot tell whose it is. It is asked again until
// it can.
func TestAServerThatCannotTellIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	named(t, b, "theirs")
	far, err := Open(t.Context(), Options{URL: b.URL(), Wait: true, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(far.Close)
	far.Belong(testLayout().Stream, "ours")
	far.system.found(nil, true, quiet)
	far.verify(far.NC)
	require.Eventually(t, func() bool { return errors.Is(far.Check(context.Background()), ErrOtherSystem) }, within, 10*time.Millisecond)
	require.Eventually(t, func() bool { return !far.NC.IsConnected() }, within, 10*time.Millisecond)
}

func TestIdentityIsWrittenBesideOtherMetadata(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	config := stream.CachedInfo().Config
	config.Metadata = map[string]string{"owner": "operations"}
	_, err := b.JS.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	found, alive, err := ReadSystem(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Zero(t, found)
	require.False(t, alive)
	one := System{ID: "one", Store: "kv", Place: "host:/dir"}
	written, err := WriteSystem(t.Context(), b.JS, testLayout(), one)
	require.NoError(t, err)
	require.Equal(t, one, written)
	found, _, err = ReadSystem(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Equal(t, one, found)
	require.Equal(t, "operations", eventsOf(t, b.JS).CachedInfo().Config.Metadata["owner"])
	layout := testLayout()
	layout.System = System{ID: "two", Store: "kv"} // the store is the same
	targets, err := Plan(t.Context(), b.JS, layout)
	require.NoError(t, err)
	for _, target := range targets {
		require.True(t, target.InOrder(), "%+v", target)
	}
}

// dialed is the address of a server with the options.
func dialed(o *server.Options) string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

func TestPlanNamesASystemWithoutAName(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	layout := testLayout()
	layout.System = System{ID: "one", Store: "kv"}
	warnings, err := Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	require.Empty(t, warnings, "whoever starts names it")
	targets, err := Plan(t.Context(), b.JS, layout)
	require.NoError(t, err)
	require.Len(t, targets[0].Differences, 1)
	require.NoError(t, Apply(t.Context(), b.JS, targets[0], false))
	found, _, err := ReadSystem(t.Context(), b.JS, layout)
	require.NoError(t, err)
	require.Equal(t, layout.System, found)

	layout.System = System{ID: "two", Store: "file"}
	targets, err = Plan(t.Context(), b.JS, layout)
	require.NoError(t, err)
	require.NoError(t, Apply(t.Context(), b.JS, targets[0], false), "nothing is lost yet")
	layout.System.Store = "kv"
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	targets, err = Plan(t.Context(), b.JS, layout)
	require.NoError(t, err)
	require.ErrorIs(t, Apply(t.Context(), b.JS, targets[0], false), errLoses)
	require.NoError(t, Apply(t.Context(), b.JS, targets[0], true))
}

// Processes that find a stream without a name may name it at the same moment.
func TestProcessesNameAStreamAlike(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	names := make([]System, 4)
	var naming sync.WaitGroup
	for i := range names {
		naming.Go(func() {
			var err error
			if names[i], err = WriteSystem(t.Context(), b.JS, testLayout(), System{Store: "kv"}); err != nil {
				t.Error(err)
			}
		})
	}
	naming.Wait()
	for _, s := range names {
		require.Len(t, s.ID, 22)
		require.Equal(t, names[0], s)
	}
	found, _, err := ReadSystem(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Equal(t, names[0], found)
}
