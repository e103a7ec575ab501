package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/cmd/consumer/workbench"
	"intenthint/model/provider/providertest"
	"intenthint/record"
	"intenthint/store"
)

// proposing is a model that answers each kind of finding.
func proposing(r providertest.Request) providertest.Answer {
	switch {
	case strings.HasPrefix(r.User, `<finding kind="corrected"`):
		return providertest.Answer{Text: `{"why": "Umbrellas are about rain.", "edits": [
			{"edit": "add_example", "intent": "WEATHER", "text": "do I need an umbrella"},
			{"edit": "add_example", "intent": "WEATHER", "text": "Will it rain tomorrow?"},
			{"edit": "remove_example", "intent": "MONEY", "text": "never an example"}]}`}
	case strings.HasPrefix(r.User, `<finding kind="unsure"`):
		return providertest.Answer{Text: `{"why": "Nobody answers questions about plants.", "edits": [{"edit": "new_intent", "intent": "GARDEN", "name": "Garden",
			"triggers": ["The user asks how to care for plants."], "examples": ["should I water the tomatoes today", "when should I water the tomatoes"], "prompt": "Say it in one line."}]}`}
	default:
		return providertest.Answer{Text: "I would write a better prompt."}
	}
}

// withFindings sets the process up for `consumer improve --propose`: a scripted
// model, a directory of intents, and recorded turns with three findings.
func withFindings(t *testing.T, settings map[string]string) (model *providertest.Server, env environment, dir string) {
	t.Helper()
	model = providertest.New(t)
	model.Handle(proposing)
	all := map[string]string{"HINT_MIN_CONFIDENCE": "0.7", "HINT_MODEL": "mock/big", "HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL())}
	maps.Copy(all, settings)
	now := time.Now()
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	broken := turnAt("b", "broken", "send fifty dollars to zoe", ago(30), resultOf("MONEY", 0.9))
	facts := []store.Fact{
		turnAt("s", "misled", "do I need an umbrella at ada@example.com", ago(60), resultOf("MONEY", 0.6)),
		marked("misled", "wrong", "WEATHER", ago(59)),
		turnAt("s", "again", "do I need an umbrella", ago(50), resultOf("MONEY", 0.55)),
		marked("again", "wrong", "WEATHER", ago(49)),
		turnAt("s", "early", "when should I water the tomatoes", ago(40), resultOf("OTHER", 0.9)),
		turnAt("s", "late", "should I water the tomatoes now", ago(39), resultOf("OTHER", 0.9)),
		broken,
	}
	for i := range 2 {
		facts = append(facts, store.Fact{
			ID: fmt.Sprint("call", i), TS: ago(30).UnixMilli() + int64(i), SessionID: "b", RunID: "broken",
			Call: &store.Call{ToolCallID: fmt.Sprint("c", i), Name: "pay", Error: "refused"},
		})
	}
	env, dir = withRecord(t, all, facts...)
	return model, env, dir
}

func proposeEdits(t *testing.T, env environment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = env.run(t.Context(), append([]string{"improve", "--propose"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestProposalsAreMeasuredWithWhatTheClassifierWasGiven(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	model.Handle(proposing)
	ago := func(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }
	env, _ := withRecord(t, map[string]string{"HINT_MODEL": "mock/big", "HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL())},
		append(leaning(ago(30), ago(20)), turnAt("s", "wrong", "do I need an umbrella", ago(10), resultOf("MONEY", 0.6)), marked("wrong", "wrong", "WEATHER", ago(9)))...)
	code, stdout, stderr := proposeEdits(t, env, "--yes", "--json", "--since", "25h")
	require.Zero(t, code, stderr)
	var got workbench.Improvements
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, 2, got.Turns)
	i := slices.IndexFunc(got.Findings, func(f record.Finding) bool { return f.Kind == record.FoundCorrected })
	require.True(t, slices.ContainsFunc(got.Proposals[i].Changed, func(d record.Difference) bool { return d.RunID == "leans" }))
}

func TestProposedEdits(t *testing.T) {
	t.Parallel()
	model, env, dir := withFindings(t, nil)
	before := content(t, os.DirFS(dir))
	code, stdout, stderr := proposeEdits(t, env, "--yes", "--json")
	require.Equal(t, exitFailed, code, "one of the answers cannot be parsed")
	require.Equal(t, before, content(t, os.DirFS(dir)), "nothing is written")
	require.Contains(t, stderr, "3 calls to mock/big, one per finding, more only while a provider is busy, about ")
	require.Contains(t, stderr, "sent per finding: up to 12 messages")
	var got workbench.Improvements
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Len(t, got.Findings, 3)
	require.Len(t, got.Proposals, 3)
	require.Equal(t, 3, got.Calls)
	require.Positive(t, got.Tokens.Input)

	of := map[string]workbench.ProposedEdit{}
	for i, p := range got.Proposals {
		of[got.Findings[i].Kind] = p
	}
	corrected := of[record.FoundCorrected]
	require.Equal(t, "mock/big", corrected.Model)
	require.Contains(t, corrected.Diff, "\n+do I need an umbrella\n")
	require.Contains(t, corrected.Diff, "+++ "+dir+"/weather.examples.txt\n")
	require.NotContains(t, corrected.Diff, "money.md")
	require.Empty(t, corrected.Edits[0].Problem)
	require.Equal(t, "repeated", string(corrected.Edits[1].Dropped[0].Reason))
	require.Contains(t, corrected.Edits[2].Problem, "no example")
	require.Equal(t, got.Before.Examples+1, corrected.After.Examples)
	require.Positive(t, corrected.Replay.Better)
	require.Zero(t, corrected.Replay.Worse)
	require.Equal(t, []record.Pair{{From: corrected.Changed[0].From, To: "WEATHER", Turns: corrected.Replay.Changed}}, corrected.Replay.Pairs)
	require.True(t, slices.ContainsFunc(corrected.Changed, func(d record.Difference) bool { return d.RunID == "again" }))

	unsure := of[record.FoundUnsure]
	require.Contains(t, unsure.Diff, "--- /dev/null\n+++ "+dir+"/garden.md\n@@ -0,0 +1,7 @@\n+---\n+id: GARDEN\n")
	require.True(t, slices.IsSortedFunc(unsure.Changed, func(a, b record.Difference) int { return cmp.Compare(b.TS, a.TS) }), "newest first")
	gardening := 0
	for _, p := range unsure.Replay.Pairs {
		if p.To == "GARDEN" {
			gardening += p.Turns
		}
	}
	require.Equal(t, 2, gardening)
	require.False(t, slices.ContainsFunc(unsure.Replay.Pairs, func(p record.Pair) bool { return p.To == "WEATHER" }), "each proposal is measured alone")
	failed := of[record.FoundFailedTools]
	require.Contains(t, failed.Error, "no JSON object with a list of edits")
	require.Nil(t, failed.Replay)

	// Nothing private is sent or shown.
	for _, r := range model.Requests() {
		require.NotContains(t, string(r.Body), "ada@example.com")
	}
	require.Contains(t, model.Requests()[0].User+model.Requests()[1].User, "do I need an umbrella at [EMAIL]")
	require.NotContains(t, stdout+stderr, "ada@example.com")

	code, stdout, _ = proposeEdits(t, env, "--yes")
	require.Equal(t, exitFailed, code)
	for _, want := range []string{
		"corrected  2 turns  MONEY → WEATHER\n",
		"mock/big: Umbrellas are about rain.\nadd example WEATHER: “do I need an umbrella”\n",
		"  dropped “Will it rain tomorrow?”: already an example\n",
		"remove example MONEY: not made: MONEY has no example “never an example”\n",
		"--- /dev/null\n+++ " + dir + "/weather.examples.txt\n",
		"recognised when left out: ", " of 8 examples (", " of 9 examples (", " of 5 would be answered differently by the local classifier\n",
		"again  OTHER → WEATHER (right)  “do I need an umbrella”\n",
		" → WEATHER: ", " now right, 0 no longer right\n",
		"failed: mock/big: ", "3 calls of a model, ", "; nothing was written\n",
	} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout, "ada@example.com")
}

func TestNothingIsAskedWithoutAYes(t *testing.T) {
	t.Parallel()
	model, env, _ := withFindings(t, nil)
	for _, args := range [][]string{nil, {"--json"}} {
		code, stdout, stderr := proposeEdits(t, env, args...)
		require.Equal(t, exitFailed, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "3 calls to mock/big")
		require.Contains(t, stderr, "nothing was asked: standard input is not a terminal, add --yes")
	}
	require.Empty(t, model.Requests())
}

func TestProposalsForSomeFindings(t *testing.T) {
	t.Parallel()
	model, env, _ := withFindings(t, map[string]string{"HINT_MODEL_FALLBACK": "mock/small"})
	model.Handle(func(r providertest.Request) providertest.Answer {
		if r.Model == "big" {
			return providertest.Answer{Status: 500}
		}
		return providertest.Answer{Text: `{"why": "It is fine.", "edits": []}`}
	})
	code, stdout, stderr := proposeEdits(t, env, "--yes", "--limit", "1")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "1 call to mock/big, one per finding, and one to mock/small for each that fails")
	require.Contains(t, stdout, "mock/small: It is fine.\nno edit proposed\n")
	require.Contains(t, stdout, "2 calls of a model")
	require.Len(t, model.Requests(), 2)
}

func TestProposalsThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	_, env, _ := withFindings(t, map[string]string{"HINT_MODEL": ""})
	code, _, stderr := proposeEdits(t, env, "--yes")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "HINT_MODEL")

	var out, errs bytes.Buffer
	require.Equal(t, exitUsage, env.run(t.Context(), []string{"improve", "--yes"}, &out, &errs))
	require.Contains(t, errs.String(), "--yes is for --propose")
}

func TestAnInterruptShowsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	model, env, dir := withFindings(t, nil)
	before := content(t, os.DirFS(dir))
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	model.Handle(func(providertest.Request) providertest.Answer {
		if asked++; asked == 2 {
			cancel()
		}
		return providertest.Answer{Text: `{"why": "It is fine.", "edits": []}`}
	})
	var out, errs bytes.Buffer
	require.NotZero(t, env.run(ctx, []string{"improve", "--propose", "--yes"}, &out, &errs))
	require.Equal(t, 1, strings.Count(out.String(), "mock/big: It is fine."))
	require.Equal(t, before, content(t, os.DirFS(dir)))
}
