//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// load is the concurrent work of many sessions: their turns, and their events in
// random order, some of them twice.
type load struct {
	turns    []turn
	messages []*nats.Msg
	// calls are the tool calls of each run in the order of their ts.
	calls map[string][]string
	// answers and ends are the result and the time (Unix ms) of agent_end by run.
	answers map[string]string
	ends    map[string]int64
}

// newLoad makes a load of 40 events for each session: two turns, each of 19 tool
// calls and an end. A tenth of the events is repeated without the header that the
// server deduplicates by.
func newLoad(name string, sessions int) *load {
	l := &load{calls: map[string][]string{}, answers: map[string]string{}, ends: map[string]int64{}}
	r := rand.New(rand.NewPCG(1, 2)) // the same load every time
	began := time.Now().Add(-time.Hour).UnixMilli()
	for i := range sessions {
		session := fmt.Sprintf("%s-%02d", name, i)
		for n := range 2 {
			run := fmt.Sprintf("%s-r%d", session, n)
			start := began + int64(n)*60_000
			prompt := fmt.Sprintf("Please read note %d and tell me what it says.", n)
			l.turns = append(l.turns, turn{session: session, run: run, prompt: prompt, ts: start})
			var events []event
			for c := range 19 {
				id := fmt.Sprintf("%s-c%02d", run, c)
				named := run
				if c%10 == 3 {
					named = "" // old gateways do not say the run
				}
				// Each pair of calls has the same ts: their ids order them.
				events = append(events, toolCall(session, named, id, "read", start+10*int64(c/2+1)))
				l.calls[run] = append(l.calls[run], id)
			}
			l.answers[run], l.ends[run] = "It says "+run+".", start+1000
			events = append(events, agentEnd(session, run, prompt, l.answers[run], l.ends[run]))
			for _, e := range events {
				l.messages = append(l.messages, e.message())
				switch r.IntN(20) {
				case 0:
					again := e.message()
					again.Header.Del("Nats-Msg-Id")
					l.messages = append(l.messages, again)
				case 1:
					l.messages = append(l.messages, e.message())
				}
			}
		}
	}
	r.Shuffle(len(l.messages), func(i, j int) { l.messages[i], l.messages[j] = l.messages[j], l.messages[i] })
	r.Shuffle(len(l.turns), func(i, j int) { l.turns[i], l.turns[j] = l.turns[j], l.turns[i] })
	return l
}

// publishAll publishes messages and waits until all are acknowledged. progress is
// called with the number sent so far.
func (g *gateway) publishAll(messages []*nats.Msg, progress func(sent int)) error {
	var futures []jetstream.PubAckFuture
	for i, m := range messages {
		f, err := g.js.PublishMsgAsync(m)
		if err != nil {
			return err
		}
		futures = append(futures, f)
		progress(i + 1)
	}
	for i, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return fmt.Errorf("message %d: %w", i, err)
		case <-time.After(patient):
			return fmt.Errorf("message %d is not acknowledged", i)
		}
	}
	return nil
}

// askAll sends the requests of all turns, a few at a time, and again after a
// timeout. It returns the number of repetitions.
func (g *gateway) askAll(turns []turn, atOnce int) (again int, err error) {
	var (
		wait    sync.WaitGroup
		retries atomic.Int64
		next    atomic.Int64
		failure atomic.Value
	)
	for range atOnce {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(turns) {
					return
				}
				for attempt := 0; ; attempt++ {
					r, err := g.try(turns[i])
					if err == nil && r.hint == "" {
						err = fmt.Errorf("run %s got no hint: %v", turns[i].run, r.Header)
						failure.Store(err)
						return
					}
					if err == nil {
						break
					}
					if attempt == 5 || !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
						failure.Store(fmt.Errorf("run %s: %w", turns[i].run, err))
						return
					}
					retries.Add(1)
				}
			}
		})
	}
	wait.Wait()
	err, _ = failure.Load().(error)
	return int(retries.Load()), err
}

// holds compares all session files with the published events.
func (l *load) holds(t *testing.T, s *system) {
	t.Helper()
	for _, tr := range l.turns {
		d, there := s.document(tr.session)
		require.True(t, there, "no session file for %s", tr.session)
		require.Len(t, d.History, 1, "session %s", tr.session)
		require.Equal(t, tr.session+"-r0", d.History[0].RunID)
		require.NotNil(t, d.Current)
		require.Equal(t, tr.session+"-r1", d.Current.RunID)
		got, _ := d.turn(tr.run)
		require.Equal(t, tr.prompt, got.Input, "run %s", tr.run)
		require.NotNil(t, got.Intent, "run %s", tr.run)
		require.Equal(t, l.calls[tr.run], got.toolCallIDs(), "run %s: every tool call once, in order", tr.run)
		require.Equal(t, l.answers[tr.run], got.Result, "run %s", tr.run)
		require.True(t, sameTime(got.Timestamps.Start, tr.ts), "run %s begins at %s", tr.run, got.Timestamps.Start)
		require.True(t, sameTime(got.Timestamps.End, l.ends[tr.run]), "run %s ends at %s", tr.run, got.Timestamps.End)
	}
}

// run sends the load to the system. half is called when half of the events are
// sent.
func (l *load) run(t *testing.T, g *gateway, half func()) (retries int) {
	t.Helper()
	var (
		asking     sync.WaitGroup
		askErr     error
		publishErr error
	)
	asking.Go(func() { retries, askErr = g.askAll(l.turns, 4) })
	publishErr = g.publishAll(l.messages, func(sent int) {
		if sent == len(l.messages)/2 {
			half()
		}
	})
	asking.Wait()
	require.NoError(t, publishErr)
	require.NoError(t, askErr)
	return retries
}
