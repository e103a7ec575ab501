//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	const ctx = `"ctx":{"runId":"r","agentId":"main","sessionId":"bad","sessionKey":"agent:main:telegram:direct:1","trigger":"user","channelId":"1"}`
	for _, row := range []struct{ name, body string }{
		{"empty", ""},
		{"not JSON", "hello"},
		{"cut JSON", `{"hook":"before_prompt_build","event":{"prompt":"x"`},
		{"an array", `[]`},
		{"null", `null`},
		{"a string", `"before_prompt_build"`},
		{"two objects", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":[]},` + ctx + `}{}`},
		{"no hook", `{"event":{"prompt":"x","messages":[]},` + ctx + `}`},
		{"no event", `{"hook":"before_prompt_build",` + ctx + `}`},
		{"no ctx", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":[]}}`},
		{"a hook that is a number", `{"hook":1,"event":{"prompt":"x","messages":[]},` + ctx + `}`},
		{"an event that is a string", `{"hook":"before_prompt_build","event":"x",` + ctx + `}`},
		{"a ctx that is an array", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":[]},"ctx":[]}`},
		{"a prompt that is a number", `{"hook":"before_prompt_build","event":{"prompt":1,"messages":[]},` + ctx + `}`},
		{"messages that are a string", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":"x"},` + ctx + `}`},
		{"a run id that is an object", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":[]},"ctx":{"runId":{}}}`},
		{"a ts that is a string", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":[]},` + ctx + `,"ts":"now"}`},
		{"deeply nested JSON", `{"hook":"before_prompt_build","event":{"prompt":"x","messages":` + strings.Repeat("[", 200_000) + `}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			msg := nats.NewMsg("openclaw.request.before_prompt_build.main")
			msg.Data = []byte(row.body)
			r, err := g.nc.RequestMsg(msg, 3*time.Second)
			require.NoError(t, err)
			require.Equal(t, "400", r.Header.Get("Nats-Service-Error-Code"), "%v %s", r.Header, r.Data)
			require.NotEmpty(t, r.Header.Get("Nats-Service-Error"))
			require.JSONEq(t, `{}`, string(r.Data))
		})
	}
	t.Run("unknown fields", func(t *testing.T) {
		r := g.ask(turn{session: "good", run: "r1", prompt: "Hello there.", ctx: object{"unheardOf": object{"a": 1}}, messages: []any{
			object{"role": "custom", "content": object{"what": "ever"}}, object{"role": "user", "content": []any{object{"type": "image"}, 7}},
		}})
		require.NotEmpty(t, r.hint)
	})
	s.showsRun("good", "r1", visible())
	g.drained()
	require.Equal(t, []string{"good.json"}, s.sessions())
	p.stop()
}

func TestSessionNamesCannotLeaveTheDirectory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	outside := func() map[string]bool {
		out := map[string]bool{}
		require.NoError(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == s.sessionsDir() || d.Name() == "jetstream" {
				return fs.SkipDir
			}
			out[path] = true
			return nil
		}))
		return out
	}
	before := outside()
	names := []string{
		"../../etc/x", "/etc/passwd", "..", ".", "_", "a/b", `a\b`, "a b", "with\x00nul", "\x00", "日本語", "a.json", "x.history.jsonl",
		strings.Repeat("a", 10_240), strings.Repeat("é", 10_240), strings.Repeat("../", 3_000), "con", "-rf", "*", "=5F", "agent:main:main", "line\nbreak",
	}
	for i, name := range names {
		run := fmt.Sprintf("run-%d", i)
		require.NotEmpty(t, g.ask(turn{session: name, run: run, prompt: "Hello there.", ctx: object{"channelId": "1", "sessionKey": "agent:main:telegram:direct:1"}}).hint, "%.40q", name)
		e := toolCall(name, run, "call-"+run, "read", time.Now().UnixMilli())
		msg := e.message()
		if len(msg.Subject) > 1000 {
			// Gateways shorten long subject tokens; the payload decides.
			msg.Subject = "openclaw.event.after_tool_call.main.long"
		}
		g.store(msg)
	}
	g.drained()
	require.Eventually(t, func() bool { return len(s.sessions()) == len(names) }, patient, tick, "one file for each name")
	for _, file := range s.sessions() {
		require.Regexp(t, `^([A-Za-z0-9_-]|=[0-9A-F]{2})+\.json$`, file)
		require.LessOrEqual(t, len(file), 205)
	}
	for i, name := range names[:13] {
		d, there := s.document(name)
		require.True(t, there, "%q has the file of its token", name)
		require.Equal(t, name, d.SessionID)
		require.Equal(t, []string{fmt.Sprintf("call-run-%d", i)}, d.Current.toolCallIDs())
	}
	require.Equal(t, before, outside(), "no new file outside the session directory")
	require.NoError(t, filepath.WalkDir(s.sessionsDir(), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".json" && filepath.Dir(path) != s.sessionsDir() {
			t.Errorf("a session file that is not among the others: %s", path)
		}
		return err
	}))
	p.stop()
}

func TestLargeHistory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(1, 1)
	g := s.gateway()
	var messages []any
	for i := range 600 {
		messages = append(messages,
			object{"role": "user", "content": fmt.Sprintf("question %d %s", i, strings.Repeat("x", 5_000))},
			object{"role": "assistant", "content": []any{object{"type": "text", "text": strings.Repeat("y", 5_000)}}},
		)
	}
	r := g.ask(turn{session: "s1", run: "r1", prompt: strings.Repeat("Hello there. ", 100_000), messages: messages})
	require.NotEmpty(t, r.hint)
	d := s.showsRun("s1", "r1", visible())
	require.Len(t, d.Intent.Input, 8, "five user turns, three assistant turns")
}
