package knowhub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
	"intenthint/subjects"
)

func TestEndpoints(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	prefix := subjects.Prefix("openclaw")
	for range 2 {
		p := start(t, ns, usual())
		connection := natstest.Connect(t, ns)
		service, err := bus.StartService(t.Context(), connection, bus.ServiceOptions{
			Layout: bus.Layout{Prefix: prefix, QueueGroup: "intent-hint"}, Name: "intent-hint", Version: "0.0.0", Log: slog.New(slog.DiscardHandler),
		}, p.Endpoints(prefix)...)
		require.NoError(t, err)
		require.NoError(t, connection.Flush())
		t.Cleanup(func() { _ = service.Stop(t.Context()) })
	}
	nc := natstest.Connect(t, ns)
	ask := func(verb, body string) (code string, out map[string]any) {
		t.Helper()
		msg, err := nc.Request("openclaw.knowhub."+verb, []byte(body), time.Minute)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(msg.Data, &out))
		if code = msg.Header.Get(subjects.HeaderErrorCode); code != "" {
			require.Equal(t, out["error"], msg.Header.Get(subjects.HeaderError))
		}
		return code, out
	}
	code, e := ask("submit", submission)
	require.Empty(t, code)
	id := e["id"].(string)
	require.Equal(t, "pending", e["status"])
	_, again := ask("submit", submission)
	require.Equal(t, id, again["id"])
	require.Eventually(t, func() bool {
		_, listed := ask("pending", "")
		return len(listed["experiences"].([]any)) == 1
	}, patience, tick)
	code, e = ask("approve", `{"id": "`+id+`", "by": "ada"}`)
	require.Empty(t, code)
	require.Equal(t, "approved", e["status"])
	require.Equal(t, "ada", e["decided_by"])
	_, e = ask("content", `{"id": "`+id+`"}`)
	require.Equal(t, "Deploy the shop", e["task"])
	require.Eventually(t, func() bool {
		_, listed := ask("search", `{"q": "wrangler", "limit": 5, "for_agent": "main"}`)
		return len(listed["experiences"].([]any)) == 1
	}, patience, tick)
	for _, tt := range []struct{ name, verb, body, want string }{
		{"already decided", "reject", `{"id": "` + id + `"}`, "409"},
		{"unknown", "content", `{"id": "` + strings.Repeat("0", 32) + `"}`, "404"},
		{"no id", "content", `{}`, "400"},
		{"a blank id", "reject", `{"id": ""}`, "400"},
		{"no id and no body", "approve", ``, "400"},
		{"an id with a line feed", "content", `{"id": "a\nb"}`, "404"},
		{"not an object", "submit", `[]`, "400"},
		{"a wrong type", "search", `{"q": 5}`, "400"},
		{"a limit of 0", "search", `{"q": "a", "limit": 0}`, "400"},
		{"a field too few", "submit", `{"task": "t"}`, "400"},
		{"no messages", "extract", `{}`, "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out := ask(tt.verb, tt.body)
			require.Equal(t, tt.want, code)
			require.NotEmpty(t, out["error"])
		})
	}
	_, err := nc.Request("openclaw.knowhub.others", nil, time.Minute)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}

// A reply that is larger than the server lets through has as many as fit.
func TestAReplyHoldsWhatFits(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{JetStream: true, MaxPayload: 32 << 10})
	p := start(t, ns, usual())
	service, err := bus.StartService(t.Context(), natstest.Connect(t, ns), bus.ServiceOptions{
		Layout: bus.Layout{Prefix: "openclaw", QueueGroup: "intent-hint"}, Name: "intent-hint", Version: "0.0.0", Log: slog.New(slog.DiscardHandler),
	}, p.Endpoints("openclaw")...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = service.Stop(context.Background()) })
	for i := range 20 {
		submit(t, p, knowhub.Submission{Task: fmt.Sprint("Task ", i), Resource: "r", Result: strings.Repeat("long ", 600)})
	}
	nc := natstest.Connect(t, ns)
	for _, tt := range []struct {
		name, body  string
		least, most int
		more        bool
	}{
		{"all", ``, 5, 12, true},
		{"a limit", `{"limit": 3}`, 3, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, err := nc.Request("openclaw.knowhub.pending", []byte(tt.body), time.Minute)
			require.NoError(t, err)
			require.Empty(t, msg.Header.Get(subjects.HeaderErrorCode))
			var out struct {
				Experiences []experience.Experience
				More        bool
			}
			require.NoError(t, json.Unmarshal(msg.Data, &out))
			require.GreaterOrEqual(t, len(out.Experiences), tt.least)
			require.LessOrEqual(t, len(out.Experiences), tt.most)
			require.Equal(t, tt.more, out.More)
		})
	}
	// One experience that does not fit is an error, as any other.
	long := submit(t, p, knowhub.Submission{Task: "t", Resource: "r", Result: strings.Repeat("<", 5000)})
	msg, err := nc.Request("openclaw.knowhub.content", []byte(`{"id": "`+long.ID+`"}`), time.Minute)
	require.NoError(t, err)
	require.Equal(t, "500", msg.Header.Get(subjects.HeaderErrorCode))
	require.Contains(t, string(msg.Data), `{"error":"the answer is larger`)
}

func TestEndpointsAreBounded(t *testing.T) {
	t.Parallel()
	p := start(t, natstest.Start(t, nil), usual())
	names := map[string]bool{}
	for _, e := range p.Endpoints("openclaw") {
		names[e.Subject] = true
		require.NotZero(t, e.Bound)
		require.Equal(t, 503, e.Overloaded(bus.Request{}).Code)
	}
	require.Len(t, names, 7)
	require.Contains(t, names, subjects.Prefix("openclaw").KnowHub("search"))
}
