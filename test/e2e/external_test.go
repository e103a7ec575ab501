//go:build e2e

package e2e

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/internal/porttest"
)

// external is a NATS server in the test process.
type external struct {
	t    *testing.T
	opts server.Options
	ns   *server.Server
}

func newExternal(t *testing.T, port int) *external {
	t.Helper()
	return &external{t: t, opts: server.Options{
		ServerName: "external", Host: "127.0.0.1", Port: port,
		JetStream: true, StoreDir: filepath.Join(t.TempDir(), "jetstream"),
	}}
}

func (e *external) start() {
	e.t.Helper()
	e.ns = natstest.Start(e.t, &e.opts)
}

func (e *external) stop() {
	e.ns.Shutdown()
	e.ns.WaitForShutdown()
}

// newExternalSystem returns a system with an external server, which is not started.
func newExternalSystem(t *testing.T, given ...settings) (*system, *external) {
	t.Helper()
	port := porttest.Free(t)
	url := settings{"HINT_NATS_URL": "nats://127.0.0.1:" + strconv.Itoa(port), "HINT_NATS_PORT": ""}
	return newSystem(t, append([]settings{url}, given...)...), newExternal(t, port)
}

func TestExternalServer(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	processes := []*process{s.start(), s.start()}
	for _, p := range processes {
		p.logs("waiting for the NATS server", s.url())
		require.False(t, p.ended())
	}
	e.start()
	s.ready(2, processes...)
	g := s.gateway()
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there."})
	s.showsRun("s1", "r1", visible())

	// The server stops and starts again with its data.
	e.stop()
	for _, p := range processes {
		p.logs("NATS connection lost")
	}
	e.start()
	s.ready(2, processes...)
	require.Eventually(t, g.nc.IsConnected, patient, tick)
	r := g.ask(turn{session: "s1", run: "r2", prompt: "What is on my calendar tomorrow?"})
	require.NotEmpty(t, r.hint)
	now := time.Now().UnixMilli()
	g.publish(toolCall("s1", "r2", "call-1", "read", now), toolCall("s1", "r1", "call-0", "read", now+1))
	d := s.shows("s1", patient, "both turns with their calls", func(d document) bool {
		r1, _ := d.turn("r1")
		r2, _ := d.turn("r2")
		return len(r1.ToolCalls) == 1 && len(r2.ToolCalls) == 1
	})
	require.Equal(t, "r2", d.Current.RunID)
	require.False(t, exists(t, filepath.Join(s.env["HINT_DATA_DIR"], "jetstream")), "an embedded server has stored something")

	// After the recovery it is as fast as before.
	g.drained()
	g.publish(toolCall("s1", "r2", "call-2", "read", now+2))
	s.shows("s1", visible(), "the second call", func(d document) bool { return len(d.Current.ToolCalls) == 2 })
	for _, p := range processes {
		p.stop()
	}
}

func TestStopOnAnExternalServer(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	e.start()
	p := s.serve(1, 1)[0]
	// The server still runs, so there are no responders at once.
	require.Greater(t, stream(t, s.gateway(), p, noResponders), 100)
}

func TestServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	e.opts.JetStream = false
	e.start()
	p := s.start()
	require.Equal(t, 1, p.wait(patient))
	require.Contains(t, p.stderr.String(), "JetStream")
	require.Contains(t, p.stderr.String(), s.url())
}

func TestStopWhileWaitingForTheServer(t *testing.T) {
	t.Parallel()
	s, _ := newExternalSystem(t)
	p := s.start()
	p.logs("waiting for the NATS server")
	p.stop()
}

func TestOneModelCallAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Always(answered("OTHER", 300*time.Millisecond))
	s, e := newExternalSystem(t, m.settings("llm"))
	e.start()
	processes := s.serve(3, 3)
	e.stop()
	for _, p := range processes {
		p.logs("NATS connection lost")
	}
	e.start()
	s.ready(3, processes...)
	askOneRunAtOnce(t, s.gateway(), m)
}

// askOneRunAtOnce sends ten requests for one run at the same time. It expects one
// model call and the same answer to all.
func askOneRunAtOnce(t *testing.T, g *gateway, m model) {
	t.Helper()
	before := m.Count()
	tr := turn{session: unique("once"), run: unique("once"), prompt: "Hello there."}
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
	)
	sources := map[string]int{}
	bodies := map[string]int{}
	for range 10 {
		asking.Go(func() {
			r, err := g.try(tr)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				sources[err.Error()]++
				return
			}
			sources[r.Header.Get("Hint-Source")]++
			bodies[string(r.Data)]++
		})
	}
	asking.Wait()
	require.Equal(t, 1, m.Count()-before, "model calls; answers came from %v", sources)
	require.Equal(t, map[string]int{"llm": 1, "cache": 9}, sources)
	require.Len(t, bodies, 1)
}
