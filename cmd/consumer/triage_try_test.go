package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
	"intenthint/triage/state"
)

func TestTriageTry(t *testing.T) {
	t.Parallel()
	gateModel := providertest.New(t)
	gateModel.Always(providertest.Answer{Text: "SKIP, they talk among themselves"})
	providers := fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, gateModel.OpenAIURL())
	s, shared := withGate(t, `{"enabled":true}`)
	keep := state.Keep{Texts: 20, People: 100}
	_, err := shared.Remember(t.Context(), roof, state.RecentMessage{ID: "1", At: time.Now().UnixMilli(), Sender: "bob", Text: "where is my hammer?"}, keep)
	require.NoError(t, err)
	require.NoError(t, shared.Mark(t.Context(), state.Mark{Group: roof, MessageID: "1", Verdict: state.Skip, At: 1, ID: "m", Text: "lunch?"}))

	for _, row := range []struct {
		name     string
		settings string
		args     []string
		want     tried
		says     string
	}{
		{"a direct chat", `{"enabled":true}`, []string{"agent:main:main", "hello"}, tried{Decision: "respond", Reason: "direct"}, "not a group"},
		{"called a group", `{"enabled":true}`, []string{"agent:main:main", "hello", "--is-group"}, tried{Decision: "respond", Reason: "model"}, "there is no model to ask"},
		{"an excluded group", `{"enabled":true,"excludeGroups":["*:telegram:*"]}`, []string{roof, "hello"}, tried{Decision: "respond", Reason: "excluded"}, "excludeGroups"},
		{"another group", `{"enabled":true,"groups":["*:slack:*"]}`, []string{roof, "hello"}, tried{Decision: "respond", Reason: "not_listed"}, "not in groups"},
		{"too short", `{"enabled":true}`, []string{roof, "?"}, tried{Decision: "skip", Reason: "too_short"}, "fewer than two"},
		{"the agent's name", `{"enabled":true,"botName":"claw"}`, []string{roof, "hey", "Claw!"}, tried{Decision: "respond", Reason: "bot_name"}, "the agent's name"},
		{"a keyword", `{"enabled":true,"bypassKeywords":["urgent"]}`, []string{roof, "URGENT"}, tried{Decision: "respond", Reason: "keyword"}, "bypassKeywords"},
		{"a quiet group", `{"enabled":true,"quiet":{"messages":2,"per":"30m"}}`, []string{roof, "hello"}, tried{Decision: "respond", Reason: "quiet"}, "fewer than 2 messages of people in 30m0s"},
		{"a group that is not quiet", `{"enabled":true,"quiet":{"messages":1}}`, []string{roof, "hello"}, tried{Decision: "respond", Reason: "model"}, "there is no model to ask"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.env["HINT_TRIAGE"] = row.settings
			code, stdout, stderr := s.command(append([]string{"triage", "try", "--json"}, row.args...)...)
			require.Zero(t, code, stderr)
			var got tried
			require.NoError(t, json.Unmarshal([]byte(stdout), &got))
			if row.args[0] == roof {
				row.want.Recent = 1
			}
			row.want.Marks, row.want.ElapsedMs = 1, got.ElapsedMs
			require.Equal(t, row.want, got)
			code, stdout, stderr = s.command(append([]string{"triage", "try"}, row.args...)...)
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, row.says)
		})
	}
	require.Empty(t, gateModel.Requests())

	s.env["HINT_PROVIDERS"] = providers
	s.env["HINT_TRIAGE"] = `{"enabled":true,"triageModel":"mock/small","historyCount":5}`
	t.Run("the model", func(t *testing.T) {
		code, stdout, stderr := s.command("triage", "try", "--json", "--sender", "ada", roof, "has", "anybody seen it?")
		require.Zero(t, code, stderr)
		var got tried
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, "skip", got.Decision)
		require.Equal(t, "model", got.Reason)
		require.Equal(t, "mock/small", got.Model)
		require.Equal(t, "SKIP, they talk among themselves", got.Answer)
		require.NotZero(t, got.Tokens.In)
		require.Contains(t, got.Prompt.User, "From: ada\nMessage: has anybody seen it?\n\nRecent conversation:\n- bob: where is my hammer?")
		require.Contains(t, got.Prompt.System, "Examples:\n- lunch? → SKIP")
		code, stdout, stderr = s.command("triage", "try", "--sender", "ada", roof, "has anybody\x1b[2J seen it?")
		require.Zero(t, code, stderr)
		require.Regexp(t, `decision +skip\nreason +model: the answer of mock/small\nanswer +"SKIP, they talk among themselves"\n`, stdout)
		require.Contains(t, stdout, "system prompt:\n  You watch a group chat")
		require.Contains(t, stdout, "\nmessage:\n  From: ada\n")
		require.NotContains(t, stdout, "\x1b")
	})
	t.Run("the model by a score", func(t *testing.T) {
		s := &system{s.System, t, s.env.with("HINT_TRIAGE", `{"enabled":true,"triageModel":"mock/small","useConfidenceScores":true,"confidenceThreshold":7}`)}
		gateModel.Always(providertest.Answer{Text: "6"})
		code, stdout, stderr := s.command("triage", "try", roof, "has anybody seen it?")
		require.Zero(t, code, stderr)
		require.Regexp(t, `decision +skip\n`, stdout)
		require.Regexp(t, `score +6, answered from 7 on\n`, stdout)
	})
	t.Run("the model fails", func(t *testing.T) {
		gateModel.Always(providertest.Answer{Status: 500})
		code, stdout, stderr := s.command("triage", "try", "--json", roof, "has anybody seen it?")
		require.Equal(t, exitFailed, code)
		var got tried
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, "respond", got.Decision)
		require.Equal(t, "error", got.Reason)
		require.NotEmpty(t, got.Error)
		require.Contains(t, stderr, "the model did not decide: ")
	})
	t.Run("nothing is stored", func(t *testing.T) {
		require.NoError(t, shared.Decisions(t.Context(), time.Time{}, func(d state.Decision) error { return fmt.Errorf("stored: %+v", d) }))
		before, err := shared.Recent(t.Context(), roof, time.Now())
		require.NoError(t, err)
		require.Len(t, before, 1)
	})
}
