package config

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/conversation"
	"intenthint/knowhub"
	"intenthint/triage"
)

// journal is a log that several goroutines may write and read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

type reload struct {
	config *Config
	err    error
}

// watching runs Watch until the test ends and returns what it reports.
func watching(t *testing.T, running *Config) (<-chan reload, *journal) {
	t.Helper()
	var (
		log         = new(journal)
		reloads     = make(chan reload, 16)
		ctx, cancel = context.WithCancel(t.Context())
		done        = make(chan struct{})
	)
	go func() {
		defer close(done)
		Watch(ctx, running, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), func(c *Config, err error) { reloads <- reload{c, err} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return reloads, log
}

func next(t *testing.T, reloads <-chan reload) reload {
	t.Helper()
	select {
	case r := <-reloads:
		return r
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing was reloaded")
		return reload{}
	}
}

func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	fresh := path + ".new"
	require.NoError(t, os.WriteFile(fresh, []byte(content), 0o600))
	require.NoError(t, os.Rename(fresh, path))
}

func TestWatchFollowsEdits(t *testing.T) {
	path := write(t, "hint.json5", `{agents: ['one']}`)
	running, _, err := load(t, map[string]string{"HINT_CONFIG": path, "HINT_QUERY_MODE": "full"})
	require.NoError(t, err)
	reloads, log := watching(t, running)

	// In place.
	require.NoError(t, os.WriteFile(path, []byte(`{agents: ['two'], queryMode: 'message'}`), 0o600))
	r := next(t, reloads)
	for r.err != nil { // a machine that stalls between emptying and writing shows the empty file
		r = next(t, reloads)
	}
	require.Equal(t, []string{"two"}, r.config.Policy.Agents)
	require.Equal(t, conversation.ModeFull, r.config.Query.Mode, "the environment wins")
	require.Equal(t, []string{"one"}, running.Policy.Agents, "a configuration does not change")
	good := r.config

	// By renaming, as editors do; and wrong.
	replaceFile(t, path, `{agents: ['three'], timeoutMs: 'soon'}`)
	r = next(t, reloads)
	require.ErrorContains(t, r.err, `timeoutMs="soon"`)
	require.Same(t, good, r.config)
	require.Contains(t, log.String(), "configuration not reloaded")
	require.Contains(t, log.String(), "soon")

	replaceFile(t, path, `{agents: [`)
	r = next(t, reloads)
	require.ErrorContains(t, r.err, "must be JSON5")
	require.Same(t, good, r.config)

	require.NoError(t, os.Remove(path))
	r = next(t, reloads)
	require.ErrorContains(t, r.err, "no such file")
	require.Same(t, good, r.config)

	replaceFile(t, path, `{agents: ['four']}`)
	r = next(t, reloads)
	require.NoError(t, r.err)
	require.Equal(t, []string{"four"}, r.config.Policy.Agents)

	// A comment changes nothing and is not reported; the edit after it is.
	replaceFile(t, path, `{agents: ['four']} // same`)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "configuration unchanged") }, time.Minute, 10*time.Millisecond)
	replaceFile(t, path, `{agents: ['five']}`)
	require.Equal(t, []string{"five"}, next(t, reloads).config.Policy.Agents)
}

func TestWatchFollowsLinks(t *testing.T) {
	// The way a Kubernetes ConfigMap is replaced: the file is a link through
	// a directory that is itself a link, and only that one changes.
	dir := t.TempDir()
	for version, agent := range map[string]string{"v1": "one", "v2": "two"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "hint.json5"), []byte(`{agents: '`+agent+`'}`), 0o600))
	}
	require.NoError(t, os.Symlink("v1", filepath.Join(dir, "data")))
	path := filepath.Join(dir, "hint.json5")
	require.NoError(t, os.Symlink("data/hint.json5", path))
	running, _, err := load(t, map[string]string{"HINT_CONFIG": path})
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, running.Policy.Agents)

	reloads, _ := watching(t, running)
	require.NoError(t, os.Symlink("v2", filepath.Join(dir, "fresh")))
	require.NoError(t, os.Rename(filepath.Join(dir, "fresh"), filepath.Join(dir, "data")))
	require.Equal(t, []string{"two"}, next(t, reloads).config.Policy.Agents)
}

