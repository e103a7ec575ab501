package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/cmd/consumer/workbench"
	"intenthint/learning"
	"intenthint/record"
)

func TestLearntExamplesAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_LEARN": "auto", "HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	code, stdout, stderr := s.command("intents", "learnt", "ls")
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no learnt examples in bucket OPENCLAW_EVENTS_LEARNT")

	for _, turn := range []struct{ session, run, text, intent string }{
		{"one", "r1", "do I need an umbrella, or not", "WEATHER"},
		{"one", "r2", "pay my electricity bill!", "WEATHER"},
		{"two", "r3", "sunglasses today", "WEATHER"},
		{"two", "r4", "book a table", "RESTAURANT"},
	} {
		s.Ask(s.Prompt(turn.session, turn.run, turn.text), time.Minute)
		s.Eventually("the turn is recorded", func() bool {
			code, _, _ := s.command("feedback", turn.run, "wrong", "--intent", turn.intent, "--by", "ada")
			return code == exitOK
		})
	}
	list := func() (out map[string]workbench.ListedExample) {
		code, stdout, stderr := s.command("intents", "learnt", "ls", "--json")
		require.Zero(t, code, stderr)
		var all []workbench.ListedExample
		require.NoError(t, json.Unmarshal([]byte(stdout), &all))
		out = map[string]workbench.ListedExample{}
		for _, e := range all {
			out[e.RunID] = e
		}
		return out
	}
	s.Eventually("all are learnt", func() bool { return len(list()) == 4 })
	got := list()
	require.True(t, got["r1"].Used)
	require.Equal(t, "ada", got["r1"].By)
	require.Equal(t, "taken MONEY", got["r2"].Unused+" "+got["r2"].Of)
	require.Equal(t, "unknown", got["r4"].Unused)
	code, stdout, stderr = s.command("intents", "learnt", "ls")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^LEARNT +RUN +INTENT +FROM +BY +USED +TEXT$`, stdout)
	require.Regexp(t, `(?m)^\S+ \S+ +r1 +WEATHER +feedback +ada +yes +do I need an umbrella, or not$`, stdout)
	require.Regexp(t, `(?m) r2 +WEATHER +feedback +ada +no: an example of MONEY +pay my electricity bill!$`, stdout)

	code, stdout, stderr = s.command("intents", "learnt", "rm", "r1", "nothing")
	require.Equal(t, exitFailed, code)
	require.Equal(t, "removed 1 learnt example\n", stdout)
	require.Contains(t, stderr, `no example was learnt from run "nothing" (consumer intents learnt ls)`)
	require.Len(t, list(), 3)

	// What was learnt of a session is forgotten with it.
	s.Eventually("forgotten", func() bool {
		code, stdout, stderr = s.command("sessions", "rm", "two", "--yes")
		return code == exitOK
	})
	require.Contains(t, stdout, ", 2 learnt examples\n")
	require.Len(t, list(), 1)

	// What is kept can be removed when nothing is learnt any more.
	s.env["HINT_LEARN"] = "off"
	code, _, stderr = s.command("intents", "learnt", "rm", "--all")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "add --yes")
	code, stdout, stderr = s.command("intents", "learnt", "rm", "--all", "--yes")
	require.Zero(t, code, stderr)
	require.Equal(t, "removed 1 learnt example\n", stdout)
	require.Empty(t, list())
	kept, err := learning.Of(app.Layout(s.Config), s.JS).All(t.Context())
	require.NoError(t, err)
	require.Equal(t, []record.Lesson(nil), kept)
}

func TestLearntFaults(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, row := range []struct {
		name string
		args []string
		code int
		err  string
	}{
		{"nothing selected", []string{"rm"}, exitUsage, "missing selection"},
		{"too much selected", []string{"rm", "r", "--all"}, exitUsage, "cannot be used together"},
		{"nothing was ever learnt", []string{"rm", "r"}, exitFailed, `no example was learnt from run "r"`},
		{"nothing was ever learnt, all", []string{"rm", "--all"}, exitOK, "no learnt examples"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, _, stderr := s.command(append([]string{"intents", "learnt"}, row.args...)...)
			require.Equal(t, row.code, code, stderr)
			require.Contains(t, stderr, row.err)
		})
	}
	_, err := s.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_LEARNT")
	require.Error(t, err, "looking creates nothing")
}
