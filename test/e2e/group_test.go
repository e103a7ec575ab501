//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProcessesStartedTogetherShareTheWork(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	processes := s.serve(5, 5)
	require.Len(t, ping(s.url(), 100, time.Second), 5)
	servers, joined := 0, 0
	for _, p := range processes {
		if p.logged("server started") {
			servers++
		}
		if p.logged("joined") {
			joined++
		}
	}
	require.Equal(t, 1, servers, "one process runs the server")
	require.Equal(t, 4, joined, "the others join it")

	g := s.gateway()
	l := newLoad("shared", 50)
	require.GreaterOrEqual(t, len(l.messages), 2000)
	require.Zero(t, l.run(t, g, func() {}), "repeated requests")
	for _, tr := range l.turns {
		s.showsRun(tr.session, tr.run, patient)
	}
	g.drained()
	l.holds(t, s)
	require.Len(t, s.sessions(), 50)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	letters, err := g.js.Stream(ctx, "OPENCLAW_EVENTS_DLQ")
	require.NoError(t, err)
	require.Zero(t, letters.CachedInfo().State.Msgs, "dead letters")
}

func TestKilledProcessUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1) // with the server
	others := s.serve(2, 3)
	g := s.gateway()
	l := newLoad("killed", 50)
	stopReading := s.readsOnlyJSON()
	retries := l.run(t, g, func() { others[0].kill() })
	require.LessOrEqual(t, retries, 4, "repeated requests: at most one of each requester, held by the killed process")
	for _, tr := range l.turns {
		s.showsRun(tr.session, tr.run, patient)
	}
	g.drained() // its events go to the others after AckWait
	stopReading()
	l.holds(t, s)
	require.Len(t, ping(s.url(), 100, time.Second), 2)

	// The others answer as before.
	for i := range 20 {
		r := g.ask(turn{session: "after", run: fmt.Sprintf("after-%d", i), prompt: "Hello there."})
		require.NotEmpty(t, r.hint)
	}
	require.Zero(t, others[1].cmd.ProcessState, "the other process still runs")
}

// readsOnlyJSON reads the session files again and again until the returned
// function is called, and fails the test when one is not valid JSON.
func (s *system) readsOnlyJSON() (stop func()) {
	var (
		reading sync.WaitGroup
		end     atomic.Bool
		broken  []string
		read    int
	)
	reading.Go(func() {
		pace := time.NewTicker(tick)
		defer pace.Stop()
		for !end.Load() {
			<-pace.C
			paths, _ := filepath.Glob(filepath.Join(s.sessionsDir(), "*.json"))
			for _, path := range paths {
				data, err := os.ReadFile(path)
				read++
				if err != nil || !json.Valid(data) {
					broken = append(broken, fmt.Sprintf("%s: %v %.200q", path, err, data))
				}
			}
		}
	})
	return func() {
		s.t.Helper()
		end.Store(true)
		reading.Wait()
		require.Empty(s.t, broken)
		require.NotZero(s.t, read)
	}
}

func TestKilledServerUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_LOG_LEVEL": "debug"})
	first := s.serve(1, 1)[0]
	others := s.serve(2, 3)
	g := s.gateway()
	l := newLoad("orphaned", 10)
	half := len(l.messages) / 2
	require.NoError(t, g.publishAll(l.messages[:half], func(int) {}))
	_, err := g.askAll(l.turns[:len(l.turns)/2], 2)
	require.NoError(t, err)
	for _, tr := range l.turns[:len(l.turns)/2] {
		s.showsRun(tr.session, tr.run, patient)
	}

	// Turns that are not acknowledged yet: those of the killed process may be
	// lost, those of the others may not.
	var last []turn
	for i := range 30 {
		tr := turn{session: "last", run: fmt.Sprintf("last-%02d-", i), prompt: "Hello there.", ts: time.Now().UnixMilli()}
		last = append(last, tr)
		g.ask(tr)
	}
	first.kill()
	for _, p := range others {
		p.logs("NATS connection lost")
		require.False(t, p.ended())
	}
	s.start() // the other two reconnect to it
	s.ready(3)
	require.Eventually(t, g.nc.IsConnected, patient, tick)
	kept := 0
	for _, tr := range last {
		if others[0].logged(tr.run) || others[1].logged(tr.run) {
			s.showsRun(tr.session, tr.run, patient)
			kept++
		}
	}
	require.NotZero(t, kept)

	require.NoError(t, g.publishAll(l.messages[half:], func(int) {}))
	_, err = g.askAll(l.turns[len(l.turns)/2:], 2)
	require.NoError(t, err)
	for _, tr := range l.turns {
		s.showsRun(tr.session, tr.run, patient)
	}
	g.drained()
	l.holds(t, s)
}

