package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/app/apptest"
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
func eval(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = runContext(t.Context(), append([]string{"eval"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestEvalJSON(t *testing.T) {
	dir := apptest.WriteIntents(t)
	apptest.Settle(t, map[string]string{"HINT_INTENTS_DIR": dir})
	data := writeData(t,
		line("will it rain tomorrow", "WEATHER"), line("how hot is it outside", "weather"),
		line("what is my bank balance", "MONEY"), line("pay my electricity bill", "WEATHER"),
		line("xqzv wkjp", "OTHER"), line("weather forecast for sunday", "OTHER"))
	code, stdout, stderr := eval(t, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	for _, name := range []string{"ece", "p50Us", "p99Us", "loadMs"} {
		require.Positive(t, fields[name], name)
		delete(fields, name)
	}
	require.Equal(t, map[string]any{
		"accuracy": 0.75, "accuracyForced": 0.75, "oosRecall": 0.5, "oosPrecision": 1.0, "n": 6.0, "nOos": 2.0,
	}, fields)

	code, stdout, stderr = eval(t, "--data", data, "--json", "--confusion")
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
	apptest.Settle(t, nil)
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("pay my electricity bill", "WEATHER"), line("what is my bank balance", "MONEY"))
	code, stdout, stderr := eval(t, "--intents", apptest.WriteIntents(t), "--data", data)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr, "no bar where no terminal is")
	require.Regexp(t, `(?m)^accuracy +66\.7 % +of 3 in scope$`, stdout)
	require.Regexp(t, `(?m)^out-of-scope recall +- +of 0 out of scope$`, stdout)
	require.Regexp(t, `(?ms)^INTENT +RECALL +PRECISION +N$.^WEATHER +50\.0 % +100\.0 % +2$.^MONEY +100\.0 % +50\.0 % +1$`, stdout)
	require.NotContains(t, stdout, "WANTED")

	code, stdout, stderr = eval(t, "--intents", apptest.WriteIntents(t), "--data", data, "--confusion")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^WEATHER +MONEY +1 +pay my electricity bill$`, stdout)
}

func TestEvalBundled(t *testing.T) {
	apptest.Settle(t, nil)
	code, stdout, stderr := eval(t, "--json", "--data", writeData(t, line("can you review this PR before I merge it?", "CODE_REVIEW")))
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"accuracy": 1,`)
}

func TestEvalFaults(t *testing.T) {
	dir := apptest.WriteIntents(t)
	apptest.Settle(t, map[string]string{"HINT_INTENTS_DIR": dir})
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
		{"no such directory", []string{"--data", writeData(t, good), "--intents", filepath.Join(dir, "away")}, exitFailed, "away"},
		{"no intents", []string{"--data", writeData(t, good), "--intents", t.TempDir()}, exitFailed, "no enabled intents in "},
	} {
		t.Run(tc.row, func(t *testing.T) {
			code, stdout, stderr := eval(t, append(tc.args, "--json")...)
			require.Equal(t, tc.code, code)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tc.err)
		})
	}
}

func TestEvalUnknownIntents(t *testing.T) {
	apptest.Settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	data := writeData(t, line("will it rain tomorrow", "WEATHER"), line("play jazz", "MUSIC"), line("louder", "MUSIC"), line("pay my bill", "MONEY"))
	code, stdout, stderr := eval(t, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `data.jsonl:2: the catalogue has no intent "MUSIC" (2 lines, counted as wrong)`)
	require.Contains(t, stdout, `"accuracy": 0.5,`)
}

func TestEvalModelThatFails(t *testing.T) {
	model := providertest.New(t)
	answer := `{"intent":"%s","reason":"r","goal":"g","confidence":1,"complexity":"low"}`
	model.Script(
		providertest.Answer{Text: fmt.Sprintf(answer, "WEATHER")},
		providertest.Answer{Text: fmt.Sprintf(answer, "OTHER")},
	)
	model.Always(providertest.Answer{Text: "I would rather not say."})
	apptest.Settle(t, map[string]string{
		"HINT_CLASSIFIER": "llm", "HINT_MODEL": "mock/small", "HINT_INTENTS_DIR": apptest.WriteIntents(t),
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	})
	data := writeData(t, line("rain?", "WEATHER"), line("hmm", "OTHER"), line("snow?", "WEATHER"), line("zzz", "OTHER"))
	code, stdout, stderr := eval(t, "--data", data, "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "2 of 4 messages got no answer and count as OTHER; the first error: ")
	var got evaluation
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.InDelta(t, 0.5, got.Accuracy, 0)
	require.InDelta(t, 0.5, got.AccuracyForced, 0)
	require.InDelta(t, 1, got.OOSRecall, 0, "a failure is the fallback")
	require.InDelta(t, 2.0/3, got.OOSPrecision, 1e-12)
	// Two are sure and right; the failures have confidence 0, one of them is
	// right: |0+0-1| of four.
	require.InDelta(t, 0.25, got.ECE, 1e-12)
}

func TestProgressBar(t *testing.T) {
	require.Equal(t, "["+strings.Repeat(" ", 30)+"] 0/2", progressBar(0, 2))
	require.Equal(t, "["+strings.Repeat("=", 15)+strings.Repeat(" ", 15)+"] 1/2", progressBar(1, 2))
	require.Equal(t, "["+strings.Repeat("=", 30)+"] 2/2", progressBar(2, 2))
}