func TestWatchReportsAnEditFromBeforeItsStart(t *testing.T) {
	path := write(t, "hint.json5", `{agents: 'one'}`)
	running, _, err := load(t, map[string]string{"HINT_CONFIG": path})
	require.NoError(t, err)
	replaceFile(t, path, `{agents: 'two'}`)
	reloads, _ := watching(t, running)
	require.Equal(t, []string{"two"}, next(t, reloads).config.Policy.Agents)
}

func TestVariablesTakeThePlaceOfTheEnvironment(t *testing.T) {
	path := write(t, "hint.json5", `{minConfidence: 0.3}`)
	setenv(t, map[string]string{"HINT_CONFIG": "/nowhere", "HINT_AGENTS": "the environment's", "HINT_MIN_CONFIDENCE": "0.9", "HINT_JUGGLE": "1"})
	variables := map[string]string{"HINT_CONFIG": path, "HINT_AGENTS": "given", "HINT_QUERY_MODE": ""}
	running, warnings, err := LoadFrom(variables)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, []string{"given"}, running.Policy.Agents)
	require.InDelta(t, 0.3, running.Classifier.MinConfidence, 0)
	require.Equal(t, conversation.ModeRecent, running.Query.Mode)

	variables["HINT_AGENTS"] = "changed"
	replaceFile(t, path, `{minConfidence: 0.4, agents: 'file'}`)
	reloads, _ := watching(t, running)
	r := next(t, reloads)
	require.NoError(t, r.err)
	require.Equal(t, []string{"given"}, r.config.Policy.Agents, "the variables stay")
	require.InDelta(t, 0.4, r.config.Classifier.MinConfidence, 0)
}

// Whoever turns a part off in the file leaves out its other fields, too. Until the
// restart it must not run on with their defaults.
func TestAPartThatIsTurnedOffKeepsItsSettings(t *testing.T) {
	path := write(t, "hint.json5", `{triage: {enabled: true, groups: ['g'], botName: 'claw'}, knowhub: {enabled: true, recall: 3, shareExperiences: false}}`)
	running, _, err := load(t, map[string]string{"HINT_CONFIG": path})
	require.NoError(t, err)
	for _, content := range []string{`{agents: 'two'}`, `{agents: 'two', triage: {enabled: false}, knowhub: {enabled: false}}`} {
		got, err := running.replace(newSnapshot([]byte(content), nil), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.Equal(t, []string{"two"}, got.Policy.Agents)
		require.Equal(t, running.Parts, got.Parts)
	}
}

func TestSettingsThatNeedARestartKeepTheirValues(t *testing.T) {
	path := write(t, "hint.json5", `{}`)
	running, _, err := load(t, map[string]string{"HINT_CONFIG": path})
	require.NoError(t, err)
	log := new(journal)
	content := []byte(`{agents: 'two', natsUrl: 'nats://elsewhere:4222', stream: 'OTHERS', httpAddr: 'off', dataDir: 'there', historyLimit: 5, triage: {enabled: true, botName: 'claw'}, knowhub: {enabled: true, token: 't', recall: 2}, httpToken: 't'}`)
	got, err := running.replace(newSnapshot(content, nil), slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, got.Policy.Agents)
	require.Equal(t, running.Bus, got.Bus)
	require.Equal(t, running.HTTP, got.HTTP)
	require.Equal(t, running.Store, got.Store)
	require.Equal(t, running.DataDir, got.DataDir)
	gate, hub := triage.Declared.In(got.Parts), knowhub.Declared.In(got.Parts)
	require.False(t, gate.Enabled)
	require.Equal(t, "claw", gate.BotName)
	require.False(t, hub.Enabled)
	require.Empty(t, hub.Token)
	require.Equal(t, 2, hub.Recall)
	for _, name := range []string{"HINT_TRIAGE", "HINT_KNOWHUB", "HINT_HTTP_TOKEN", "HINT_NATS_URL", "HINT_STREAM", "HINT_HTTP_ADDR", "HINT_DATA_DIR", "HINT_HISTORY_LIMIT"} {
		require.Contains(t, log.String(), "variable="+name)
	}
	require.NotContains(t, log.String(), "variable=HINT_AGENTS")
}

// Whoever may edit the file must not send a key of the process to another address.
func TestProvidersAreTakenAtAStartOnly(t *testing.T) {
	const started = `{agents: 'one', providers: {mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'MINE'}, openai: {baseUrl: 'https://proxy.example.com'}}}`
	for _, row := range []struct{ name, providers, kept string }{
		{"as they were", `mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'MINE'}, openai: {baseUrl: 'https://proxy.example.com'}`, ""},
		{"another address", `mine: {baseUrl: 'https://evil.example.com', apiKeyEnv: 'MINE'}, openai: {baseUrl: 'https://proxy.example.com'}`, "mine"},
		{"another key", `mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'AWS_SECRET_ACCESS_KEY'}, openai: {baseUrl: 'https://proxy.example.com'}`, "mine"},
		{"another format", `mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'MINE', api: 'anthropic-messages'}, openai: {baseUrl: 'https://proxy.example.com'}`, "mine"},
		{"a new one", `evil: {baseUrl: 'https://evil.example.com', apiKeyEnv: 'AWS_SECRET_ACCESS_KEY'}, mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'MINE'}, openai: {baseUrl: 'https://proxy.example.com'}`, "evil"},
		{"a built-in one with another address", `google: {baseUrl: 'https://evil.example.com'}, mine: {baseUrl: 'https://models.example.com', apiKeyEnv: 'MINE'}, openai: {baseUrl: 'https://proxy.example.com'}`, "google"},
		{"none", ``, "mine, openai"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := write(t, "hint.json5", started)
			running, _, err := load(t, map[string]string{"HINT_CONFIG": path})
			require.NoError(t, err)
			reloads, log := watching(t, running)
			replaceFile(t, path, `{agents: 'two', providers: {`+row.providers+`}}`)
			r := next(t, reloads)
			require.NoError(t, r.err)
			require.Equal(t, []string{"two"}, r.config.Policy.Agents)
			require.Equal(t, running.Classifier.Providers, r.config.Classifier.Providers)
			if row.kept == "" {
				require.NotContains(t, log.String(), "HINT_PROVIDERS")
				return
			}
			require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
			require.Contains(t, log.String(), row.kept)
			require.Contains(t, log.String(), "need a restart")
			require.Contains(t, log.String(), "file="+path)
		})
	}
}

