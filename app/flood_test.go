package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/subjects"
)

// A gateway that sends nonsense as fast as it can gets a line a minute and kind in the
// log, and holds up neither others nor the stop.
func TestAFloodOfNonsenseIsFewLinesAndNoEndlessStop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("floods a server for seconds")
	}
	s := start(t, nil)
	event, _ := json.Marshal(payload.Feedback{Kind: payload.FeedbackHint, RunID: "r", Verdict: "wrong", Intent: "NOBODY"})
	mark := func(i int64) []byte {
		body, _ := json.Marshal(payload.Envelope{
			Hook: subjects.HookFeedback, ID: fmt.Sprint("flood-", i), TS: time.Now().UnixMilli(), Event: event, Ctx: []byte(`{"sessionId":"s","runId":"r"}`),
		})
		return body
	}
	var sent atomic.Int64
	stop := make(chan struct{})
	var flooding sync.WaitGroup
	for _, publish := range []func(nc *nats.Conn) error{
		func(nc *nats.Conn) error {
			return nc.PublishRequest("openclaw.request.before_prompt_build.main", "$JS.API.STREAM.DELETE.OPENCLAW_EVENTS", []byte("nonsense"))
		},
		func(nc *nats.Conn) error {
			return nc.PublishRequest("openclaw.request.before_prompt_build.main", nats.NewInbox(), []byte("nonsense"))
		},
		func(nc *nats.Conn) error { return nc.Publish("openclaw.event.agent_end.main.s", []byte("nonsense")) },
		func(nc *nats.Conn) error {
			return nc.Publish("openclaw.event.feedback.main.s", mark(sent.Load()))
		},
	} {
		nc, err := nats.Connect(s.Bus.URL(), nats.NoReconnect())
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		flooding.Go(func() {
			tick := time.NewTicker(time.Millisecond) // or nothing else runs on a small machine
			defer tick.Stop()
			for publish(nc) == nil {
				sent.Add(1)
				select {
				case <-stop:
					return
				case <-tick.C:
				}
			}
		})
	}
	s.Eventually("all kinds are logged", func() bool {
		log := s.Log.String()
		return strings.Contains(log, "reply subject is not an inbox") && strings.Contains(log, `"dead letter"`) && strings.Contains(log, "mark names unknown intent")
	})
	const enough = 2000
	s.Eventually("many were sent", func() bool { return sent.Load() >= enough })
	require.Contains(t, string(s.Ask(s.Prompt("other", "r", "will it rain tomorrow"), time.Minute).Data), "{", "others are answered")
	began := time.Now()
	require.NoError(t, s.Stop()) // the flood goes on
	require.Less(t, time.Since(began), time.Minute)
	close(stop)
	flooding.Wait()

	kinds := map[string]int{}
	for line := range strings.Lines(s.Log.String()) {
		var record struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &record) == nil && (record.Level == "WARN" || record.Level == "ERROR") {
			kinds[record.Msg]++
		}
	}
	for msg, n := range kinds {
		require.LessOrEqual(t, n, 3, msg) // the test may take minutes on a busy machine
	}
	require.Contains(t, kinds, "reply subject is not an inbox")
}
