//go:build e2e

package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnsweredTurnsOutliveTheirProcess kills a process during requests, several
// times. Every turn that it answered is in the stream: it was published before
// the reply (contract §2), and the server still runs.
func TestAnsweredTurnsOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_NATS_PORT": "", "HINT_NATS_URL": newExternalProcess(t)})
	const rounds, workers = 6, 6
	var (
		mu       sync.Mutex
		answered []string
	)
	for round := range rounds {
		p := s.serve(1, 1)[0]
		var asking sync.WaitGroup
		for worker := range workers {
			g := s.gateway()
			asking.Go(func() {
				for i := 0; ; i++ {
					run := fmt.Sprintf("k%d-%d-%d", round, worker, i)
					_, err := g.try(turn{session: "killed", run: run, prompt: "Hello there.", budget: time.Second})
					if err != nil {
						return
					}
					mu.Lock()
					answered = append(answered, run)
					mu.Unlock()
				}
			})
		}
		before := len(answered)
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(answered) > before+10*workers
		}, patient, time.Millisecond)
		p.kill()
		asking.Wait()
	}
	// Many at once: turns without an acknowledgement were sent before the
	// replies, too.
	const burst = 1500
	p := s.serve(1, 1)[0]
	g := s.gateway()
	inbox := g.nc.NewInbox()
	replies, err := g.nc.SubscribeSync(inbox + ".*")
	require.NoError(t, err)
	for i := range burst {
		msg := turn{session: fmt.Sprintf("burst-%d", i%50), run: fmt.Sprintf("b%d", i), prompt: "Hello there.", budget: 20 * time.Second}.message()
		msg.Reply = fmt.Sprintf("%s.b%d", inbox, i)
		require.NoError(t, g.nc.PublishMsg(msg))
	}
	for hints := 0; hints < burst/2; {
		m, err := replies.NextMsg(patient)
		require.NoError(t, err)
		if m.Header.Get("Hint-Intent") != "" {
			answered = append(answered, m.Subject[len(inbox)+1:])
			hints++
		}
	}
	p.kill()
	begun := map[string]bool{}
	for _, e := range streamed(t, s.gateway().js) {
		begun[e.Run] = true
	}
	var missing []string
	for _, run := range answered {
		if !begun[run] {
			missing = append(missing, run)
		}
	}
	require.Empty(t, missing, "of %d turns that were answered", len(answered))
}