func TestAFileThatOthersMayWriteIsAWarning(t *testing.T) {
	for _, row := range []struct {
		mode os.FileMode
		warn bool
	}{{0o600, false}, {0o644, false}, {0o664, true}, {0o622, true}, {0o666, true}} {
		t.Run(row.mode.String(), func(t *testing.T) {
			path := write(t, "hint.json5", `{}`)
			require.NoError(t, os.Chmod(path, row.mode))
			_, warnings, err := load(t, map[string]string{"HINT_CONFIG": path})
			require.NoError(t, err)
			require.Equal(t, row.warn, len(warnings) == 1, warnings)
			if row.warn {
				require.Equal(t, "HINT_CONFIG", warnings[0].Variable)
				require.Contains(t, warnings[0].Message, path+": others may write this file")
			}
		})
	}
	t.Run("once it may be written", func(t *testing.T) {
		path := write(t, "hint.json5", `{}`)
		running, warnings, err := load(t, map[string]string{"HINT_CONFIG": path})
		require.NoError(t, err)
		require.Empty(t, warnings)
		_, log := watching(t, running)
		require.NoError(t, os.Chmod(path, 0o666)) //nolint:gosec // on purpose
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "others may write this file") }, time.Minute, 10*time.Millisecond)
	})
}

func TestProvidersWithoutEncryptionAreAWarning(t *testing.T) {
	for _, row := range []struct {
		url  string
		warn bool
	}{
		{"https://models.example.com/v1", false},
		{"http://127.0.0.1:11434/v1", false},
		{"http://localhost:11434/v1", false},
		{"http://[::1]:11434/v1", false},
		{"http://models.example.com/v1", true},
		{"http://10.0.0.7:8000/v1", true},
		{" http://10.0.0.7:8000/v1", true},
		{"HTTP://10.0.0.7:8000/v1", true},
	} {
		t.Run(row.url, func(t *testing.T) {
			_, warnings, err := load(t, map[string]string{"HINT_PROVIDERS": `{"mine": {"baseUrl": "` + row.url + `"}}`})
			require.NoError(t, err)
			require.Equal(t, row.warn, len(warnings) == 1, warnings)
			if row.warn {
				require.Equal(t, "HINT_PROVIDERS", warnings[0].Variable)
				require.Contains(t, warnings[0].Message, `"mine" is asked over http://`)
				require.NotContains(t, warnings[0].Message, "10.0.0.7", "an address may hold a secret")
			}
		})
	}
}

func TestWatchWithoutAFileReturns(t *testing.T) {
	Watch(t.Context(), &Config{}, slog.New(slog.DiscardHandler), nil)
}
