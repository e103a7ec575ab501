package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/intents"
	"intenthint/model/provider/providertest"
)

// suggestions is a model that knows two more wordings for each of the intents
// of writeIntents, and repeats what MONEY has already.
func suggestions(r providertest.Request) providertest.Answer {
	switch {
	case strings.HasPrefix(r.User, `<intent id="WEATHER"`):
		return providertest.Answer{Text: `{"examples": ["Will it rain tomorrow?", "do I need an umbrella: yes or no", "how hot is it outside now", "sunglasses today"]}`}
	case strings.HasPrefix(r.User, `<intent id="MONEY"`):
		return providertest.Answer{Text: `{"examples": ["weather forecast for Sunday", "Pay my electricity bill!"]}`}
	default:
		return providertest.Answer{Text: `["one more of these"]`}
	}
}

// withSuggestions sets the process up for `consumer intents expand`, with a
// scripted model and a directory of intents.
func withSuggestions(t *testing.T, settings map[string]string) (env environment, model *providertest.Server, dir string) {
	t.Helper()
	model, dir = providertest.New(t), apptest.WriteIntents(t)
	model.Handle(suggestions)
	all := map[string]string{
		"HINT_MODEL": "mock/big", "HINT_INTENTS_DIR": dir,
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	}
	maps.Copy(all, settings)
	return settle(t, all), model, dir
}

