package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/workbench"
	"intenthint/model/provider/providertest"
)

func TestClassifyAndEvalWithAnEmbeddingModel(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	env := settle(t, settings)
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs apptest.Buffer
		require.Zero(t, env.run(t.Context(), args, &out, &errs), errs.String())
		return out.String(), errs.String()
	}
	stdout, stderr := run("classify", "--json", "my quassel")
	require.Empty(t, stderr)
	var got workbench.Classified
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, []string{"WEATHER", "embedding", "mock/embed"}, []string{got.Intent, got.Source, got.Model})
	require.NotEmpty(t, got.Evidence.Nearest)
	require.True(t, slices.ContainsFunc(got.RunnersUp, func(s workbench.RunnerUp) bool { return s.Intent == "MONEY" }))

	data := writeData(t, line("my quassel", "WEATHER"), line("tolmi brelk", "MONEY"), line("xqzv wkjp", "OTHER"))
	before := apptest.Texts(model)
	stdout, stderr = run("eval", "--data", data, "--json")
	require.Empty(t, stderr)
	require.Equal(t, []string{"my quassel", "tolmi brelk", "xqzv wkjp"}, apptest.Texts(model)[len(before):], "the vectors of the intents are there, each message is asked for once")
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	require.InDelta(t, 1, fields["accuracy"], 0)
	require.InDelta(t, 1, fields["accuracyForced"], 0)

	env["HINT_EMBEDDING_MODEL"] = ""
	stdout, _ = run("eval", "--data", data, "--json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	require.Less(t, fields["accuracy"], 1.0, "words alone do not tell")

	env["HINT_EMBEDDING_MODEL"] = "mock/another"
	model.Always(providertest.Answer{Status: 500, Message: "down"})
	stdout, stderr = run("classify", "will it rain tomorrow")
	require.Contains(t, stdout, "WEATHER")
	require.Contains(t, stderr, "the local classifier answers alone")
	require.Contains(t, stderr, "down")
}
