package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
)

// A session that is held out is classified and recorded, and other contributions
// to its prompt are as ever. A reload changes the share, not the answer to a retry.
func TestHoldout(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json5")
	replace := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	replace(`{holdout: 1}`)
	s := apptest.Start(t, map[string]string{"HINT_CONFIG": file, "HINT_KNOWHUB": hubOn})
	ask := func(run string) (skip, intent, body string) {
		reply := s.Ask(s.Prompt("s1", run, "please write a unit test for the parser"), time.Minute)
		return reply.Header.Get("Hint-Skip"), reply.Header.Get("Hint-Intent"), string(reply.Data)
	}
	skip, intent, body := ask("r1")
	require.Equal(t, "holdout", skip)
	require.NotEmpty(t, intent)
	require.NotContains(t, body, "intention_hint_plugin")
	require.Contains(t, body, "knowhub-reminder", "experiences are not affected")
	s.Eventually("the turn is in the session", func() bool { return s.Document("s1") != nil })
	recorded := func() map[string]any {
		current, _ := s.Document("s1")["current"].(map[string]any)
		out, _ := current["intent"].(map[string]any)
		return out
	}
	require.Equal(t, true, recorded()["heldOut"])
	require.Equal(t, "holdout", recorded()["skip"])
	result, _ := recorded()["result"].(map[string]any)
	require.Equal(t, intent, result["intent"])

	replace(`{holdout: 0}`)
	s.Eventually("the configuration is reloaded", func() bool { return strings.Contains(s.Log.String(), "configuration reloaded") })
	skip, _, _ = ask("r1")
	require.Equal(t, "holdout", skip, "a retry")
	skip, _, body = ask("r2")
	require.Empty(t, skip)
	require.Contains(t, body, "intention_hint_plugin")
	s.Eventually("the next turn is in the session", func() bool {
		current, _ := s.Document("s1")["current"].(map[string]any)
		return current["runId"] == "r2"
	})
	require.NotContains(t, recorded(), "heldOut", "while none is held out")
}
