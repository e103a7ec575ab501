//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// owner returns the process that runs the embedded server, and the others.
func owner(t *testing.T, processes []*process) (first *process, others []*process) {
	t.Helper()
	for _, p := range processes {
		if p.logged("embedded NATS server started") {
			require.Nil(t, first, "two servers")
			first = p
		} else {
			others = append(others, p)
		}
	}
	require.NotNil(t, first)
	return first, others
}

// TestAnotherProcessStartsTheServerAgain kills the process that runs the
// embedded server while turns and events come in. Another one starts the server
// within five seconds; a process of another directory, started meanwhile, does
// not become the system; every session is whole in the end (contract §9).
func TestAnotherProcessStartsTheServerAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	processes := s.serve(3, 3)
	dead, others := owner(t, processes)
	const sessions, turns = 20, 6
	now := time.Now().UnixMilli()
	name := func(i int) string { return fmt.Sprintf("heir-%02d", i) }
	// A gateway tells each event until the stream has it, and tells a turn whose
	// request got no answer as an event (contract §8). Here it asks again.
	tell := func(g *gateway, msg *nats.Msg) {
		for until := time.Now().Add(patient); ; {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := g.js.PublishMsg(ctx, msg)
			cancel()
			if err == nil || time.Now().After(until) {
				return
			}
			time.Sleep(tick)
		}
	}
	// storing is how far the server may be behind with what it was given, on a busy
	// machine.
	const storing = 250 * time.Millisecond
	var (
		working  sync.WaitGroup
		mu       sync.Mutex
		answered = make(map[string]time.Time) // by run
	)
	half := make(chan struct{}, sessions)
	for i := range sessions {
		g := s.gateway()
		working.Go(func() {
			for k := range turns {
				if k == turns/2 {
					half <- struct{}{}
				}
				run, ts := fmt.Sprintf("%s-r%d", name(i), k), now+int64(1000*k)
				for until := time.Now().Add(patient); time.Now().Before(until); time.Sleep(tick) {
					if _, err := g.try(turn{session: name(i), run: run, prompt: "Hello there.", ts: ts, budget: time.Second}); err == nil {
						mu.Lock()
						answered[run] = time.Now()
						mu.Unlock()
						break
					}
				}
				tell(g, toolCall(name(i), run, run+"-c", "read", ts+1).message())
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	<-half
	killing := time.Now()
	dead.kill()
	killed := time.Now()
	stranger := s.in(t)
	stranger.env = maps.Clone(s.env)
	stranger.env["HINT_DATA_DIR"] = filepath.Join(t.TempDir(), "elsewhere")
	other := stranger.start()

	g := s.gateway(nats.RetryOnFailedConnect(true))
	require.Eventually(t, func() bool {
		_, err := g.try(turn{session: "after", run: unique("after"), prompt: "Hello there.", budget: time.Second})
		return err == nil
	}, patient, tick)
	t.Logf("answers again after %s", time.Since(killed).Round(time.Millisecond))
	require.Equal(t, 1, other.wait(patient))
	require.Contains(t, other.stderr.String(), s.sessionsDir())
	require.Contains(t, other.stderr.String(), stranger.sessionsDir())
	require.Eventually(t, func() bool {
		return others[0].logged("started it here") != others[1].logged("started it here")
	}, patient, tick, "one of the others has started the server")

	working.Wait()
	worked(t, g.js, patient)
	for i := range sessions {
		s.shows(name(i), patient, "all turns with their calls", func(d document) bool {
			for k := range turns {
				run := fmt.Sprintf("%s-r%d", name(i), k)
				turn, there := d.turn(run)
				// The server may have passed the reply on before it died, and not have stored
				// the turn yet: nobody waits for that (contract §2).
				if at := answered[run]; !there && at.After(killing.Add(-storing)) && at.Before(killed) {
					continue
				}
				if !there || len(turn.ToolCalls) != 1 {
					return false
				}
			}
			return true
		})
	}
	for _, p := range others {
		p.stop()
	}
}

// TestAGracefulStopHandsTheServerOver stops the process with the server as an
// update does.
func TestAGracefulStopHandsTheServerOver(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	first, others := owner(t, s.serve(2, 2))
	s.gateway().ask(turn{session: "s", run: "r1", prompt: "Hello there."})
	first.stop()
	g := s.gateway(nats.RetryOnFailedConnect(true))
	require.Eventually(t, func() bool {
		_, err := g.try(turn{session: "s", run: "r2", prompt: "Hello there.", budget: time.Second})
		return err == nil
	}, patient, tick)
	s.showsRun("s", "r1", patient)
	s.showsRun("s", "r2", patient)
	others[0].stop()
}

// TestAnotherStoreDoesNotJoin starts a process from another directory, and one
// with a bucket, beside a running system.
func TestAnotherStoreDoesNotJoin(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1)
	for name, given := range map[string]settings{
		"another directory":     {"HINT_DATA_DIR": filepath.Join(t.TempDir(), "data")},
		"a bucket beside files": {"HINT_STORE": "kv"},
	} {
		t.Run(name, func(t *testing.T) {
			other := s.in(t)
			other.env = maps.Clone(s.env)
			maps.Copy(other.env, given)
			r := other.run()
			require.Equal(t, 1, r.code, r.stderr)
			for _, text := range []string{s.sessionsDir(), "HINT_NATS_PORT", "HINT_STREAM"} {
				require.Contains(t, r.stderr, text)
			}
		})
	}
}
