package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/workbench"
)

func TestClassifyJSONHasCamelCaseNames(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	var stdout, stderr apptest.Buffer
	require.Zero(t, env.run(t.Context(), []string{"classify", "--json", "will it rain tomorrow"}, &stdout, &stderr), stderr.String())
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got))
	var names func(any)
	names = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, element := range v {
				names(element)
			}
		case map[string]any:
			for name, value := range v {
				require.True(t, unicode.IsLower(rune(name[0])), name)
				names(value)
			}
		}
	}
	names(got)
	runnersUp := got["runnersUp"].([]any)
	require.NotEmpty(t, runnersUp)
	for _, name := range []string{"intent", "name", "probability"} {
		require.Contains(t, runnersUp[0], name)
	}
}

// The runners-up are of the tier that answered: words alone or the encoder.
func TestClassifyShowsTheRunnersUpOfItsAnswer(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": "", "HINT_EMBEDDING_MODEL": "builtin"})
	for source, message := range map[string]string{"local": "remind me at 8 to call mom", "embedding": "can you figure out why my neighbour dislikes jazz"} {
		var stdout, stderr apptest.Buffer
		require.Zero(t, env.run(t.Context(), []string{"classify", "--json", message}, &stdout, &stderr), stderr.String())
		var got workbench.Classified
		require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got))
		require.Equal(t, source, got.Source)
		require.Equal(t, []any{got.RunnerUp, got.RunnerUpConfidence}, []any{got.RunnersUp[0].Intent, got.RunnersUp[0].Probability})
	}
}

// A keyword is answered as a running consumer answers it (contract §6).
func TestClassifyAndEvalKnowKeywords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for id, keyword := range map[string]string{"greeting": "ahoy", "weather": "rain"} {
		file := "---\ntriggers: [any]\nexamples: [something else entirely]\nfastpath: {keywords: [" + keyword + "]}\n---\nBody.\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, id+".md"), []byte(file), 0o600))
	}
	model, settings := apptest.ModelSettings(t, map[string]string{"HINT_INTENTS_DIR": dir, "HINT_CLASSIFIER": "llm"})
	env := settle(t, settings)

	var stdout, stderr apptest.Buffer
	require.Zero(t, env.run(t.Context(), []string{"classify", "--json", "Ahoy "}, &stdout, &stderr), stderr.String())
	var got workbench.Classified
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got))
	require.Equal(t, []any{"GREETING", 1.0, "low", "fastpath"}, []any{got.Intent, got.Confidence, got.Complexity, got.Source})

	code, out, errs := eval(t, env, "--data", writeData(t, line("ahoy", "GREETING"), line("rain", "WEATHER")), "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"accuracy": 1,`)
	require.Empty(t, model.Requests(), "no model is asked")
}

func TestClassifySaysThatThereAreNoIntents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": dir})
	var stdout, stderr apptest.Buffer
	require.Zero(t, env.run(t.Context(), []string{"classify", "hello"}, &stdout, &stderr))
	require.Equal(t, "no usable intent files in "+dir+": every message is classified as OTHER\n", stderr.String())
	require.Contains(t, stdout.String(), "OTHER")
}

func TestClassifyExplainsWhatItRead(t *testing.T) {
	t.Parallel()
	const framed = "[Fri 2026-11-20 22:57 UTC] <acme-notes>\nbook a flight\n</acme-notes>\n\n[Replying to: \"book a table\"]\nwill it rain tomorrow?"
	env := settle(t, map[string]string{})
	var stdout, stderr apptest.Buffer
	require.Zero(t, env.run(t.Context(), []string{"classify", "--explain", framed}, &stdout, &stderr), stderr.String())
	for _, want := range []string{
		`words\s+"will it rain tomorrow\?"`, `quoted\s+"book a table"`, `removed\s+envelope: "\[Fri 2026-11-20 22:57 UTC\]"`,
		`removed\s+plugin block: "<acme-notes>\\nbook a flight`, `removed\s+reply: "\[Replying to`, `intent\s+RESEARCH_REALTIME`,
	} {
		require.Regexp(t, want, stdout.String())
	}
	stdout = apptest.Buffer{}
	require.Zero(t, env.run(t.Context(), []string{"classify", "--json", "--explain", framed}, &stdout, &stderr), stderr.String())
	var out struct {
		Intent      string
		Explanation struct {
			Words   string
			Quoted  []string
			Removed []struct{ Frame, Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &out))
	require.Equal(t, "will it rain tomorrow?", out.Explanation.Words)
	require.Equal(t, []string{"book a table"}, out.Explanation.Quoted)
	require.Len(t, out.Explanation.Removed, 3)
	stdout = apptest.Buffer{}
	require.Zero(t, env.run(t.Context(), []string{"classify", "--explain", "<media:image>"}, &stdout, &stderr), stderr.String())
	require.Equal(t, "words    \"\"\nremoved  tag <media:image>: \"<media:image>\"\n", stdout.String())
	require.Equal(t, exitUsage, env.run(t.Context(), []string{"classify", "[message_id: 3]"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "no words of a user are left")
	stderr = apptest.Buffer{}
	require.Equal(t, exitUsage, env.run(t.Context(), []string{"classify", " "}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "missing text")
}
