package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/model/provider/providertest"
)

func writeData(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return name
}

func line(text, intent string) string { return fmt.Sprintf(`{"text":%q,"intent":%q}`, text, intent) }

// eval runs the command in this process.
func eval(t *testing.T, env environment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = env.run(t.Context(), append([]string{"eval"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestEvalWaitsForTheBuiltInEncoder(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_EMBEDDING_MODEL": "builtin"})
	data := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"text": "should i take my coat when i leave the house", "intent": "WEATHER"}`+"\n"), 0o600))
	code, stdout, stderr := eval(t, env, "--data", data, "--json")
	require.Zero(t, code, stderr)
	var times struct{ LoadMs, EmbedMs float64 }
	require.NoError(t, json.Unmarshal([]byte(stdout), &times))
	require.Positive(t, times.LoadMs)
	require.Positive(t, times.EmbedMs)
}

func TestEvalJSON(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteIntents(t)
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": dir})
	data := writeData(t,
		line("will it rain tomorrow", "WEATHER"), line("how hot is it outside", "weather"),
		line("what is my bank balance", "MONEY"), line("pay my electricity bill", "WEATHER"),
		line("xqzv wkjp", "OTHER"), line("weather forecast for sunday", "OTHER"))
	code, stdout, stderr := eval(t, env, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	for _, name := range []string{"ece", "p50Us", "p99Us", "loadMs"} {
		require.Positive(t, fields[name], name)
		delete(fields, name)
	}
	require.Zero(t, fields["embedMs"])
	delete(fields, "embedMs")
	for _, name := range []string{"hinted", "hintPrecision", "oosHinted"} {
		require.Contains(t, fields, name)
		delete(fields, name) // TestEvalHints
	}
	require.Equal(t, map[string]any{
		"accuracy": 0.75, "accuracyForced": 0.75, "oosRecall": 0.5, "oosPrecision": 1.0, "n": 6.0, "nOos": 2.0,
	}, fields)

	code, stdout, stderr = eval(t, env, "--data", data, "--json", "--confusion")
	require.Zero(t, code, stderr)
	var confused struct {
		Confusion []map[string]any `json:"confusion"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &confused))
	require.Equal(t, []map[string]any{
		{"want": "OTHER", "got": "WEATHER", "n": 1.0, "example": "weather forecast for sunday"},
		{"want": "WEATHER", "got": "MONEY", "n": 1.0, "example": "pay my electricity bill"},
	}, confused.Confusion)
}

func TestEvalForPeople(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("pay my electricity bill", "WEATHER"), line("what is my bank balance", "MONEY"))
	code, stdout, stderr := eval(t, env, "--intents", apptest.WriteIntents(t), "--data", data)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr, "no progress bar without a terminal")
	require.Regexp(t, `(?m)^accuracy +66\.7 % +of 3 in scope$`, stdout)
	require.Regexp(t, `(?m)^out-of-scope recall +- +of 0 out of scope$`, stdout)
	require.Regexp(t, `(?ms)^INTENT +RECALL +PRECISION +N$.^WEATHER +50\.0 % +100\.0 % +2$.^MONEY +100\.0 % +50\.0 % +1$`, stdout)
	require.NotContains(t, stdout, "WANTED")

	code, stdout, stderr = eval(t, env, "--intents", apptest.WriteIntents(t), "--data", data, "--confusion")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^WEATHER +MONEY +1 +pay my electricity bill$`, stdout)
}

func TestEvalBundled(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	code, stdout, stderr := eval(t, env, "--json", "--data", writeData(t, line("can you review this PR before I merge it?", "CODE_REVIEW")))
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"accuracy": 1,`)
}

