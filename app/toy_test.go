package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/app/apptest/toy"
	"intenthint/internal/bus"
	"intenthint/payload"
	"intenthint/subjects"
)

// A part that no other file names has a setting, a bucket, a durable, a handler, a page
// and a health check.
func TestAPartIsOneFolder(t *testing.T) {
	t.Parallel()
	cfg := apptest.Settle(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_TOY": `{"enabled": true, "tool": "browser"}`}, toy.Part())
	s := &system{apptest.StartWith(t, cfg, toy.Part()), t}

	call := func(tool string) string {
		ctx, err := json.Marshal(payload.Context{AgentID: "main", SessionID: "s", SessionKey: "agent:main:main"})
		require.NoError(t, err)
		return string(s.Ask(payload.Envelope{Hook: "before_tool_call", Event: json.RawMessage(`{"toolName":"` + tool + `"}`), Ctx: ctx, TS: 1763680000123, ID: tool}, time.Minute).Data)
	}
	require.JSONEq(t, `{}`, call("exec"))
	require.JSONEq(t, `{"block":true,"blockReason":"browser is not allowed here"}`, call("browser"))
	require.JSONEq(t, `{"block":true,"blockReason":"browser is not allowed here"}`, call("browser"))

	status, shown := page(t, s, "/toy")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "s: browser denied 2 times\n", shown)
	_, overview := page(t, s, "/")
	require.Contains(t, overview, `<a href="/toy">Toy</a>`)
	_, health := page(t, s, "/healthz")
	require.Regexp(t, `"toy": \{\s*"ok": true`, health)
	require.Regexp(t, `"toy events": \{\s*"ok": true`, health)

	stream, err := s.JS.Stream(t.Context(), bus.BucketStream("OPENCLAW_EVENTS_TOY"))
	require.NoError(t, err)
	require.Contains(t, stream.CachedInfo().Config.Description, "denied")
	_, err = s.JS.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint-toy")
	require.NoError(t, err)
	s.Tell(payload.Envelope{Hook: subjects.HookSessionEnd, Event: json.RawMessage(`{}`), Ctx: json.RawMessage(`{"agentId":"main","sessionId":"s"}`), TS: 1763680000123, ID: "end"})
	s.Eventually("the end of the session is applied", func() bool {
		_, shown := page(t, s, "/toy")
		return shown == ""
	})
}

func TestAPartThatIsOff(t *testing.T) {
	t.Parallel()
	cfg := apptest.Settle(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"}, toy.Part())
	s := &system{apptest.StartWith(t, cfg, toy.Part()), t}
	status, shown := page(t, s, "/toy")
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, shown, "HINT_TOY turns it on.")
	_, overview := page(t, s, "/")
	require.Contains(t, overview, "HINT_TOY=")
	_, err := s.JS.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint-toy")
	require.Error(t, err)
	_, health := page(t, s, "/healthz")
	require.False(t, strings.Contains(health, "toy"), health)
}
