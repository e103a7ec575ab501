//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlainStart(t *testing.T) {
	t.Parallel()
	// Only the data directory and the port are set; HTTP has its default address.
	s := newSystem(t, settings{"HINT_HTTP_ADDR": ""})
	p := s.serve(1, 1)[0]
	g := s.gateway()

	const prompt = "What did we talk about last week?"
	start := time.Now().UnixMilli()
	r := g.ask(turn{session: "s1", run: "r1", prompt: prompt, ts: start, messages: []any{
		object{"role": "user", "content": "Hi there"},
		object{"role": "assistant", "content": []any{object{"type": "text", "text": "Hello! How can I help?"}}},
	}})

	t.Run("the hint", func(t *testing.T) {
		var body object
		require.NoError(t, json.Unmarshal(r.Data, &body))
		require.Len(t, body, 1, "the body has one field, the handler's result")
		require.Regexp(t, `(?s)\A<intention_hint_plugin>\nintent: [^\n]+\n(confidence: 0\.[67]\d \(a suggestion\)\n)?(complexity: (low|medium|high)\n)?\n.+</intention_hint_plugin>\s*\z`, r.hint)
		require.NotContains(t, r.hint, "Untrusted context", "nobody but the operator wrote anything of it")
	})
	t.Run("the headers", func(t *testing.T) {
		require.NotEmpty(t, r.Header.Get("Hint-Intent"))
		require.Contains(t, r.hint, "intent: "+r.Header.Get("Hint-Intent"))
		require.Regexp(t, `^(0\.\d\d|1\.00)$`, r.Header.Get("Hint-Confidence"))
		require.Equal(t, "local", r.Header.Get("Hint-Source"))
		require.NotEmpty(t, r.Header.Get("Hint-Reason"))
		require.Regexp(t, `^\d+\.\d{3}$`, r.Header.Get("Hint-Elapsed-Ms"))
		elapsed, err := strconv.ParseFloat(r.Header.Get("Hint-Elapsed-Ms"), 64)
		require.NoError(t, err)
		require.LessOrEqual(t, elapsed, float64(r.took.Microseconds())/1000)
		for _, absent := range []string{"Hint-Model", "Hint-Skip", "Nats-Service-Error", "Nats-Service-Error-Code"} {
			require.NotContains(t, r.Header, absent)
		}
	})
	t.Run("the session file", func(t *testing.T) {
		turn := s.showsRun("s1", "r1", visible())
		d, _ := s.document("s1")
		require.Equal(t, "s1", d.SessionID)
		require.Equal(t, "agent:main:telegram:direct:s1", d.SessionKey)
		require.Equal(t, "main", d.AgentID)
		require.Equal(t, "r1", d.Current.RunID)
		require.Equal(t, prompt, turn.Input)
		require.NotNil(t, turn.Intent)
		require.Len(t, turn.Intent.Input, 2)
		require.Equal(t, "user", turn.Intent.Input[0].Role)
		require.Equal(t, "Hi there", turn.Intent.Input[0].Text)
		require.Equal(t, "assistant", turn.Intent.Input[1].Role)
		result := turn.Intent.Result
		require.NotNil(t, result)
		require.Equal(t, r.Header.Get("Hint-Intent"), result.Intent)
		require.NotEmpty(t, result.Name)
		require.NotEmpty(t, result.Reason)
		require.NotEmpty(t, result.Goal)
		require.NotNil(t, result.Confidence)
		require.Equal(t, r.Header.Get("Hint-Confidence"), strconv.FormatFloat(*result.Confidence, 'f', 2, 64))
		require.Contains(t, []string{"low", "medium", "high"}, result.Complexity)
		require.Equal(t, "local", result.Source)
		require.NotNil(t, result.ElapsedMs)
		require.True(t, sameTime(turn.Timestamps.Start, start), turn.Timestamps.Start)
		require.Empty(t, turn.Timestamps.End)

		info, err := os.Stat(s.sessionFile("s1"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("a tool call", func(t *testing.T) {
		g.publish(toolCall("s1", "r1", "call-1", "read", start+10))
		d := s.shows("s1", visible(), "the call", func(d document) bool { return len(d.Current.ToolCalls) == 1 })
		call := d.Current.ToolCalls[0]
		require.Equal(t, "call-1", call.ToolCallID)
		require.Equal(t, "read", call.Name)
		require.JSONEq(t, `{"path":"call-1.txt"}`, string(call.Params))
		require.Equal(t, "result of call-1", call.Result)
		require.InDelta(t, 7, call.DurationMs, 0)
	})
	t.Run("a failed tool call", func(t *testing.T) {
		e := toolCall("s1", "r1", "call-2", "read", start+20)
		e.event["error"] = "File not found: call-2.txt."
		g.publish(e)
		d := s.shows("s1", visible(), "the call", func(d document) bool { return len(d.Current.ToolCalls) == 2 })
		require.Equal(t, "File not found: call-2.txt.", d.Current.ToolCalls[1].Error)
		require.Empty(t, d.Current.ToolCalls[1].Result)
	})
	t.Run("a skill file", func(t *testing.T) {
		e := toolCall("s1", "r1", "call-3", "read", start+30)
		e.event["params"] = object{"path": "skills/weather/SKILL.md"}
		e.event["result"] = object{"content": []any{object{"type": "text", "text": "---\nname: weather\ndescription: Forecasts.\n---\n# Weather\n"}}}
		g.publish(e)
		d := s.shows("s1", visible(), "the skill", func(d document) bool { return len(d.Current.SkillsUsed) == 1 })
		require.Equal(t, "weather", d.Current.SkillsUsed[0].Name)
		require.Equal(t, "skills/weather/SKILL.md", d.Current.SkillsUsed[0].Path)
	})
	t.Run("the end of the run", func(t *testing.T) {
		g.publish(agentEnd("s1", "r1", prompt, "About the garden.", start+40))
		d := s.shows("s1", visible(), "the result", func(d document) bool { return d.Current.Result != "" })
		require.Equal(t, "About the garden.", d.Current.Result)
		require.True(t, sameTime(d.Current.Timestamps.End, start+40), d.Current.Timestamps.End)
	})
	t.Run("the end of the session", func(t *testing.T) {
		g.publish(sessionEnd("s1", "new", start+50))
		d := s.shows("s1", visible(), "its end", func(d document) bool { return d.Ended != nil })
		require.Equal(t, "new", d.Ended.Reason)
		require.True(t, sameTime(d.Ended.At, start+50), d.Ended.At)
	})
	t.Run("the next turn of the same session", func(t *testing.T) {
		g.ask(turn{session: "s1", run: "r2", prompt: "And what is on tomorrow?", ts: start + 60})
		d := s.shows("s1", visible(), "the next turn", func(d document) bool { return d.Current.RunID == "r2" })
		require.Len(t, d.History, 1)
		require.Equal(t, "r1", d.History[0].RunID)
		require.Nil(t, d.Ended)
	})
	t.Run("health", func(t *testing.T) {
		// The address is in the log.
		p.logs("serving /healthz")
		address := regexp.MustCompile(`"msg":"serving /healthz.*"address":"([^"]+)"`).FindStringSubmatch(p.stderr.String())
		require.NotNil(t, address)
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			r, err := http.Get("http://" + address[1] + path)
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			require.Equal(t, http.StatusOK, r.StatusCode, path)
		}
	})
	p.stop()
}

func TestTurnsThatGetNoHint(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	for _, row := range []struct {
		name, prompt, skip string
		ctx                object
	}{
		{"a group", "Hello, what is new?", "chat_type", object{"sessionKey": "agent:main:telegram:group:-100123", "channelId": "-100123"}},
		{"a cron job", "Say hi.", "not_user_trigger", object{"trigger": "cron", "sessionKey": "agent:main:cron:job:run:1"}},
		{"a heartbeat", "Heartbeat poll.", "not_user_trigger", object{"trigger": "heartbeat", "sessionKey": "agent:main:main"}},
		{"a subagent", "[Subagent Context] You are running as a subagent.", "internal_session", object{"sessionKey": "agent:main:subagent:539e4f96", "messageProvider": "webchat"}},
		{"an announcement", "", "internal_input", object{
			"sessionKey": "agent:main:web2", "messageProvider": "webchat", "inputProvenance": object{"kind": "inter_session", "sourceTool": "subagent_announce"},
		}},
		{"no prompt", "", "empty_prompt", nil},
		{"the gateway's command line", "Hello there.", "chat_type", object{"sessionKey": "agent:main:demo", "messageProvider": nil, "channel": nil, "channelId": nil, "chatId": nil}},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, run := unique("skipped"), unique("run")
			r := g.ask(turn{session: session, run: run, prompt: row.prompt, ctx: row.ctx})
			require.Equal(t, row.skip, r.Header.Get("Hint-Skip"))
			require.JSONEq(t, `{}`, string(r.Data))
			require.Regexp(t, `^\d+\.\d{3}$`, r.Header.Get("Hint-Elapsed-Ms"))
			require.NotContains(t, r.Header, "Hint-Intent")
			now := time.Now().UnixMilli()
			g.publish(toolCall(session, run, unique("call"), "read", now), agentEnd(session, run, row.prompt, "Done.", now+1), sessionEnd(session, "new", now+2))
		})
	}
	// A later event is visible, so they have been handled.
	g.ask(turn{session: "tracked", run: "tracked", prompt: "Hello there."})
	s.showsRun("tracked", "tracked", patient)
	g.drained()
	require.Equal(t, []string{"tracked.json"}, s.sessions())
	require.False(t, p.logged("dead letter"))
}
