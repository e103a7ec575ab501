//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(2, 2)
	g := s.gateway()
	type letter struct{ subject, body, dlq string }
	letters := []letter{
		{"openclaw.event.agent_end.main.s1", "this is not JSON \x00\xff", "openclaw.dlq.agent_end"},
		{"openclaw.event.after_tool_call.main.s1", `{"hook": "after_tool_call"}`, "openclaw.dlq.after_tool_call"},
		{"openclaw.event.agent_end.main.s1", `{"hook":"agent_end","event":{"messages":"none"},"ctx":{},"ts":1763680000123,"id":"x1"}`, "openclaw.dlq.agent_end"},
		{"openclaw.event.agent_end.main.s1", `[1, 2]`, "openclaw.dlq.agent_end"},
		{"openclaw.event.session_end.main.s1", ``, "openclaw.dlq.session_end"},
		{"openclaw.event.=zz.main.s1", `{`, "openclaw.dlq._"},
	}
	for _, l := range letters {
		msg := nats.NewMsg(l.subject)
		msg.Data = []byte(l.body)
		g.store(msg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := g.js.Stream(ctx, "OPENCLAW_EVENTS_DLQ")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := stream.Info(ctx)
		return err == nil && info.State.Msgs == uint64(len(letters))
	}, patient, tick)
	// Their order is undefined: they are found by stream sequence.
	found := map[letter]nats.Header{}
	for seq := range len(letters) {
		msg, err := stream.GetMsg(ctx, uint64(seq+1))
		require.NoError(t, err)
		found[letter{msg.Header.Get("Dlq-Subject"), string(msg.Data), msg.Subject}] = msg.Header
	}
	for _, l := range letters {
		require.Contains(t, found, l)
		require.NotEmpty(t, found[l].Get("Dlq-Reason"))
	}

	// Valid events are not delayed by them.
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there."})
	s.showsRun("s1", "r1", visible())
	g.drained()

	listed := func(t *testing.T) {
		t.Helper()
		r := s.run("dlq", "ls", "--json")
		require.Zero(t, r.code, r.stderr)
		var list []struct {
			Sequence        uint64
			Time            time.Time
			Hook            string
			Reason, Subject string
			Body            json.RawMessage
			BodyBase64      string
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &list), r.stdout)
		require.Len(t, list, len(letters))
		subjects := map[string]int{}
		for _, l := range list {
			require.NotEmpty(t, l.Reason)
			require.WithinDuration(t, time.Now(), l.Time, time.Minute)
			subjects[l.Subject]++
			if l.BodyBase64 != "" {
				_, err := base64.StdEncoding.DecodeString(l.BodyBase64)
				require.NoError(t, err)
			}
		}
		require.Equal(t, map[string]int{
			"openclaw.event.agent_end.main.s1": 3, "openclaw.event.after_tool_call.main.s1": 1,
			"openclaw.event.session_end.main.s1": 1, "openclaw.event.=zz.main.s1": 1,
		}, subjects)
	}
	t.Run("dlq ls while the system runs", listed)
	for _, one := range p {
		one.terminate()
	}
	for _, one := range p {
		require.Zero(t, one.wait(patient))
	}
	t.Run("dlq ls after it has stopped", listed)
}
