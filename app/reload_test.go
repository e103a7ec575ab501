package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/events"
)

func TestReloadsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "config.json5")
	replace := func(path, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	replace(file, `{}`)
	s := start(t, map[string]string{"HINT_CONFIG": file, "HINT_INTENTS_DIR": dir})
	logged := func(texts ...string) (n int) {
	lines:
		for line := range strings.Lines(s.Log.String()) {
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue lines
				}
			}
			n++
		}
		return n
	}
	require.Equal(t, 1, logged(`"level":"WARN"`, "no usable intent files", "HINT_INTENTS_DIR", dir), "at the start")

	require.NoError(t, os.CopyFS(dir, os.DirFS(apptest.WriteIntents(t))))
	s.Eventually("the intents are reloaded", func() bool { return logged(`"msg":"intents`, `"intents":2`) > 0 })
	require.Equal(t, 1, logged("intents have few examples", `"count":2`, "consumer intents lint --advise"))
	replace(file, `{minConfidence: 0.1}`)
	s.Eventually("the configuration is reloaded", func() bool { return logged("configuration reloaded") > 0 })
	require.NoError(t, os.Remove(filepath.Join(dir, "money.md")))
	s.Eventually("the intents are reloaded again", func() bool { return logged("intents reloaded", `"intents":1`) > 0 })
	require.NoError(t, os.Remove(filepath.Join(dir, "weather.md")))
	s.Eventually("the directory is empty", func() bool { return logged("intents reloaded", `"intents":0`) > 0 })

	require.Equal(t, 1, logged("configuration"), "lines about the configuration")
	require.Equal(t, 1, logged(`"intents":1`), "lines about the intents")
	require.Equal(t, 2, logged(`"level":"WARN"`, "no usable intent files"), "at the start and at the reload")
}

// Events begin turns by the settings in force.
func TestEventsFollowReloads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json5")
	replace := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	replace(`{agents: "ops"}`)
	s := start(t, map[string]string{"HINT_CONFIG": file})
	s.Tell(s.Prompt("before", "r1", "mail alice@example.com"))
	s.Eventually("the event is decided about", func() bool {
		place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Applied == 1
	})
	replace(`{agents: "main", redact: "strict"}`)
	s.Eventually("the configuration is reloaded", func() bool { return strings.Contains(s.Log.String(), "configuration reloaded") })
	s.Tell(s.Prompt("after", "r1", "mail alice@example.com"))
	s.Eventually("the turn", func() bool { return s.Document("after") != nil })
	current, _ := s.Document("after")["current"].(map[string]any)
	require.Equal(t, "mail [EMAIL]", current["input"])
	require.Nil(t, s.Document("before"))
}
