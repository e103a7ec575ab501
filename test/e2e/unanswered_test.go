//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unanswered is the event with which a gateway tells a turn whose request got no
// answer: the request's own body.
func (g *gateway) unanswered(tr turn) {
	g.t.Helper()
	msg := tr.message()
	msg.Subject = "openclaw.event.before_prompt_build.main." + token(tr.session)
	msg.Header.Del("Hint-Timeout-Ms")
	g.store(msg)
}

func TestUnansweredTurns(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(3, 3)
	g := s.gateway()
	const start = 1763680000000

	told := turn{session: "s1", run: "r1", prompt: "What did we talk about last week?", ts: start, messages: []any{
		object{"role": "user", "content": "Hello there."}, object{"role": "assistant", "content": "Hello."},
	}}
	g.unanswered(told)
	got := s.showsRun("s1", "r1", visible())
	require.Equal(t, told.prompt, got.Input)
	require.Nil(t, got.Intent.Result)
	require.Len(t, got.Intent.Input, 2)
	require.True(t, sameTime(got.Timestamps.Start, start))

	g.publish(toolCall("s1", "r1", "c1", "read", start+10), agentEnd("s1", "r1", told.prompt, "About the garden.", start+20))
	retry := turn{session: "s1", run: "r1", prompt: continued, ts: start + 5}
	require.NotEmpty(t, g.ask(retry).hint)
	g.drained()
	got = s.showsRun("s1", "r1", visible())
	require.Equal(t, told.prompt, got.Input, "the first prompt")
	require.NotNil(t, got.Intent.Result, "the retry was answered")
	require.Equal(t, []string{"c1"}, got.toolCallIDs())
	require.Equal(t, "About the garden.", got.Result)

	t.Run("answered too late", func(t *testing.T) {
		s := s.in(t)
		late := turn{session: "s2", run: "r1", prompt: "Hello there.", ts: start}
		g.ask(late)
		g.unanswered(late)
		g.unanswered(turn{session: "s3", run: "r1", prompt: "Hello there.", ts: start})
		g.ask(turn{session: "s3", run: "r1", prompt: "Hello there.", ts: start})
		g.drained()
		for _, session := range []string{"s2", "s3"} {
			d, _ := s.document(session)
			require.Empty(t, d.History, session)
			require.NotNil(t, d.Current.Intent.Result, session)
		}
	})
	t.Run("what the rules leave out is ignored", func(t *testing.T) {
		s := s.in(t)
		before := s.sessions()
		for name, ctx := range map[string]object{
			"group": {"sessionKey": "agent:main:telegram:group:-1"}, "cron": {"trigger": "cron"}, "subagent": {"sessionKey": "agent:main:subagent:1"},
		} {
			g.unanswered(turn{session: name, run: "r1", prompt: "Hello there.", ctx: ctx})
		}
		g.unanswered(turn{session: "nothing", run: "r1", prompt: " "})
		g.drained()
		require.Equal(t, before, s.sessions())
	})
	t.Run("one that cannot be decoded is a dead letter", func(t *testing.T) {
		s := s.in(t)
		msg := turn{session: "s1", run: "r9", prompt: "x"}.message()
		msg.Subject = "openclaw.event.before_prompt_build.main.s1"
		msg.Data = []byte(strings.Replace(string(msg.Data), `"prompt":"x"`, `"prompt":["x"]`, 1))
		g.store(msg)
		g.drained()
		require.Eventually(t, func() bool {
			r := s.run("dlq", "ls", "--json")
			return r.code == 0 && strings.Contains(r.stdout, "openclaw.event.before_prompt_build.main.s1")
		}, patient, tick)
	})
	t.Run("a rebuild", func(t *testing.T) {
		s := s.in(t)
		want, _ := s.document("s1")
		require.NoError(t, os.Remove(s.sessionFile("s1")))
		r := s.run("sessions", "rebuild", "s1")
		require.Zero(t, r.code, r.stderr)
		d, there := s.document("s1")
		require.True(t, there)
		require.Equal(t, want, d)
	})
}
