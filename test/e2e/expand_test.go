//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

// expandable returns a system with two intents, and a model that knows one more
// example for the lamp, whose file of examples does not exist yet.
func expandable(t *testing.T) (s *system, m model, examples string) {
	t.Helper()
	m = newModel(t)
	m.Handle(func(r providertest.Request) providertest.Answer {
		if strings.HasPrefix(r.User, `<intent id="LAMP"`) {
			return providertest.Answer{Text: "<think>hm</think>```json\n[\"it is too dark in here\", \"Switch on the lamp!\"]\n```"}
		}
		return providertest.Answer{Status: 401, Message: "no"}
	})
	s = newSystem(t, m.settings("hedged"))
	dir := filepath.Join(s.dir, "intents")
	write(t, filepath.Join(dir, "lamp.md"), intent("LAMP", "switch on the lamp", "Prompt."))
	write(t, filepath.Join(dir, "door.md"), intent("DOOR", "lock the front door", "Prompt."))
	s.env["HINT_INTENTS_DIR"] = dir
	return s, m, filepath.Join(dir, "lamp.examples.txt")
}

func TestIntentsExpand(t *testing.T) {
	t.Parallel()
	s, m, examples := expandable(t)
	r := s.run("intents", "expand", "LAMP")
	require.Equal(t, 1, r.code, "there is no terminal to confirm on")
	require.Contains(t, r.stderr, "--yes")
	require.Zero(t, m.Count(), "no model is paid for that")
	require.Contains(t, s.run("intents", "expand", "--dry-run", "LAMP").stdout, "+++ "+examples)
	require.NoFileExists(t, examples)

	r = s.run("intents", "expand", "--json", "--yes")
	require.Equal(t, 1, r.code, "one of two intents failed")
	var out struct {
		Intents []struct {
			Intent, Error string
			Added         []string
		}
		Written []string
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &out), r.stdout)
	require.Len(t, out.Intents, 2)
	require.Contains(t, out.Intents[0].Error, "401")
	require.Equal(t, []string{"it is too dark in here"}, out.Intents[1].Added)
	require.Equal(t, []string{examples}, out.Written)
	got, err := os.ReadFile(examples)
	require.NoError(t, err)
	require.Equal(t, "it is too dark in here\n", string(got))
	require.Equal(t, 3, m.Count())
	require.Zero(t, s.run("intents", "lint").code)

	s.env["HINT_CLASSIFIER"] = "local"
	r = s.run("classify", "--json", "It is too dark in here.")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, `"intent": "LAMP"`)

	s.env["HINT_MODEL"] = ""
	r = s.run("intents", "expand", "--yes")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "HINT_MODEL")
}

func TestIntentsExpandInterrupted(t *testing.T) {
	t.Parallel()
	s, m, examples := expandable(t)
	m.Script(providertest.Answer{Text: `["open sesame"]`}, providertest.Answer{Hang: true})
	p := s.start("intents", "expand", "--yes")
	require.Eventually(t, func() bool { return m.Count() == 2 }, patient, tick)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 1, p.wait(patient))
	require.Contains(t, p.stderr.String(), "nothing was changed")
	require.Contains(t, p.stdout.String(), "+open sesame\n", "examples already received are shown")
	entries, err := os.ReadDir(filepath.Dir(examples))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the two intents")
}