// expandIntents runs the command in this process.
func expandIntents(t *testing.T, env environment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = env.run(t.Context(), append([]string{"intents", "expand"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// content is what is in the files of a directory, by name.
func content(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	entries, err := fs.ReadDir(fsys, ".")
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		data, err := fs.ReadFile(fsys, e.Name())
		require.NoError(t, err)
		out[e.Name()] = string(data)
	}
	return out
}

const addedLines = "do I need an umbrella: yes or no\nsunglasses today\n"

func TestExpandWritesTheIntentFiles(t *testing.T) {
	t.Parallel()
	env, _, dir := withSuggestions(t, nil)
	before := content(t, os.DirFS(dir))
	require.NoError(t, os.Chmod(filepath.Join(dir, "weather.md"), 0o640))

	code, stdout, stderr := expandIntents(t, env, "--dry-run")
	require.Zero(t, code, stderr)
	require.Equal(t, before, content(t, os.DirFS(dir)), "only looked")
	path := filepath.Join(dir, "weather.examples.txt")
	require.Equal(t, fmt.Sprintf(`--- /dev/null
+++ %s
@@ -0,0 +1,2 @@
+do I need an umbrella: yes or no
+sunglasses today
`, path), stdout)

	code, again, stderr := expandIntents(t, env, "--yes")
	require.Zero(t, code, stderr)
	require.Equal(t, stdout, again)
	for _, line := range []string{
		`^\[1/2\] MONEY: 0 examples from mock/big, 2 dropped \(1 repeated, 1 taken\), \d+\.\d s$`,
		`^\[2/2\] WEATHER: 2 examples from mock/big, 2 dropped \(1 repeated, 1 similar\), \d+\.\d s$`,
		`^MONEY: dropped “weather forecast for Sunday”: an example of WEATHER$`,
		`^MONEY: dropped “Pay my electricity bill!”: already an example$`,
		`^WEATHER: dropped “how hot is it outside now”: nearly the same as “how hot is it outside”$`,
		`^2 new examples for 2 intents, 4 dropped; 200 tokens in, 40 out$`,
		`^1 file written$`,
	} {
		require.Regexp(t, "(?m)"+line, stderr)
	}
	require.NotContains(t, stderr, "\x1b", "no progress bar without a terminal")

	after := content(t, os.DirFS(dir))
	require.Equal(t, addedLines, after["weather.examples.txt"])
	delete(after, "weather.examples.txt")
	require.Equal(t, before, after, "the intent files stay")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	require.Empty(t, intents.Lint(os.DirFS(dir)))

	code, stdout, stderr = expandIntents(t, env, "--yes")
	require.Zero(t, code, stderr)
	require.Empty(t, stdout, "nothing is new the second time")
	require.NotContains(t, stderr, "written")
}

func TestExpandRefusesBeforeItAsksAModel(t *testing.T) {
	t.Parallel()
	env, model, dir := withSuggestions(t, nil)
	before := content(t, os.DirFS(dir))
	for arg, why := range map[string]string{"--count=20": "standard input is not a terminal, add --yes", "--json": "--json never asks, add --yes or --dry-run"} {
		code, stdout, stderr := expandIntents(t, env, arg)
		require.Equal(t, exitFailed, code)
		require.Empty(t, stdout)
		require.Equal(t, "consumer: nothing was changed: "+why+"\n", stderr)
		require.Equal(t, before, content(t, os.DirFS(dir)))
	}
	require.Zero(t, model.Count())
}

func TestExpandJSON(t *testing.T) {
	t.Parallel()
	env, _, dir := withSuggestions(t, nil)
	code, stdout, stderr := expandIntents(t, env, "--json", "--yes", "weather")
	require.Zero(t, code, stderr)
	require.JSONEq(t, fmt.Sprintf(`{
		"intents": [{
			"intent": "WEATHER", "file": "weather.examples.txt", "model": "mock/big",
			"added": ["do I need an umbrella: yes or no", "sunglasses today"],
			"dropped": [
				{"text": "Will it rain tomorrow?", "reason": "repeated"},
				{"text": "how hot is it outside now", "reason": "similar", "of": "how hot is it outside"}
			]
		}],
		"written": [%q],
		"tokens": {"input": 100, "output": 20}
	}`, filepath.Join(dir, "weather.examples.txt")), stdout)
}

func TestExpandRequest(t *testing.T) {
	t.Parallel()
	env, model, _ := withSuggestions(t, nil)
	code, _, stderr := expandIntents(t, env, "--dry-run", "--count", "1", "WEATHER", "weather")
	require.Zero(t, code, stderr)
	require.Equal(t, 1, model.Count(), "an intent is asked for once")
	require.Contains(t, model.Requests()[0].User, "New examples wanted: 1\n")
	require.Contains(t, model.Requests()[0].User, "<neighbours>\n<intent id=\"MONEY\"")
	require.Contains(t, stderr, "dropped “sunglasses today”: more than requested")
}

func TestExpandSkipsDisabledIntents(t *testing.T) {
	t.Parallel()
	env, model, dir := withSuggestions(t, nil)
	const triggers = "\ntriggers: [t]\n---\nprompt\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "off.md"), []byte("---\nid: OFF\nenabled: false"+triggers), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.md"), []byte("---\nid: other"+triggers), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.md"), []byte("---\nid: BROKEN\n---\n"), 0o600))
	code, _, stderr := expandIntents(t, env, "--dry-run")
	require.Zero(t, code, stderr)
	require.Equal(t, 2, model.Count())
	require.Contains(t, stderr, filepath.Join(dir, "broken.md")+":1: triggers is missing")

	code, stdout, stderr := expandIntents(t, env, "--dry-run", "OTHER")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "other.examples.txt\n@@ -0,0 +1,1 @@\n+one more of these\n", "the fallback when it is named")
}

func TestExpandGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	env, model, dir := withSuggestions(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hello.md"), []byte("---\nid: HELLO\ntriggers: [greets]\n---\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hello.examples.txt"), []byte("hi\nhell\xff\n"), 0o600))
	model.Handle(func(r providertest.Request) providertest.Answer {
		if strings.HasPrefix(r.User, `<intent id="MONEY"`) {
			return providertest.Answer{Status: 500, Message: "down"}
		}
		return suggestions(r)
	})
	code, _, stderr := expandIntents(t, env, "--yes")
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `(?m)^\[1/3\] HELLO: failed: hello\.examples\.txt:2: the file is not valid UTF-8`, stderr)
	require.Regexp(t, `(?m)^\[2/3\] MONEY: failed: mock/big: HTTP status 500 Internal Server Error: down`, stderr)
	require.Contains(t, stderr, "2 new examples for 1 intent, 2 dropped, 2 intents failed")
	require.Equal(t, 2, model.Count(), "the model is not asked for a file that cannot be extended")
	require.Equal(t, addedLines, content(t, os.DirFS(dir))["weather.examples.txt"])
}