func TestEvalFaults(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteIntents(t)
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": dir})
	good := line("will it rain tomorrow", "WEATHER")
	for _, tc := range []struct {
		row  string
		args []string
		code int
		err  string
	}{
		{"no data", nil, exitUsage, "--data"},
		{"a file that is not there", []string{"--data", filepath.Join(dir, "gone.jsonl")}, exitFailed, "gone.jsonl"},
		{"an empty file", []string{"--data", writeData(t)}, exitFailed, "data.jsonl: no lines to evaluate"},
		{"a bad line", []string{"--data", writeData(t, good, "", "oops")}, exitFailed, "data.jsonl:3: not an object"},
		{"many bad lines, each at the start of a line", []string{"--data", writeData(t, "oops", good, `{"text":"a","intent":"A","history":[{"role":"user"}]}`)}, exitFailed, "data.jsonl:3: \"history\": item 1 has no"},
		{"UTF-16", []string{"--data", writeData(t, "\xff\xfe{\x00")}, exitFailed, "data.jsonl:1: not UTF-8"},
		{"a directory as data", []string{"--data", dir}, exitFailed, "is a directory"},
		{"predictions and the object on standard output", []string{"--data", writeData(t, good), "--predictions", "-"}, exitUsage, "--predictions - and --json"},
		{"predictions that cannot be written", []string{"--data", writeData(t, good), "--predictions", filepath.Join(dir, "no", "p")}, exitFailed, "no such file"},
		{"no such other directory", []string{"--data", writeData(t, good), "--against", filepath.Join(dir, "away")}, exitFailed, "away"},
		{"no intents in the other directory", []string{"--data", writeData(t, good), "--against", t.TempDir()}, exitFailed, "no enabled intents in "},
		{"no such directory", []string{"--data", writeData(t, good), "--intents", filepath.Join(dir, "away")}, exitFailed, "away"},
		{"no intents", []string{"--data", writeData(t, good), "--intents", t.TempDir()}, exitFailed, "no enabled intents in "},
	} {
		t.Run(tc.row, func(t *testing.T) {
			code, stdout, stderr := eval(t, env, append(tc.args, "--json")...)
			require.Equal(t, tc.code, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tc.err)
		})
	}
}

func TestEvalUnknownIntents(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("play jazz", "MUSIC"), line("louder", "MUSIC"), line("pay my bill", "MONEY"))
	code, stdout, stderr := eval(t, env, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `data.jsonl:2: the catalogue has no intent "MUSIC" (2 lines, counted as wrong)`)
	require.Contains(t, stdout, `"accuracy": 0.5,`)
}

func TestEvalModelThatFails(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	answer := `{"intent":"%s","reason":"r","goal":"g","confidence":1,"complexity":"low"}`
	model.Script(
		providertest.Answer{Text: fmt.Sprintf(answer, "WEATHER")},
		providertest.Answer{Text: fmt.Sprintf(answer, "OTHER")},
	)
	model.Always(providertest.Answer{Text: "I would rather not say."})
	env := settle(t, map[string]string{
		"HINT_CLASSIFIER": "llm", "HINT_MODEL": "mock/small", "HINT_INTENTS_DIR": apptest.WriteIntents(t),
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	})
	data := writeData(t, line("rain?", "WEATHER"), line("hmm", "OTHER"), line("snow?", "WEATHER"), line("zzz", "OTHER"))
	code, stdout, stderr := eval(t, env, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "2 of 4 messages got no answer and count as OTHER; the first error: ")
	var got workbench.Evaluation
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.InDelta(t, 0.5, got.Accuracy, 0)
	require.InDelta(t, 0.5, got.AccuracyForced, 0)
	require.InDelta(t, 1, got.OOSRecall, 0, "a failure is the fallback")
	require.InDelta(t, 2.0/3, got.OOSPrecision, 1e-12)
	// Two are sure and right; the failures have confidence 0, one of them is
	// right: |0+0-1| of four.
	require.InDelta(t, 0.25, got.ECE, 1e-12)
}

func TestEvalDoesNotOverwriteItsData(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	data := writeData(t, line("will it rain tomorrow", "WEATHER"))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(data, link))
	code, _, stderr := eval(t, env, "--data", data, "--predictions", link)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--predictions would overwrite --data")
	left, err := os.ReadFile(data)
	require.NoError(t, err)
	require.NotEmpty(t, left)
}

