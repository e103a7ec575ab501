package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/store"
)

// marked is what a person said of a run of the session s.
func marked(run, verdict, intent string, at time.Time) store.Fact {
	return store.Fact{
		ID: "feedback-" + run, TS: at.UnixMilli(), SessionID: "s", RunID: run,
		Feedback: &store.Feedback{Verdict: verdict, Intent: intent, By: "ada"},
	}
}

func byModel(intent string, confidence float64) *payload.Classification {
	r := resultOf(intent, confidence)
	r.Source, r.Model = payload.SourceLLM, "mock/big"
	return r
}

// withRecord sets the process up for `consumer intents learn`: a directory of
// intents and recorded turns.
func withRecord(t *testing.T, settings map[string]string, facts ...store.Fact) (env environment, dir string) {
	t.Helper()
	dir = apptest.WriteIntents(t)
	all := map[string]string{"HINT_INTENTS_DIR": dir}
	maps.Copy(all, settings)
	env = settle(t, all)
	cfg := env.config(t)
	sessions, closeStore := storeOf(t, &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: os.Stdout, Stderr: os.Stderr})
	defer closeStore()
	for _, f := range facts {
		require.NoError(t, sessions.Apply(t.Context(), one(f)))
	}
	return env, dir
}

// turnsToLearnFrom are turns of one session, the newest last.
func turnsToLearnFrom() []store.Fact {
	now := time.Now()
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	return []store.Fact{
		turnAt("s", "wrong", "do I need a brolly", ago(90), resultOf("MONEY", 0.6)),
		marked("wrong", "wrong", "weather", ago(80)),
		turnAt("s", "right", "top up my phone, number 0171/1234567", ago(70), resultOf("MONEY", 0.6)),
		marked("right", "right", "", ago(60)),
		turnAt("s", "sure", "sunglasses today", ago(50), byModel("WEATHER", 0.95)),
		turnAt("s", "known", "Will it rain tomorrow?", ago(40), byModel("WEATHER", 0.95)),
		turnAt("s", "other", "pay my electricity bill!", ago(30), byModel("WEATHER", 0.95)),
		turnAt("s", "unsure", "is it windy", ago(20), byModel("WEATHER", 0.8)),
		turnAt("s", "local", "how is the wind", ago(10), resultOf("WEATHER", 0.99)),
		turnAt("s", "unnamed", "whatever this is", ago(9), resultOf("WEATHER", 0.6)),
		marked("unnamed", "wrong", "", ago(8)),
		turnAt("s", "gone", "book a table for two", ago(7), resultOf("MONEY", 0.6)),
		marked("gone", "wrong", "RESTAURANT", ago(6)),
		turnAt("s", "again", "do I need a brolly at noon", ago(5), resultOf("MONEY", 0.55)),
	}
}

// learnIntents runs the command in this process.
func learnIntents(t *testing.T, env environment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = env.run(t.Context(), append([]string{"intents", "learn"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestLearnWritesTheIntentFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			env, dir := withRecord(t, map[string]string{"HINT_STORE": kind}, turnsToLearnFrom()...)
			before := content(t, os.DirFS(dir))
			code, stdout, stderr := learnIntents(t, env, "--dry-run")
			require.Zero(t, code, stderr)
			require.Equal(t, before, content(t, os.DirFS(dir)), "only looked")
			require.Contains(t, stdout, "+++ "+filepath.Join(dir, "money.examples.txt")+"\n")
			require.Contains(t, stdout, "+top up my phone, number [PHONE]\n")
			require.Contains(t, stdout, "+do I need a brolly\n+sunglasses today\n")
			require.Equal(t, 3+2, strings.Count(stdout, "\n+"), "and two names of files")
			for _, line := range []string{
				`^WEATHER: dropped “Will it rain tomorrow\?”: already an example$`,
				`^WEATHER: dropped “pay my electricity bill!”: an example of MONEY$`,
				`^RESTAURANT: dropped “book a table for two”: no such intent$`,
				`^left out: 1 turn marked wrong without an intent \(consumer feedback RUN wrong --intent ID\)$`,
				`^3 new examples for 2 intents from 10 turns, 3 dropped$`,
				`^recognised when left out: \d+\.\d % of 8 examples \(.* of \d+ that fit no intent\) before, \d+\.\d % of 11 examples`,
				`^  wrong  \S+ → WEATHER \(right\)  “do I need a brolly”$`,
				`^  again  \S+ → WEATHER  “do I need a brolly at noon”$`,
			} {
				require.Regexp(t, "(?m)"+line, stderr)
			}

			code, again, stderr := learnIntents(t, env, "--yes")
			require.Zero(t, code, stderr)
			require.Equal(t, stdout, again)
			require.Contains(t, stderr, "\n2 files written\n")
			after := content(t, os.DirFS(dir))
			require.Equal(t, "do I need a brolly\nsunglasses today\n", after["weather.examples.txt"])
			require.Equal(t, before["weather.md"], after["weather.md"])
			require.Empty(t, intents.Lint(os.DirFS(dir)))

			code, stdout, stderr = learnIntents(t, env, "--yes")
			require.Zero(t, code, stderr)
			require.Empty(t, stdout, "nothing is new the second time")
			require.NotContains(t, stderr, "written")
		})
	}
}

