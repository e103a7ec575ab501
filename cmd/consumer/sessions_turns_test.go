package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/classify/evaluate"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/store/storetest"
)

// turnAt begins a turn of its own message and classification.
func turnAt(session, run, input string, at time.Time, result *payload.Classification) store.Fact {
	f := storetest.Begin(session, run, 0)
	f.ID, f.TS = "begin-"+session+run, at.UnixMilli()
	f.Begin.Input, f.Begin.Result = input, result
	return f
}

// besides gives a turn the user's message beside the prompt.
func besides(f store.Fact, message string) store.Fact {
	f.Begin.Message = message
	return f
}

func resultOf(intent string, confidence float64) *payload.Classification {
	return &payload.Classification{Intent: intent, Name: intent, Confidence: confidence, Complexity: "low", Source: payload.SourceLocal}
}

func TestSessionsTurns(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sessionsTurns(t, kind)
		})
	}
}

func sessionsTurns(t *testing.T, kind string) {
	t.Helper()
	// One turn in a document, the others in its history.
	env := settle(t, map[string]string{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "0"})
	cfg := env.config(t)
	sessions, closeStore := storeOf(t, &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: os.Stdout, Stderr: os.Stderr})
	now := time.Now()
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	for _, f := range []store.Fact{
		besides(turnAt("b", "sure", "memories, and what is my <balance> & why", ago(90), resultOf("MONEY", 0.9)), "what is my <balance> & why"),
		turnAt("a", "unsure", "will it\nrain", ago(70), withRunnerUp(resultOf("WEATHER", 0.45), "MONEY", 0.3)),
		turnAt("a", "fallback", "xqzv", ago(50), resultOf("OTHER", 0.8)),
		turnAt("b", "medium", "transfer it", ago(30), resultOf("MONEY", 0.6)),
		turnAt("b", "silent", "hello", ago(20), nil),
		turnAt("a", "blank", "<think>x</think> ", ago(10), resultOf("WEATHER", 0.7)),
	} {
		require.NoError(t, sessions.Apply(t.Context(), one(f)))
	}
	closeStore()

	for _, row := range []struct {
		name string
		args []string
		want []string // runs, blank ones apart
	}{
		{"all, newest last", nil, []string{"sure", "unsure", "fallback", "medium", "silent"}},
		{"an intent, in any case", []string{"--intent", "money"}, []string{"sure", "medium"}},
		{"an intent that was not said", []string{"--intent", "WEATHER"}, []string{"unsure"}},
		{"nothing said", []string{"--intent", "OTHER"}, []string{"unsure", "fallback", "silent"}},
		{"unsure ones", []string{"--below", "0.6"}, []string{"unsure", "silent"}},
		{"since days", []string{"--since", "2.5d"}, []string{"fallback", "medium", "silent"}},
		{"since hours", []string{"--since", "25h"}, []string{"silent"}},
		{"since a time", []string{"--since", ago(60).Format(time.RFC3339)}, []string{"fallback", "medium", "silent"}},
		{"all conditions", []string{"--since", "3d", "--intent", "WEATHER", "--below", "0.5"}, []string{"unsure"}},
		{"none", []string{"--intent", "NOBODY"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"sessions", "turns"}, row.args...)
			require.Zero(t, env.run(t.Context(), append(args, "--jsonl"), &stdout, &stderr), stderr.String())
			var runs []string
			for raw := range strings.Lines(stdout.String()) {
				var line record.Turn
				require.NoError(t, json.Unmarshal([]byte(raw), &line))
				runs = append(runs, line.RunID)
			}
			require.Equal(t, row.want, runs)
			if len(row.want) > 0 {
				lines, err := evaluate.Parse("turns", stdout.Bytes())
				require.NoError(t, err)
				require.Len(t, lines, len(row.want))
			}
			stdout.Reset()
			require.Zero(t, env.run(t.Context(), args, &stdout, &stderr), stderr.String())
			if len(row.want) == 0 {
				require.Empty(t, stdout.String())
				require.Contains(t, stderr.String(), "no such turns")
			} else {
				require.GreaterOrEqual(t, strings.Count(stdout.String(), "\n"), 1+len(row.want), "a head and the turns: %s", stdout.String())
			}
		})
	}

	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), []string{"sessions", "turns", "--jsonl"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "left out: 1 turn without text")
	lines := strings.Split(stdout.String(), "\n")
	require.JSONEq(t, `{"text":"what is my <balance> & why","intent":"MONEY","history":[{"role":"user","text":"earlier"}],"session":"b","runId":"sure",
		"confidence":0.9,"source":"local","ts":`+jsonOf(t, ago(90).UnixMilli())+`}`, lines[0])
	require.JSONEq(t, `{"text":"will it rain","intent":"OTHER","answered":"WEATHER","history":[{"role":"user","text":"earlier"}],"session":"a","runId":"unsure",
		"confidence":0.45,"source":"local","runnerUp":"MONEY","runnerUpConfidence":0.3,"ts":`+jsonOf(t, ago(70).UnixMilli())+`}`, lines[1])
	stdout.Reset()
	require.Zero(t, env.run(t.Context(), []string{"sessions", "turns"}, &stdout, &stderr))
	require.Regexp(t, `(?m)^BEGAN +SESSION +RUN +INTENT +CONFIDENCE +RUNNER-UP +SOURCE`, stdout.String())
	require.Regexp(t, `unsure +OTHER \(WEATHER\) +0\.45 +MONEY 0\.30 +local`, stdout.String())
	var silent map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[4]), &silent))
	require.Equal(t, "OTHER", silent["intent"])
	require.NotContains(t, silent, "confidence")
}