func TestExpandUsesTheFallbackAndWaits(t *testing.T) {
	t.Parallel()
	env, model, _ := withSuggestions(t, map[string]string{"HINT_MODEL": "mock/busy", "HINT_MODEL_FALLBACK": "mock/small"})
	busy := 0
	model.Handle(func(r providertest.Request) providertest.Answer {
		if r.Model == "busy" {
			if busy++; busy == 1 {
				return providertest.Answer{Status: 429, Message: "slow down", Header: http.Header{"Retry-After-Ms": {"20"}}}
			}
			return suggestions(r)
		}
		return providertest.Answer{Text: "I cannot think of any."}
	})
	code, _, stderr := expandIntents(t, env, "--dry-run", "WEATHER")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^WEATHER: mock/busy: HTTP status 429.*; asking again in 0s$`, stderr)
	require.Contains(t, stderr, "2 examples from mock/busy")
	require.Equal(t, 3, model.Count())
}

func TestExpandKeepsAConcurrentEdit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edited, want string
		code         int
		err          string
	}{
		"lines":         {"mine\n", "mine\n" + addedLines, 0, "1 file written"},
		"a broken file": {"m\xff", "m\xff", exitFailed, "not written: weather.examples.txt:1: the file is not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, model, dir := withSuggestions(t, nil)
			model.Handle(func(r providertest.Request) providertest.Answer {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "weather.examples.txt"), []byte(tc.edited), 0o600))
				return suggestions(r)
			})
			code, _, stderr := expandIntents(t, env, "--yes", "WEATHER")
			require.Equal(t, tc.code, code, stderr)
			require.Contains(t, stderr, tc.err)
			require.Equal(t, tc.want, content(t, os.DirFS(dir))["weather.examples.txt"])
		})
	}
}

func TestExpandInterrupted(t *testing.T) {
	t.Parallel()
	env, model, dir := withSuggestions(t, nil)
	before := content(t, os.DirFS(dir))
	ctx, cancel := context.WithCancel(t.Context())
	model.Script(providertest.Answer{Text: `["sunglasses today"]`})
	model.Handle(func(providertest.Request) providertest.Answer {
		cancel()
		return providertest.Answer{Hang: true}
	})
	var out, errs bytes.Buffer
	require.Equal(t, exitFailed, env.run(ctx, []string{"intents", "expand", "--yes"}, &out, &errs))
	require.Contains(t, errs.String(), "consumer: interrupted: nothing was changed\n")
	require.Contains(t, out.String(), "+sunglasses today\n", "answers that were paid for are shown")
	require.Equal(t, before, content(t, os.DirFS(dir)))
}

func TestExpandBuiltInDefinitions(t *testing.T) {
	t.Parallel()
	env, _, _ := withSuggestions(t, map[string]string{"HINT_INTENTS_DIR": ""})
	dir := filepath.Join(t.TempDir(), "mine", "intents")
	code, stdout, stderr := expandIntents(t, env, "--out", dir, "--yes", "TYPO")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "--- built-in/typo.examples.txt\n+++ "+filepath.Join(dir, "typo.examples.txt")+"\n")
	require.Contains(t, stderr, "set HINT_INTENTS_DIR="+dir+" to use them")
	want := content(t, intents.BundledFS())
	want["typo.examples.txt"] += "one more of these\n"
	require.Equal(t, want, content(t, os.DirFS(dir)))

	code, _, stderr = expandIntents(t, env, "--out", dir, "--yes", "TYPO")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "is not empty")
}

func TestExpandFaults(t *testing.T) {
	t.Parallel()
	env, model, dir := withSuggestions(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "off.md"), []byte("---\nid: OFF\nenabled: false\ntriggers: [t]\n---\n"), 0o600))
	for _, tc := range []struct {
		row      string
		settings map[string]string
		args     []string
		code     int
		err      string
	}{
		{"no model", map[string]string{"HINT_MODEL": ""}, nil, exitUsage, `HINT_MODEL="": must be provider/model`},
		{"a model that cannot be asked", map[string]string{"HINT_MODEL": "nobody/x"}, nil, exitFailed, `provider "nobody" is not configured`},
		{"nowhere to write", map[string]string{"HINT_INTENTS_DIR": ""}, []string{"--yes"}, exitUsage, "use --out DIR"},
		{"no examples", nil, []string{"--count", "0"}, exitUsage, "--count must be 1 to 100"},
		{"too many examples", nil, []string{"--count", "101"}, exitUsage, "--count must be 1 to 100"},
		{"no time", nil, []string{"--timeout", "0s"}, exitUsage, "--timeout must be positive"},
		{"writing and not writing", nil, []string{"--yes", "--dry-run"}, exitUsage, "cannot be used together"},
		{"the built-in fallback", nil, []string{"other"}, exitFailed, "OTHER is the built-in fallback"},
		{"no such intent", nil, []string{"MONEY", "HONEY"}, exitFailed, "unknown intent HONEY"},
		{"an intent that is off", nil, []string{"off"}, exitFailed, "intent off is not enabled"},
		{"no such directory", nil, []string{"--intents", filepath.Join(dir, "away")}, exitFailed, "away"},
		{"no intents", nil, []string{"--intents", t.TempDir()}, exitFailed, "no enabled intents in "},
		{"a place that is taken", nil, []string{"--out", dir}, exitFailed, dir + " is not empty"},
		{"a place that is a file", nil, []string{"--out", filepath.Join(dir, "off.md")}, exitFailed, "off.md"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			env := maps.Clone(env)
			maps.Copy(env, tc.settings)
			code, stdout, stderr := expandIntents(t, env, tc.args...)
			require.Equal(t, tc.code, code, stderr)
			require.Contains(t, stderr, tc.err)
			require.Empty(t, stdout)
		})
	}
	require.Zero(t, model.Count(), "no model is paid for any of these")
}