func TestLearnJSON(t *testing.T) {
	t.Parallel()
	env, dir := withRecord(t, nil, turnsToLearnFrom()...)
	code, stdout, stderr := learnIntents(t, env, "--json", "--yes", "--since", "85h")
	require.Zero(t, code, stderr)
	var got workbench.Proposal
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Intents, 2)
	require.Equal(t, []string{"top up my phone, number [PHONE]"}, got.Intents[0].Added, "the other was asked before")
	require.Equal(t, []string{"sunglasses today"}, got.Intents[1].Added)
	require.Equal(t, 9, got.Turns)
	require.Equal(t, []string{filepath.Join(dir, "money.examples.txt"), filepath.Join(dir, "weather.examples.txt")}, got.Written)
	require.Greater(t, got.After.Examples, got.Before.Examples)
	require.NotNil(t, got.Changed)
}

func TestLearnWritesCopies(t *testing.T) {
	t.Parallel()
	env, dir := withRecord(t, nil, turnsToLearnFrom()...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "money.examples.txt"), []byte("# mine\nlend me a tenner"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather.examples.txt"), []byte("# nothing yet\n"), 0o600))
	before := content(t, os.DirFS(dir))
	out := filepath.Join(t.TempDir(), "mine")
	code, _, stderr := learnIntents(t, env, "--yes", "--since", "75h", "--out", out)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "set HINT_INTENTS_DIR="+out+" to use them")
	require.Equal(t, before, content(t, os.DirFS(dir)))
	want := maps.Clone(before)
	want["money.examples.txt"] += "\ntop up my phone, number [PHONE]\n"
	want["weather.examples.txt"] += "sunglasses today\n"
	require.Equal(t, want, content(t, os.DirFS(out)))

	env["HINT_INTENTS_DIR"] = ""
	code, _, stderr = learnIntents(t, env, "--yes")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "use --out DIR", "the built-in definitions have no files")
}

func TestLearnFaults(t *testing.T) {
	t.Parallel()
	now := time.Now()
	env, dir := withRecord(t, nil, turnAt("s", "r", "zorbulate the quibbleflax", now, resultOf("MONEY", 0.6)), marked("r", "wrong", "OTHER", now))
	for _, tc := range []struct {
		row  string
		args []string
		code int
		err  string
	}{
		{"nobody to ask", nil, exitFailed, "standard input is not a terminal, add --yes"},
		{"JSON without a decision", []string{"--json"}, exitFailed, "--json never asks, add --yes or --dry-run"},
		{"writing and not writing", []string{"--yes", "--dry-run"}, exitUsage, "cannot be used together"},
		{"a place that is taken", []string{"--yes", "--out", dir}, exitFailed, "is not empty"},
		{"no such time", []string{"--yes", "--since", "soon"}, exitUsage, "neither a duration"},
		{"the built-in fallback has no file", []string{"--yes"}, exitOK, "OTHER: dropped “zorbulate the quibbleflax”: no such intent"},
		{"a time after all turns", []string{"--yes", "--since", "1ms"}, exitOK, "0 new examples for 0 intents from 0 turns, 0 dropped"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			before := content(t, os.DirFS(dir))
			code, stdout, stderr := learnIntents(t, env, tc.args...)
			require.Equal(t, tc.code, code, stderr)
			require.Contains(t, stderr, tc.err)
			require.Empty(t, stdout)
			require.Equal(t, before, content(t, os.DirFS(dir)))
		})
	}
}

// leaning is a turn that leans on the message before it, which the gateway did not
// send: it is in the record (contract §5).
func leaning(before, after time.Time) []store.Fact {
	facts := []store.Fact{
		turnAt("lean", "before", "do I need my umbrella", before, resultOf("OTHER", 0.3)),
		turnAt("lean", "leans", "what about Paris?", after, resultOf("OTHER", 0.3)),
	}
	for i := range facts {
		facts[i].Begin.Conversation, facts[i].Begin.Earlier = nil, i
	}
	return facts
}

func TestLearnAnswersTurnsWithWhatTheirClassifierWasGiven(t *testing.T) {
	t.Parallel()
	ago := func(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }
	env, _ := withRecord(t, nil, append(leaning(ago(30), ago(20)),
		turnAt("s", "wrong", "do I need an umbrella", ago(10), resultOf("MONEY", 0.6)), marked("wrong", "wrong", "WEATHER", ago(9)))...)
	code, stdout, stderr := learnIntents(t, env, "--dry-run", "--json", "--since", "25h")
	require.Zero(t, code, stderr)
	var got workbench.Proposal
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, 2, got.Turns)
	var runs []string
	for _, d := range got.Changed {
		runs = append(runs, d.RunID)
	}
	require.Equal(t, []string{"wrong", "leans"}, runs)
}