func TestStopUnderRequests(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1) // with the server, so that it stays
	g := s.gateway()
	t.Run("one process of two", func(t *testing.T) {
		leaving := s.serve(1, 2)[0]
		n := stream(t, g, leaving, func(error) bool { return false })
		require.Greater(t, n, 100)
	})
	t.Run("the last one, with the server", func(t *testing.T) {
		s := newSystem(t)
		last := s.serve(1, 1)[0]
		n := stream(t, s.gateway(), last, noResponders)
		require.Greater(t, n, 100)
	})
}

// stream sends many hundred requests a second, terminates the process meanwhile,
// and returns the number of answers. over reports whether an error ends the
// stream; any other error is a request without an answer.
func stream(t *testing.T, g *gateway, p *process, over func(error) bool) int {
	t.Helper()
	var (
		answers, unanswered atomic.Int64
		end                 atomic.Bool
		asking              sync.WaitGroup
		first               sync.Once
		cause               error
	)
	for worker := range 8 {
		asking.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for i := 0; !end.Load(); i++ {
				<-pace.C
				name := fmt.Sprintf("%s-%d-%d", token(t.Name()), worker, i)
				_, err := g.try(turn{session: fmt.Sprintf("stream-%d", worker), run: name, prompt: "Hello there."})
				switch {
				case err == nil:
					answers.Add(1)
				case over(err):
					return
				default:
					unanswered.Add(1)
					first.Do(func() { cause = err })
				}
			}
		})
	}
	require.Eventually(t, func() bool { return answers.Load() > 100 }, patient, tick)
	began := time.Now()
	p.terminate()
	code := p.wait(patient)
	require.Less(t, time.Since(began), 10*time.Second, "a stop without work is fast")
	end.Store(true)
	asking.Wait()
	require.Zero(t, code, "exit code:\n%s", p.stderr.tail())
	require.Zero(t, unanswered.Load(), "requests without an answer, %v", cause)
	return int(answers.Load())
}

func TestStopWaitsForAModel(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.Always(answered("OTHER", time.Second))
	s := newSystem(t, m.settings("llm"))
	p := s.serve(1, 1)[0]
	g := s.gateway()
	const requests = 20
	var asking sync.WaitGroup
	replies := make([]reply, requests)
	failures := make([]error, requests)
	for i := range requests {
		asking.Go(func() {
			replies[i], failures[i] = g.try(turn{session: fmt.Sprintf("slow-%d", i), run: fmt.Sprintf("slow-%d", i), prompt: fmt.Sprintf("Hello there, number %d.", i)})
		})
	}
	require.Eventually(t, func() bool { return m.Count() == requests }, patient, tick)
	p.terminate()
	asking.Wait()
	require.Zero(t, p.wait(patient))
	for i := range requests {
		require.NoError(t, failures[i])
		require.Equal(t, "llm", replies[i].Header.Get("Hint-Source"), "%v", replies[i].Header)
	}

	// No turn is lost: the rest is applied now.
	s.serve(1, 1)
	for i := range requests {
		s.showsRun(fmt.Sprintf("slow-%d", i), fmt.Sprintf("slow-%d", i), patient)
	}
}