func withRunnerUp(r *payload.Classification, intent string, confidence float64) *payload.Classification {
	r.RunnerUp, r.RunnerUpConfidence = intent, confidence
	return r
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func TestSample(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	sessions, closeStore := storeOf(t, &cli.Invocation{Ctx: t.Context(), Config: env.config(t), Stdout: os.Stdout, Stderr: os.Stderr})
	for i := range 30 {
		run := "r" + strconv.Itoa(i)
		result := resultOf("WEATHER", float64(i)/30)
		if i == 7 {
			result = nil
		}
		require.NoError(t, sessions.Apply(t.Context(), one(turnAt("s", run, "will it rain "+run, time.Now().Add(-time.Duration(i)*time.Hour), result))))
	}
	closeStore()
	sample := func(args ...string) (runs []string) {
		var stdout, stderr bytes.Buffer
		require.Zero(t, env.run(t.Context(), append([]string{"sample", "--jsonl"}, args...), &stdout, &stderr), stderr.String())
		for raw := range strings.Lines(stdout.String()) {
			var line record.Turn
			require.NoError(t, json.Unmarshal([]byte(raw), &line))
			runs = append(runs, line.RunID)
		}
		return runs
	}
	require.Len(t, sample(), 10)
	five := sample("--n", "5")
	require.Len(t, five, 5)
	require.Equal(t, five, sample("--n", "5"), "the same ones again")
	require.Subset(t, sample("--n", "12"), five)
	require.NotContains(t, sample("--n", "100"), "r7", "it was not classified")
	require.ElementsMatch(t, []string{"r0", "r1", "r2"}, sample("--n", "100", "--since", "150m"))

	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), []string{"sample", "--n", "3"}, &stdout, &stderr))
	require.Equal(t, 4, strings.Count(stdout.String(), "\n"), stdout.String())
	require.Contains(t, stderr.String(), "consumer feedback RUN right")
	require.NotZero(t, env.run(t.Context(), []string{"sample", "--n", "0"}, &stdout, &stderr))
}

func TestSessionsTurnsRefuses(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	for _, row := range []struct{ name, args string }{
		{"a confidence above 1", "--below 80"},
		{"no confidence", "--below low"},
		{"not a number", "--below NaN"},
		{"a time of another format", "--since yesterday"},
		{"a negative duration", "--since=-3h"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, env.run(t.Context(), append([]string{"sessions", "turns"}, strings.Fields(row.args)...), &stdout, &stderr), stdout.String())
		})
	}
}

// The newest line of a run counts, and the document's counts more.
func TestSessionsTurnsShowsARunOnce(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_HISTORY_LIMIT": "0"})
	cfg := env.config(t)
	sessions, err := app.OpenStore(t.Context(), cfg, nil, nil, nil)
	require.NoError(t, err)
	for _, run := range []string{"r1", "r2", "r3"} {
		require.NoError(t, sessions.Apply(t.Context(), one(turnAt("s", run, "hello", time.Now(), resultOf("A", 0.9)))))
	}
	// A process that died between the two files.
	path := filepath.Join(cfg.Store.SessionsDir, "s.history.jsonl")
	document, err := sessions.Get(t.Context(), "s")
	require.NoError(t, err)
	var d struct{ Current json.RawMessage }
	require.NoError(t, json.Unmarshal(document, &d))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(append(data, d.Current...), '\n'), 0o600))
	var stdout, stderr bytes.Buffer
	require.Zero(t, env.run(t.Context(), []string{"sessions", "turns", "--jsonl"}, &stdout, &stderr), stderr.String())
	require.Equal(t, 3, strings.Count(stdout.String(), "\n"), stdout.String())
}

// What a gateway did not send of a conversation is in the session (contract §5).
func TestEvalAnswersTheLinesOfTurnsAsTheyWereAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_MIN_CONFIDENCE": "0"})
	for i, text := range []string{"will it rain tomorrow", "is it hot outside", "and on sunday"} {
		s.Ask(s.Prompt("s", strconv.Itoa(i), text), time.Minute)
	}
	s.Eventually("all turns", func() bool { history, _ := s.Document("s")["history"].([]any); return len(history) == 2 })

	for _, row := range []struct {
		name string
		args []string
		want [][]string // the earlier messages of each line
	}{
		{"all turns", nil, [][]string{nil, {"will it rain tomorrow"}, {"will it rain tomorrow", "is it hot outside"}}},
		{"a choice of them", []string{"--since", time.UnixMilli(1763680000003).Format(time.RFC3339Nano)}, [][]string{{"will it rain tomorrow", "is it hot outside"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Zero(t, s.env.run(t.Context(), append([]string{"sessions", "turns", "--jsonl"}, row.args...), &stdout, &stderr), stderr.String())
			var was []record.Turn
			var got [][]string
			for raw := range strings.Lines(stdout.String()) {
				var turn record.Turn
				require.NoError(t, json.Unmarshal([]byte(raw), &turn))
				was = append(was, turn)
				var texts []string
				for _, before := range turn.Earlier {
					texts = append(texts, before.Text)
				}
				got = append(got, texts)
			}
			require.Equal(t, row.want, got)

			data := filepath.Join(t.TempDir(), "turns.jsonl")
			require.NoError(t, os.WriteFile(data, stdout.Bytes(), 0o600))
			code, out, errs := eval(t, s.env, "--data", data, "--predictions", "-")
			require.Zero(t, code, errs)
			i := 0
			for raw := range strings.Lines(out) {
				var now workbench.Prediction
				require.NoError(t, json.Unmarshal([]byte(raw), &now))
				require.Equal(t, was[i].Intent, now.Predicted, now.Text)
				require.InDelta(t, *was[i].Confidence, now.Confidence, 1e-9, now.Text)
				require.Equal(t, was[i].Earlier, now.Earlier)
				i++
			}
			require.Len(t, was, i)
		})
	}
}