// evalModel is an environment with a model that gives the answers in turn.
func evalModel(t *testing.T, settings map[string]string, answers ...string) environment {
	t.Helper()
	model := providertest.New(t)
	var script []providertest.Answer
	for _, a := range answers {
		id, confidence, _ := strings.Cut(a, " ")
		script = append(script, providertest.Answer{Text: fmt.Sprintf(`{"intent":%q,"reason":"r","goal":"g","confidence":%s,"complexity":"low"}`, id, confidence)})
	}
	model.Script(script...)
	all := map[string]string{
		"HINT_CLASSIFIER": "llm", "HINT_MODEL": "mock/small", "HINT_INTENTS_DIR": apptest.WriteIntents(t),
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	}
	maps.Copy(all, settings)
	return settle(t, all)
}

func TestEvalHints(t *testing.T) {
	t.Parallel()
	data := func() string {
		return writeData(t, line("rain?", "WEATHER"), line("snow?", "WEATHER"), line("cash?", "MONEY"), line("hmm", "OTHER"), line("zzz", "OTHER"))
	}
	answers := []string{"WEATHER 0.9", "MONEY 0.6", "MONEY 0.4", "OTHER 0.8", "WEATHER 0.2"}
	for _, tc := range []struct {
		row, min string
		want     string
	}{
		{"the default", "", `"hinted": 0.6, "hintPrecision": 0.6666666666666666, "oosHinted": 0.5`},
		{"everything", "0", `"hinted": 1, "hintPrecision": 0.6, "oosHinted": 1`},
		{"a confidence at the threshold is enough", "0.9", `"hinted": 0.2, "hintPrecision": 1, "oosHinted": 0`},
		{"nothing", "1", `"hinted": 0, "hintPrecision": 0, "oosHinted": 0`},
	} {
		t.Run(tc.row, func(t *testing.T) {
			env := evalModel(t, map[string]string{"HINT_MIN_CONFIDENCE": tc.min}, answers...)
			code, stdout, stderr := eval(t, env, "--data", data(), "--json")
			require.Zero(t, code, stderr)
			require.Contains(t, strings.Join(strings.Fields(stdout), " "), tc.want)
			require.Contains(t, stdout, `"accuracy": 0.6666666666666666,`, "the accuracy does not know of the threshold")
		})
	}
}

