//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

// What the consumer writes is redacted. What a model is asked, and what the gateway
// is answered, are not.
func TestRedaction(t *testing.T) {
	for _, store := range []string{"file", "kv"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			testRedaction(t, store)
		})
	}
}

func testRedaction(t *testing.T, store string) {
	const secret = "alice@example.com"
	m := newModel(t)
	m.Always(providertest.Answer{Text: asJSON(object{
		"intent": "OTHER", "reason": "about " + secret, "goal": "reach " + secret, "confidence": 0.87, "complexity": "low", "suggestion": "ask " + secret,
	})})
	s := newSystem(t, m.settings("llm"), settings{"HINT_REDACT": "strict", "HINT_STORE": store, "HINT_LOG_LEVEL": "debug", "HINT_LOG_FORMAT": "json", "HINT_HISTORY_LIMIT": "1"})
	processes := s.serve(3, 3)
	g := s.gateway()
	start := time.Now().UnixMilli()

	first := g.ask(turn{session: "s1", run: "r1", prompt: "Write to " + secret, ts: start, messages: []any{
		object{"role": "user", "content": "I am " + secret}, object{"role": "assistant", "content": "Hello " + secret},
	}})
	require.Contains(t, first.hint, "goal: reach "+secret)
	for range 10 {
		r := g.ask(turn{session: "s1", run: "r1", prompt: continued, ts: start + 1})
		require.Equal(t, "cache", r.Header.Get("Hint-Source"))
		require.Equal(t, string(first.Data), string(r.Data), "from every process")
	}
	require.Equal(t, 1, m.Count())
	require.Contains(t, m.Requests()[0].User, "Write to "+secret)
	require.Contains(t, m.Requests()[0].User, "I am "+secret)

	// Only what the consumer itself publishes is in the stream so far.
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := g.js.Stream(ctx, "OPENCLAW_EVENTS")
	require.NoError(t, err)
	begun, err := stream.GetLastMsgForSubject(ctx, "openclaw.event.turn_begun.main.s1")
	require.NoError(t, err)
	require.NotContains(t, string(begun.Data), secret)
	require.Contains(t, string(begun.Data), `"prompt":"Write to [EMAIL]"`)

	call := toolCall("s1", "r1", "c1", "mail", start+2)
	call.event["params"] = object{"to": secret, "password": "x1"}
	call.event["result"] = "sent to " + secret
	failed := toolCall("s1", "r1", "c2", "mail", start+3)
	failed.event["error"] = "no user " + secret
	skill := toolCall("s1", "r1", "c3", "read", start+4)
	skill.event["params"] = object{"path": "/home/alice/mail/SKILL.md"}
	skill.event["result"] = "---\nname: mail\n---\n" + secret
	end := agentEnd("s1", "r1", "Write to "+secret, "Written to "+secret, start+5)
	end.event["error"] = "not sent to " + secret
	g.publish(call, failed, skill, end)
	g.unanswered(turn{session: "s1", run: "r2", prompt: "And again to " + secret, ts: start + 10})
	g.ask(turn{session: "s1", run: "r3", prompt: "Hello " + secret, ts: start + 20}) // both others move to the archive
	g.drained()

	dir := filepath.Join(t.TempDir(), "out")
	r := s.run("sessions", "export", dir)
	require.Zero(t, r.code, r.stderr)
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			data, err := os.ReadFile(path)
			all.Write(data)
			return err
		}
		return err
	}))
	for _, text := range []string{
		`"input":"Write to [EMAIL]"`, `"text":"I am [EMAIL]"`, `"goal":"reach [EMAIL]"`, `"to":"[EMAIL]"`, `"password":"[API_KEY]"`, `"result":"sent to [EMAIL]"`,
		`"error":"no user [EMAIL]"`, `/home/[REDACTED]/mail/SKILL.md`, `"result":"Written to [EMAIL]"`, `"error":"not sent to [EMAIL]"`, `"input":"And again to [EMAIL]"`,
	} {
		require.Contains(t, all.String(), text)
	}
	require.NotContains(t, all.String(), "alice")
	if store == "kv" {
		bucket, err := g.js.Stream(ctx, "KV_OPENCLAW_EVENTS_SESSIONS")
		require.NoError(t, err)
		reader, err := bucket.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
		require.NoError(t, err)
		for left := bucket.CachedInfo().State.Msgs; left > 0; left-- {
			entry, err := reader.Next(jetstream.FetchContext(ctx))
			require.NoError(t, err)
			require.NotContains(t, string(entry.Data()), secret)
		}
	}
	for _, p := range processes {
		require.NotContains(t, p.stderr.String(), secret)
	}
	require.Condition(t, func() bool {
		for _, p := range processes {
			if p.logged(`"prompt":"Write to [EMAIL]"`) {
				return true
			}
		}
		return false
	}, "the debug log shows the prompt")

	// A process that starts later knows the redacted hint from the stream.
	s.again()
	require.Eventually(t, g.nc.IsConnected, patient, tick)
	retry := g.ask(turn{session: "s1", run: "r1", prompt: continued, ts: start + 30})
	require.Equal(t, "cache", retry.Header.Get("Hint-Source"))
	require.Equal(t, strings.ReplaceAll(first.hint, secret, "[EMAIL]"), retry.hint)
}
