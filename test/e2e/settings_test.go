//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	wrong := []struct{ name, value, allowed string }{
		{"HINT_ALLOWED_CHAT_TYPES", "direct,party", "explicit"},
		{"HINT_CLASSIFIER", "psychic", "cascade"},
		{"HINT_CONTEXT_WINDOW", "nope", "user"},
		{"HINT_HTTP_ADDR", "nowhere", "off"},
		{"HINT_INTENT_DENY", "[1]", "JSON object"},
		{"HINT_LOCAL_ACCEPT", "7", "1"},
		{"HINT_LOG_FORMAT", "xml", "json"},
		{"HINT_LOG_LEVEL", "shouting", "debug"},
		{"HINT_MIN_CONFIDENCE", "minus", "1"},
		{"HINT_MODEL", "slashless", "provider/model"},
		{"HINT_NATS_PORT", "99999", "65535"},
		{"HINT_PROVIDERS", `{"x":{"api":"telepathy"}}`, "openai-completions"},
		{"HINT_QUERY_MODE", "everything", "recent"},
		{"HINT_SESSION_RETENTION", "soon", "336h"},
		{"HINT_STORE", "tape", "file"},
		{"HINT_STREAM", "a.b", "letters"},
		{"HINT_TIMEOUT_MS", "abc", "60000"},
		{"HINT_TRIAGE", `{"enabled":"perhaps"}`, "enabled"},
		{"HINT_USER_TIMEZONE", "Mars/Olympus", "IANA"},
	}
	given := settings{}
	for _, w := range wrong {
		given[w.name] = w.value
	}
	s := newSystem(t, given)
	r := s.run()
	require.Equal(t, 2, r.code)
	require.Empty(t, r.stdout)
	lines := strings.Split(strings.TrimRight(r.stderr, "\n"), "\n")
	for _, w := range wrong {
		var of []string
		for _, line := range lines {
			if strings.HasPrefix(line, w.name+"=") || strings.HasPrefix(line, w.name+" ") || strings.HasPrefix(line, w.name+":") {
				of = append(of, line)
			}
		}
		require.Len(t, of, 1, "lines about %s in\n%s", w.name, r.stderr)
		require.Contains(t, of[0], w.value, w.name)
		require.Contains(t, of[0], w.allowed, w.name)
	}
	require.Len(t, lines, len(wrong), "nothing but one line for each:\n%s", r.stderr)
	require.False(t, exists(t, s.env["HINT_DATA_DIR"]), "a data directory was created")
}

func TestOneWrongSetting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings settings
		says     []string
	}{
		{"a mode that needs a model, without a model", settings{"HINT_CLASSIFIER": "llm"}, []string{"HINT_CLASSIFIER", "llm", "HINT_MODEL"}},
		{"an unknown field of the triage gate", settings{"HINT_TRIAGE": `{"enabld":true}`}, []string{"HINT_TRIAGE", "enabld"}},
		{"a missing directory", settings{"HINT_INTENTS_DIR": "/nonexistent/intents"}, []string{"HINT_INTENTS_DIR", "/nonexistent/intents"}},
		{"a missing configuration file", settings{"HINT_CONFIG": "/nonexistent/openclaw.json"}, []string{"HINT_CONFIG", "/nonexistent/openclaw.json"}},
		{"a hook timeout that is not positive", settings{"HINT_HOOK_TIMEOUTS": `{"before_prompt_build":0}`}, []string{"HINT_HOOK_TIMEOUTS", "before_prompt_build"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newSystem(t, row.settings).run("run")
			require.Equal(t, 2, r.code, r.stderr)
			require.Len(t, strings.Split(strings.TrimRight(r.stderr, "\n"), "\n"), 1, r.stderr)
			for _, text := range row.says {
				require.Contains(t, r.stderr, text)
			}
		})
	}
	t.Run("values of a file", func(t *testing.T) {
		s := newSystem(t)
		path := filepath.Join(s.dir, "openclaw.json")
		write(t, path, `{plugins: {entries: {"intention-hint": {config: {timeoutMs: "soon", queryMode: "everything"}}}}}`)
		s.env["HINT_CONFIG"] = path
		r := s.run()
		require.Equal(t, 2, r.code, r.stderr)
		require.Contains(t, r.stderr, "timeoutMs")
		require.Contains(t, r.stderr, "queryMode")
	})
}

func TestWhatCannotBeUsedIsOneWarning(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{
		"HINT_TRIAGE": `{"enabled":true,"triageModel":"nobody/tiny"}`, "HINT_KNOWHUB": `{"enabled":true,"listen":"127.0.0.1:0","model":"nobody/large"}`,
		"HINT_MODEL": "nobody/small", "HINT_EMBEDDING_MODEL": "anthropic/small",
	})
	p := s.serve(1, 1)[0]
	require.NotEmpty(t, s.gateway().ask(turn{session: "s1", run: "r1", prompt: "Hello there."}).hint)
	for _, variable := range []string{"HINT_TRIAGE", "HINT_KNOWHUB", "HINT_MODEL", "HINT_EMBEDDING_MODEL"} {
		require.Equal(t, 1, strings.Count(p.stderr.String(), `"variable":"`+variable+`"`), variable)
	}
	require.Equal(t, 4, strings.Count(p.stderr.String(), `"configuration warning"`), p.stderr)
}

func TestValuesAreClamped(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{
		"HINT_TIMEOUT_MS":     "100000",
		"HINT_CONTEXT_WINDOW": `{"user":{"turns":99,"chars":1},"assistant":{"turns":99,"chars":100000}}`,
	})
	s.serve(1, 1)
	require.NotEmpty(t, s.gateway().ask(turn{session: "s1", run: "r1", prompt: "Hello there."}).hint)
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"an unknown command", []string{"juggle"}, 2, `^$`, `juggle`},
		{"an unknown flag", []string{"--juggle"}, 2, `^$`, `juggle`},
		{"help", []string{"--help"}, 0, `(?s)ask.*classify.*intents lint.*sessions.*dlq`, `^$`},
		{"help of a command", []string{"run", "--help"}, 0, `HINT_NATS_URL`, `^$`},
		{"version", []string{"version"}, 0, `^consumer \d+\.\d+\.\d+`, `^$`},
		{"version as a flag", []string{"--version"}, 0, `^consumer \d+\.\d+\.\d+`, `^$`},
		{"a missing text", []string{"ask"}, 2, `^$`, `text`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newSystem(t).run(row.args...)
			require.Equal(t, row.code, r.code, r.stderr)
			require.Regexp(t, row.stdout, r.stdout)
			require.Regexp(t, row.stderr, r.stderr)
		})
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.env["HINT_HTTP_ADDR"] = "127.0.0.1:" + s.env["HINT_NATS_PORT"] // by the server itself
	p := s.start()
	require.Equal(t, 1, p.wait(10*time.Second), p.stderr.tail())
	require.Contains(t, p.stderr.String(), s.env["HINT_HTTP_ADDR"])
}
