//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// handled are the decision hooks that a consumer handles.
var handled = []string{"before_prompt_build"}

func TestRequestsWithoutAHandler(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(2, 2)
	g := s.gateway()
	for _, row := range []struct{ name, hook string }{
		{"a decision hook", "before_tool_call"},
		{"a newer decision hook", "before_dispatch"},
		{"an observation hook", "agent_end"},
		{"an unknown hook", "after_lunch"},
	} {
		t.Run(row.name, func(t *testing.T) {
			began := time.Now()
			r, err := g.nc.Request("openclaw.request."+row.hook+".main", []byte(`{"hook":"`+row.hook+`","event":{},"ctx":{}}`), patient)
			require.True(t, noResponders(err), "%v, %v", err, r)
			require.Less(t, time.Since(began), time.Second, "no responders, at once")
		})
	}
	require.NotEmpty(t, g.ask(turn{session: "s1", run: "r1", prompt: "Hello there."}).hint)
}

func TestOtherServicesAreNotRaced(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(2, 2)
	g := s.gateway()
	const requests, verdict = 200, `{"block":true,"blockReason":"not on Sundays"}`
	for _, row := range []struct {
		name, agent string
		after       time.Duration
	}{
		{"a fast service", "prompt", 0},
		{"a slow service", "slow", 5 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			service := s.in(t).gateway().nc
			_, err := service.Subscribe("openclaw.request.before_tool_call.*", func(m *nats.Msg) {
				time.AfterFunc(row.after, func() { _ = m.Respond([]byte(verdict)) })
			})
			require.NoError(t, err)
			require.NoError(t, service.Flush())

			replies, err := g.nc.SubscribeSync(g.nc.NewInbox())
			require.NoError(t, err)
			for range requests {
				require.NoError(t, g.nc.PublishRequest("openclaw.request.before_tool_call."+row.agent, replies.Subject, []byte(`{"hook":"before_tool_call","event":{"toolName":"exec"},"ctx":{}}`)))
			}
			for i := range requests {
				m, err := replies.NextMsg(patient)
				require.NoError(t, err, "reply %d", i+1)
				require.JSONEq(t, verdict, string(m.Data), "reply %d", i+1)
			}
			// A consumer would have answered by now.
			require.NotEmpty(t, g.ask(turn{session: row.agent, run: row.agent, prompt: "Hello there."}).hint)
			pending, _, err := replies.Pending()
			require.NoError(t, err)
			require.Zero(t, pending, "a request has one reply")
		})
	}
}

func TestServiceListsTheHandledHooks(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1)
	m, err := s.gateway().nc.Request("$SRV.INFO.intent-hint", nil, patient)
	require.NoError(t, err)
	var info struct {
		Endpoints []struct {
			Name       string `json:"name"`
			Subject    string `json:"subject"`
			QueueGroup string `json:"queue_group"`
		} `json:"endpoints"`
	}
	require.NoError(t, json.Unmarshal(m.Data, &info))
	var want, got []string
	for _, hook := range handled {
		want = append(want, "openclaw.request."+hook+".*")
	}
	for _, e := range info.Endpoints {
		if strings.HasPrefix(e.Subject, "openclaw.request.") {
			got = append(got, e.Subject)
			require.Equal(t, "intent-hint", e.QueueGroup, e.Name)
		}
	}
	require.ElementsMatch(t, want, got, "one endpoint for each hook: %s", m.Data)
}