func TestEvalPredictions(t *testing.T) {
	t.Parallel()
	answers := []string{"WEATHER 0.9", "MONEY 0.6", "OTHER 0.4"}
	lines := []string{
		`{"text":"rain?","intent":"weather","extra":1}`, "",
		`{"text":"pay & <pray>","intents":["WEATHER","MONEY"],"history":[{"role":"user","text":"hello"}]}`,
		line("hmm", "WEATHER"), line("no answer", "OTHER"),
	}
	const want = `{"line":1,"text":"rain?","intent":"WEATHER","predicted":"WEATHER","confidence":0.9,"source":"llm","correct":true,"hinted":true}
{"line":3,"text":"pay & <pray>","intent":"WEATHER","intents":["WEATHER","MONEY"],"history":[{"role":"user","text":"hello"}],"predicted":"MONEY","confidence":0.6,"source":"llm","correct":true,"hinted":true}
{"line":4,"text":"hmm","intent":"WEATHER","predicted":"OTHER","confidence":0.4,"source":"llm","correct":false,"hinted":false}
{"line":5,"text":"no answer","intent":"OTHER","predicted":"OTHER","confidence":0,"correct":true,"hinted":false}
`
	// plain drops what depends on the local classifier and on the error's words.
	plain := func(t *testing.T, got string) string {
		t.Helper()
		require.Equal(t, 3, strings.Count(got, `"runnerUp":"`)-strings.Count(got, `"runnerUp":""`))
		require.Equal(t, 1, strings.Count(got, `"error":"`))
		return regexp.MustCompile(`"(runnerUp|error)":"[^"]*",?|"runnerUpConfidence":[^,]*,`).ReplaceAllString(strings.ReplaceAll(got, `,"error"`, `"error"`), "")
	}
	t.Run("to a file", func(t *testing.T) {
		env := evalModel(t, nil, answers...)
		file := filepath.Join(t.TempDir(), "p.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("old", 1000)), 0o600))
		code, stdout, stderr := eval(t, env, "--data", writeData(t, lines...), "--json", "--predictions", file)
		require.Zero(t, code, stderr)
		require.True(t, json.Valid([]byte(stdout)))
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, plain(t, string(got)))

		// The predictions are data again.
		env = evalModel(t, nil, answers...)
		again := filepath.Join(t.TempDir(), "again.jsonl")
		code, _, stderr = eval(t, env, "--data", file, "--json", "--predictions", again)
		require.Zero(t, code, stderr)
		second, err := os.ReadFile(again)
		require.NoError(t, err)
		require.Equal(t, strings.NewReplacer(`"line":3`, `"line":2`, `"line":4`, `"line":3`, `"line":5`, `"line":4`).Replace(want), plain(t, string(second)))
	})
	t.Run("to standard output", func(t *testing.T) {
		env := evalModel(t, nil, answers...)
		code, stdout, stderr := eval(t, env, "--data", writeData(t, lines...), "--predictions", "-", "--wrong")
		require.Zero(t, code, stderr)
		require.Equal(t, want, plain(t, stdout))
		require.Contains(t, stderr, "accuracy")
		require.Contains(t, stderr, "WRONG (1 of 4)")
	})
}

func TestEvalHistory(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	follow := func(role string) string {
		return fmt.Sprintf(`{"text":"what about the other one?","intent":"WEATHER","history":[{"role":%q,"text":"weather forecast for sunday"},{"role":"assistant","text":"Sun."}]}`, role)
	}
	code, stdout, stderr := eval(t, env, "--json", "--data", writeData(t, follow("user")))
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, `"accuracy": 1,`)
	require.Contains(t, stdout, `"accuracyForced": 1,`)

	code, stdout, stderr = eval(t, env, "--json", "--data", writeData(t, follow("human")))
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `data.jsonl:1: no classifier sees turns of role "human" (1 turn)`)
	require.Contains(t, stdout, `"accuracy": 0,`)

	env["HINT_QUERY_MODE"] = "message"
	code, stdout, stderr = eval(t, env, "--json", "--data", writeData(t, follow("user")))
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"accuracy": 0,`)
}

func TestEvalWrong(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("pay my electricity bill now", "WEATHER"), line("xqzv wkjp", "MONEY"))
	code, stdout, stderr := eval(t, env, "--data", data, "--json", "--wrong", "--thresholds")
	require.Zero(t, code, stderr)
	var got workbench.Evaluation
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Thresholds, 20)
	require.Len(t, got.Wrong, 2)
	w := got.Wrong[0]
	require.Equal(t, "pay my electricity bill now", w.Text)
	require.Equal(t, "WEATHER", w.Intent)
	require.Equal(t, 2, w.Line)
	require.Equal(t, "MONEY", w.Predicted)
	require.Equal(t, "pay my electricity bill", w.MisledBy)
	require.NotEqual(t, "MONEY", w.RunnerUp)
	require.NotEmpty(t, w.RunnerUp)
	require.Positive(t, w.Similarity)
	require.Equal(t, "OTHER", got.Wrong[1].Predicted)

	code, stdout, stderr = eval(t, env, "--data", writeData(t, line("will it rain tomorrow", "WEATHER")), "--json", "--wrong", "--confusion")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"wrong": []`)
	require.Contains(t, stdout, `"confusion": []`)
}

