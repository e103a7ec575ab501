//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// lostByKill is how long before the death of a process a turn may have been
// answered and still be missing. It was not on the disk yet, or was lost with the
// server: then its process sends it again when no acknowledgement has come for
// five seconds.
const lostByKill = 7 * time.Second

// TestEmbeddedServerFaults does what befalls a machine with several consumers
// and the server inside one of them: that process is killed, stopped or paused,
// the disk fills and empties, in random order, while turns and events come in.
// In the end every turn that was answered and every event that was acknowledged
// stands in its session, once.
func TestEmbeddedServerFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testEmbeddedServerFaults(t, kind)
		})
	}
}

func testEmbeddedServerFaults(t *testing.T, kind string) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSystem(t, settings{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "100000", "HINT_STREAM_MAX_BYTES": "33554432"})
	smallDisk(t, s.env["HINT_DATA_DIR"], 128<<20)
	s.serve(3, 3)

	type told struct {
		run  string
		at   time.Time // of the answer
		call bool
	}
	const workers = 6
	var (
		ending  atomic.Bool
		working sync.WaitGroup
		all     [workers][]told
	)
	now := time.Now().UnixMilli()
	for w := range workers {
		g := s.gateway(nats.RetryOnFailedConnect(true))
		working.Go(func() {
			session := fmt.Sprintf("nem-%d", w)
			for k := 0; !ending.Load(); k++ {
				run, ts := fmt.Sprintf("%s-r%d", session, k), now+int64(1000*k)
				entry := told{run: run}
				for !ending.Load() {
					if _, err := g.try(turn{session: session, run: run, prompt: "Hello there.", ts: ts, budget: time.Second}); err == nil {
						entry.at = time.Now()
						break
					}
					time.Sleep(tick)
				}
				if entry.at.IsZero() {
					return
				}
				for until := time.Now().Add(patient); time.Now().Before(until) && !entry.call; {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					_, err := g.js.PublishMsg(ctx, toolCall(session, run, run+"-c", "read", ts+1).message())
					cancel()
					if entry.call = err == nil; !entry.call {
						time.Sleep(tick)
					}
				}
				all[w] = append(all[w], entry)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}

	// The process with the server is the one that has started it last.
	var kills []time.Time
	for range 6 {
		time.Sleep(time.Duration(500+random.IntN(1000)) * time.Millisecond)
		running := s.running()
		p := running[random.IntN(len(running))]
		switch fault := random.IntN(4); fault {
		case 0:
			t.Log("kill", time.Now())
			kills = append(kills, time.Now())
			p.kill()
			s.start()
		case 1:
			t.Log("stop", time.Now())
			p.stop()
			s.start()
		case 2:
			t.Log("pause", time.Now())
			p.pause()
			time.Sleep(2 * time.Second)
			p.resume()
		default:
			t.Log("full disk", time.Now())
			ballast, _ := fill(t, s.env["HINT_DATA_DIR"])
			time.Sleep(3 * time.Second)
			require.NoError(t, os.Remove(ballast))
			// What was answered meanwhile waits in the processes for so long
			// (contract §9). A process that is killed before loses it.
			time.Sleep(10 * time.Second)
		}
		s.ready(3)
	}
	time.Sleep(time.Second)
	ending.Store(true)
	working.Wait()

	g := s.gateway()
	worked(t, g.js, patient)
	exported := s.in(t)
	exported.env = settings{"HINT_DATA_DIR": filepath.Join(s.dir, "export")}
	r := s.run("sessions", "export", exported.sessionsDir())
	require.Zero(t, r.code, r.stderr)
	turns := 0
	for w := range workers {
		session := fmt.Sprintf("nem-%d", w)
		d, there := exported.document(session)
		require.True(t, there)
		for _, entry := range all[w] {
			turns++
			got, there := d.turn(entry.run)
			if !there {
				killed := false
				for _, at := range kills {
					killed = killed || entry.at.Before(at.Add(time.Second)) && at.Before(entry.at.Add(lostByKill))
				}
				require.True(t, killed, "turn %s, answered at %s, is missing", entry.run, entry.at)
				continue
			}
			if entry.call {
				require.Equal(t, []string{entry.run + "-c"}, got.toolCallIDs(), entry.run)
			}
		}
	}
	t.Logf("%d turns", turns)
	require.Greater(t, turns, 100)
}
