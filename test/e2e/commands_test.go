//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	type answer struct {
		Intent, Source, SessionID, SessionKey, RunID, PrependContext string
		Confidence                                                   *float64
		ElapsedMs, RoundTripMs                                       float64
	}
	ask := func(t *testing.T, s *system, args ...string) answer {
		t.Helper()
		r := s.run(append([]string{"ask", "--json"}, args...)...)
		require.Zero(t, r.code, r.stderr)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &a), r.stdout)
		require.NotEmpty(t, a.Intent)
		require.Equal(t, "local", a.Source)
		require.NotNil(t, a.Confidence)
		require.Contains(t, a.PrependContext, "<intention_hint_plugin>")
		return a
	}
	t.Run("the running system", func(t *testing.T) {
		s := newSystem(t)
		s.serve(1, 1)
		a := ask(t, s, "--session", "mine", "what did we", "talk about last week?")
		require.Equal(t, "mine", a.SessionID)
		got := s.showsRun("mine", a.RunID, visible())
		require.Equal(t, "what did we talk about last week?", got.Input)
		require.Equal(t, a.Intent, got.Intent.Result.Intent)
	})
	t.Run("without a running system, one is started for the question", func(t *testing.T) {
		s := newSystem(t)
		a := ask(t, s, "hello there")
		s.showsRun(a.SessionID, a.RunID, 0)
		require.Empty(t, ping(s.url(), 1, 300*time.Millisecond), "it has stopped")
	})
	t.Run("as text", func(t *testing.T) {
		s := newSystem(t)
		r := s.run("ask", "hello there")
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stdout, "<intention_hint_plugin>")
	})
	t.Run("a server without a consumer", func(t *testing.T) {
		s, e := newExternalSystem(t)
		e.start()
		r := s.run("ask", "hello there")
		require.Equal(t, 1, r.code)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, s.url())
	})
}

func TestClassify(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	r := s.run("classify", "--json", "what did we talk about last week?")
	require.Zero(t, r.code, r.stderr)
	var c struct {
		Intent     string
		Confidence *float64
		RunnersUp  []struct{ Intent string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &c), r.stdout)
	require.NotEmpty(t, c.Intent)
	require.NotNil(t, c.Confidence)
	require.NotEmpty(t, c.RunnersUp)
	for _, other := range c.RunnersUp {
		require.NotEqual(t, c.Intent, other.Intent)
	}
	require.False(t, exists(t, s.env["HINT_DATA_DIR"]), "neither server nor store is created")

	text := s.run("classify", "what did we talk about last week?")
	require.Zero(t, text.code, text.stderr)
	require.Contains(t, text.stdout, c.Intent)
	require.Contains(t, text.stdout, c.RunnersUp[0].Intent)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	for _, session := range []string{"one", "two:with/odd.name"} {
		run := "run of " + session
		g.ask(turn{session: session, run: run, prompt: "Hello there, " + session})
		s.showsRun(session, run, visible())
	}
	check := func(t *testing.T) {
		t.Helper()
		r := s.run("sessions", "ls", "--json")
		require.Zero(t, r.code, r.stderr)
		var list []struct {
			SessionID, SessionKey, AgentID, RunID, Input, Intent string
			Turns                                                int
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &list), r.stdout)
		require.Len(t, list, 2)
		require.ElementsMatch(t, []string{"one", "two:with/odd.name"}, []string{list[0].SessionID, list[1].SessionID})
		for _, one := range list {
			require.Equal(t, 1, one.Turns)
			require.Equal(t, "Hello there, "+one.SessionID, one.Input)
			require.NotEmpty(t, one.Intent)
			r := s.run("sessions", "show", one.SessionID)
			require.Zero(t, r.code, r.stderr)
			var d document
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &d), r.stdout)
			require.Equal(t, one.SessionID, d.SessionID)
			require.Equal(t, one.RunID, d.Current.RunID)
		}
		r = s.run("sessions", "show", "nobody")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "nobody")
		require.Empty(t, r.stdout)
	}
	t.Run("while the system runs", check)
	p.stop()
	t.Run("after it has stopped", check)
}

func TestIntentsLint(t *testing.T) {
	t.Parallel()
	t.Run("a directory with errors", func(t *testing.T) {
		s := newSystem(t)
		dir := filepath.Join(s.dir, "intents")
		write(t, filepath.Join(dir, "good.md"), intent("GOOD", "a good example", "Prompt."))
		write(t, filepath.Join(dir, "no-triggers.md"), "---\nid: SILENT\nname: Silent\n---\nPrompt.\n")
		write(t, filepath.Join(dir, "bad-id.md"), "---\nid: lower case\ntriggers:\n  - x\n---\nPrompt.\n")
		write(t, filepath.Join(dir, "no-id.md"), "---\ntriggers:\n  - y\n---\nPrompt.\n")
		write(t, filepath.Join(dir, "no-matter.md"), "Just text.\n")
		write(t, filepath.Join(dir, "not-yaml.md"), "---\nid: [\n---\nPrompt.\n")
		write(t, filepath.Join(dir, "wrong-type.md"), "---\nid: WRONG\ntriggers:\n  - x\nenabled: perhaps\n---\nPrompt.\n")
		write(t, filepath.Join(dir, "twin.md"), intent("GOOD", "another example", "Prompt."))
		r := s.run("intents", "lint", dir)
		require.Equal(t, 1, r.code, r.stderr)
		shape := regexp.MustCompile(`^(.+\.md):(\d+): .+`)
		faulty := map[string]bool{}
		for line := range strings.Lines(r.stdout) {
			parts := shape.FindStringSubmatch(line)
			require.NotNil(t, parts, line)
			faulty[filepath.Base(parts[1])] = true
		}
		for _, name := range []string{"no-triggers.md", "bad-id.md", "no-matter.md", "not-yaml.md", "wrong-type.md"} {
			require.True(t, faulty[name], "%s in\n%s", name, r.stdout)
		}
		require.False(t, faulty["no-id.md"], "its id is the name of the file:\n%s", r.stdout)
		require.True(t, faulty["twin.md"] || faulty["good.md"], r.stdout)

		s.env["HINT_INTENTS_DIR"] = dir
		require.Equal(t, r.stdout, s.run("intents", "lint").stdout, "the configured directory is the default")
	})
	t.Run("a good directory", func(t *testing.T) {
		s := newSystem(t)
		dir := filepath.Join(s.dir, "intents")
		write(t, filepath.Join(dir, "good.md"), intent("GOOD", "a good example", "Prompt."))
		r := s.run("intents", "lint", dir)
		require.Zero(t, r.code, r.stdout)
		require.Empty(t, r.stdout)
	})
	t.Run("the built-in definitions", func(t *testing.T) {
		r := newSystem(t).run("intents", "lint")
		require.Zero(t, r.code, r.stdout)
	})
	t.Run("a missing directory", func(t *testing.T) {
		r := newSystem(t).run("intents", "lint", "/nonexistent/intents")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "/nonexistent/intents")
	})
}