func TestEvalAgainst(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	other := apptest.WriteIntents(t)
	require.NoError(t, os.WriteFile(filepath.Join(other, "music.md"),
		[]byte("---\ntriggers: [music]\nexamples: [play jazz, turn the song louder, play my favourite album, xqzv wkjp]\n---\n"), 0o600))
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("play jazz", "MUSIC"), line("xqzv wkjp", "OTHER"))
	code, stdout, stderr := eval(t, env, "--data", data, "--json", "--against", other)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `data.jsonl:2: the catalogue has no intent "MUSIC" (1 line, counted as wrong)`)
	require.NotContains(t, stderr, other)
	var got workbench.Evaluation
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.InDelta(t, 0.5, got.Accuracy, 0)
	require.InDelta(t, 1, got.Against.Accuracy, 0)
	require.Equal(t, other, got.Against.Intents)
	require.Positive(t, got.Against.LoadMs)
	require.Len(t, got.Against.Better, 1)
	require.Equal(t, "play jazz", got.Against.Better[0].Text)
	require.Equal(t, "MUSIC", got.Against.Better[0].After.Predicted)
	require.True(t, got.Against.Better[0].After.Correct)
	require.Len(t, got.Against.Worse, 1)
	require.Equal(t, 3, got.Against.Worse[0].Line)
	require.NotNil(t, got.Against.Changed)

	code, _, stderr = eval(t, env, "--data", data, "--intents", other, "--against", apptest.WriteIntents(t))
	require.Zero(t, code, stderr)
	require.Regexp(t, `data.jsonl:2: the catalogue in /.* has no intent "MUSIC"`, stderr)
}

func TestEvalReadsStandardInput(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	cfg := env.config(t)
	for _, tc := range []struct {
		row, in, err string
	}{
		{row: "lines", in: line("will it rain tomorrow", "WEATHER")},
		{row: "a bad line", in: "oops", err: "stdin:1: not an object"},
		{row: "nothing", err: "stdin: no lines to evaluate"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			inv := &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdin: strings.NewReader(tc.in), Stdout: &stdout, Stderr: &stderr}
			err := (&workbench.Eval{Data: "-", JSON: true}).Run(inv)
			if tc.err == "" {
				require.NoError(t, err)
				require.Contains(t, stdout.String(), `"accuracy": 1,`)
				return
			}
			require.Error(t, err)
			require.Contains(t, stderr.String()+err.Error(), tc.err)
		})
	}
}

func TestEvalOfOddData(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	huge := line(strings.Repeat("will it rain tomorrow ", 100_000), "WEATHER")
	foreign := make([]string, 0, 30)
	for i := range 30 {
		foreign = append(foreign, line("x", fmt.Sprintf("GONE_%d", i)))
	}
	for _, tc := range []struct {
		row, data, stderr string
		n                 int
	}{
		{"a byte order mark and carriage returns", "\ufeff" + line("rain", "WEATHER") + "\r\n\r\n" + line("cash", "MONEY"), "", 2},
		{"a line twice", line("rain", "WEATHER") + "\n" + line("rain", "WEATHER"), "", 2},
		{"a line of megabytes", huge, "", 1},
		{"many foreign intents", strings.Join(foreign, "\n"), "10 intents more that the catalogue does not have", 30},
		{"control characters", `{"text":"rain\u0000\u001b[31m","intent":"MONEY"}`, "", 1},
	} {
		t.Run(tc.row, func(t *testing.T) {
			data := writeData(t, tc.data)
			code, stdout, stderr := eval(t, env, "--data", data, "--json", "--wrong", "--against", apptest.WriteIntents(t))
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, fmt.Sprintf(`"n": %d,`, tc.n))
			require.Contains(t, stderr, tc.stderr)
			code, stdout, stderr = eval(t, env, "--data", data, "--wrong", "--thresholds", "--confusion", "--against", apptest.WriteIntents(t))
			require.Zero(t, code, stderr)
			require.NotContains(t, stdout, "\x1b")
			for l := range strings.Lines(stdout) {
				require.Less(t, len(l), 500)
			}
		})
	}
}
