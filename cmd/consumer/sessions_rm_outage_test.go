package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/internal/events"
	"intenthint/internal/natstest"
)

// The server goes away after each of the messages of a removal, one after the other. The
// command says one thing: that a session is removed, or that it is not gone and what to
// do. It never says both, and what it says is so.
func TestSessionsRmDuringAnOutage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for timeouts")
	}
	ns := natstest.Start(t, &server.Options{JetStream: true, StoreDir: t.TempDir()})
	s := start(t, map[string]string{"HINT_STORE": "kv", "HINT_NATS_URL": ns.ClientURL()})
	const most = 130 // more messages than a removal sends
	name := func(cut int) string { return fmt.Sprintf("s-%02d", cut) }
	for cut := range most + 1 {
		for _, run := range []string{"r1", "r2"} {
			s.Ask(s.Prompt(name(cut), run, "Hello there."), time.Minute)
		}
	}
	s.Eventually("all events are applied", func() bool {
		place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Last > 2*most && place.Applied == place.Last
	})
	rm := func(url, session string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = s.env.with("HINT_NATS_URL", url).run(t.Context(), []string{"sessions", "rm", "--yes", session}, &out, &errs)
		return code, out.String(), errs.String()
	}
	var sent atomic.Int64
	all := natstest.Through(t, ns, func(chunk []byte) []byte { sent.Add(1); return chunk })
	code, out, errs := rm(all, name(most))
	require.Zero(t, code, errs)
	require.Contains(t, out, "removed "+name(most)+": ")
	messages := int(sent.Load())
	require.Greater(t, messages, 10)
	require.LessOrEqual(t, messages, most)

	type outcome struct {
		code      int
		out, errs string
	}
	outcomes := make([]outcome, messages)
	var work sync.WaitGroup // they wait most of the time
	for cut := range messages {
		var seen atomic.Int64
		away := natstest.Through(t, ns, func(chunk []byte) []byte {
			if seen.Add(1) > int64(cut) {
				return nil
			}
			return chunk
		})
		work.Go(func() {
			code, out, errs := rm(away, name(cut))
			outcomes[cut] = outcome{code, out, errs}
		})
	}
	work.Wait()
	times := map[string]int{}
	for cut, o := range outcomes {
		session := name(cut)
		removed, left := strings.Contains(o.out, "removed "+session+": "), strings.Contains(o.errs, "is not gone")
		require.False(t, removed && left, "both, after %d messages:\n%s%s", cut, o.out, o.errs)
		switch {
		case removed && o.code == 0:
			times["removed"]++
		case removed && strings.Contains(o.errs, "only this key"):
			require.Contains(t, o.errs, "run consumer sessions rm agent:main:telegram:direct:"+session, "what remains to do, after %d messages", cut)
			times["removed but for the key"]++
		case removed:
			require.Contains(t, o.errs, "running consumers still remember", "what remains to do, after %d messages", cut)
			times["removed, consumers not told"]++
		case left:
			require.Contains(t, o.errs, "run consumer sessions rm again for it")
			require.Equal(t, 1, strings.Count(o.errs, "run consumer sessions rm"), "one thing, after %d messages: %s", cut, o.errs)
			times["not gone"]++
		default:
			require.Equal(t, exitFailed, o.code)
			require.NotEmpty(t, o.errs)
			times["not begun"]++
		}
		code, out, errs := rm(ns.ClientURL(), session)
		if removed {
			require.Equal(t, exitFailed, code, "after %d messages it was removed, and there is more: %s", cut, out)
			require.Contains(t, errs, "no session")
			continue
		}
		if code == 0 {
			require.Contains(t, out, "removed "+session+": ", "after %d messages", cut)
			continue
		}
		require.Contains(t, errs, "no session", "after %d messages only the dead letters were left", cut)
	}
	t.Log(times)
	require.Positive(t, times["not begun"])
	require.Positive(t, times["not gone"])
}
