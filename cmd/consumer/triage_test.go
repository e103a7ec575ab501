package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/triage/state"
)

const (
	roof  = "agent:main:telegram:group:-1001"
	tools = "agent:ops:slack:channel:C7"
)

// defaultTurnTokens is what a turn takes unless --turn-tokens says otherwise.
const defaultTurnTokens = 10_000

// withGate starts a system whose triage gate is on, and returns what it shares
// with others.
func withGate(t *testing.T, settings string) (*system, *state.Store) {
	t.Helper()
	s := start(t, map[string]string{"HINT_TRIAGE": settings})
	return s, state.Of(app.Layout(s.Config), s.Bus.JS)
}

// decided stores decisions, one a word: group, message, verdict and reason.
func decided(t *testing.T, shared *state.Store, lines ...string) {
	t.Helper()
	for _, line := range lines {
		f := strings.Fields(line)
		d := state.Decision{Group: f[0], MessageID: f[1], Agent: "main", Sender: "ada", Text: "text of " + f[1], At: 1763680000000, Verdict: f[2], Reason: f[3]}
		if d.Reason == "model" {
			d.Model, d.Tokens = "mock/small", state.Tokens{In: 300, Out: 2}
		}
		_, first, err := shared.Decide(t.Context(), d)
		require.NoError(t, err)
		require.True(t, first)
	}
}

func TestTriageStats(t *testing.T) {
	t.Parallel()
	s, shared := withGate(t, `{"enabled":true}`)
	code, stdout, stderr := s.command("triage", "stats")
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no decisions")

	decided(t, shared,
		roof+" 1 skip model", roof+" 2 respond model", roof+" 3 skip too_short", roof+" 4 respond bot_name", roof+" 5 skip model",
		tools+" 1 respond quiet", tools+" 2 skip model", tools+" 3 respond error",
	)
	for i, m := range []state.Mark{
		{Group: roof, MessageID: "1", Verdict: state.Respond},
		{Group: roof, MessageID: "2", Verdict: state.Skip},
		{Group: roof, MessageID: "5", Verdict: state.Skip},
		{Group: tools, MessageID: "2", Verdict: state.Respond},
		{Group: tools, MessageID: "expired", Verdict: state.Respond},
	} {
		m.At, m.ID = int64(i+1), strconv.Itoa(i)
		require.NoError(t, shared.Mark(t.Context(), m))
	}
	stats := func(args ...string) (out triageStats) {
		t.Helper()
		code, stdout, stderr := s.command(append([]string{"triage", "stats", "--json"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &out))
		return out
	}

	all := stats()
	require.Nil(t, all.Since)
	require.Equal(t, defaultTurnTokens, all.TurnTokens)
	require.Equal(t, state.Tally{
		Messages: 8, Answered: 4, Skipped: 4, Reasons: map[string]int{"model": 4, "too_short": 1, "bot_name": 1, "quiet": 1, "error": 1},
		Marked: 4, Missed: 2, Wasted: 1, Asked: 4, Tokens: state.Tokens{In: 1200, Out: 8}, Avoided: 4, Saved: 4*defaultTurnTokens - 1208,
	}, all.Total)
	require.Len(t, all.Groups, 2)
	require.Equal(t, state.Tally{
		Group: roof, Messages: 5, Answered: 2, Skipped: 3, Reasons: map[string]int{"model": 3, "too_short": 1, "bot_name": 1},
		Marked: 3, Missed: 1, Wasted: 1, Asked: 3, Tokens: state.Tokens{In: 900, Out: 6}, Avoided: 3, Saved: 3*defaultTurnTokens - 906,
	}, all.Groups[0])
	require.Equal(t, tools, all.Groups[1].Group)

	require.Len(t, all.Days, 1)
	require.Equal(t, time.Now().In(s.Config.Timezone.Location).Format(time.DateOnly), all.Days[0].Day)
	require.Equal(t, all.Total, all.Days[0].Tally)

	require.EqualValues(t, 4*100-1208, stats("--turn-tokens", "100").Total.Saved, "a gate may cost more than it saves")
	require.Equal(t, 8, stats("--since", "1h").Total.Messages)
	later := stats("--since", time.Now().Add(time.Hour).Format(time.RFC3339))
	require.Zero(t, later.Total.Messages)
	require.NotNil(t, later.Since)
	require.Empty(t, later.Groups)

	code, stdout, stderr = s.command("triage", "stats", "--by", "day")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^DAY +MESSAGES .*\n`+all.Days[0].Day+` +8 +4 +4 .*\nall +8 +4 +4 `, stdout)
	code, stdout, stderr = s.command("triage", "stats")
	require.Zero(t, code, stderr)
	require.Regexp(t, `GROUP +MESSAGES +ANSWERED +SKIPPED +BOT_NAME +ERROR +MODEL +QUIET +TOO_SHORT +MARKED +MISSED +WASTED +MEDIAN +P95 +TOKENS +SAVED`, stdout)
	require.Regexp(t, `all +8 +4 +4 +1 +1 +4 +1 +1 +4 +2 +1 +0.0 ms +0.0 ms +1208 +38792\n`, stdout)
	require.Contains(t, stdout, "tokens of the gate's model: 1200 in and 8 out, for 4 messages\nturns avoided: 4\n")
	require.Contains(t, stdout, "4 skipped × 10000 a turn (--turn-tokens) − 1208 of the gate's model = 38792\n")
}

func TestTriageFeedback(t *testing.T) {
	t.Parallel()
	s, shared := withGate(t, `{"enabled":true}`)
	decided(t, shared, tools+" 7 skip model")
	for _, row := range []struct {
		name    string
		args    []string
		subject string
		event   string
		notes   string
	}{
		{
			"a decision",
			[]string{tools, "7", "respond", "--by", "ada"},
			"openclaw.event.feedback.main.agent=3Aops=3Aslack=3Achannel=3AC7",
			`{"kind":"triage","messageId":"7","group":"` + tools + `","verdict":"respond","by":"ada"}`, "",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := s.command(append([]string{"triage", "feedback"}, row.args...)...)
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, "marked message "+row.args[1]+" of group "+tools+": "+row.args[2])
			require.Contains(t, stderr, row.notes)
			stream, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS")
			require.NoError(t, err)
			m, err := stream.GetLastMsgForSubject(t.Context(), row.subject)
			require.NoError(t, err)
			env, err := payload.DecodeEvent("", "", m.Data)
			require.NoError(t, err)
			require.Equal(t, env.ID, m.Header.Get("Nats-Msg-Id"))
			require.JSONEq(t, row.event, string(env.Event))
		})
	}
	stream, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS")
	require.NoError(t, err)
	before, err := stream.Info(t.Context())
	require.NoError(t, err)
	code, _, stderr := s.command("triage", "feedback", tools, "8", "skip")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `no decision about message "8"`)
	after, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.State.LastSeq, after.State.LastSeq, "it leaves nothing")
	code, _, stderr = s.command("triage", "feedback", roof, "1", "right")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "right")
	for _, args := range [][]string{{"", "1", "skip"}, {roof, " ", "skip"}} {
		code, _, stderr := s.command(append([]string{"triage", "feedback"}, args...)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, "group and message-id must not be blank")
	}
}

// A message goes through the gate of a running consumer, is marked on the command
// line, and is an example and a figure then.
func TestTriageFromAMessageToAnExample(t *testing.T) {
	t.Parallel()
	gateModel := providertest.New(t)
	gateModel.Always(providertest.Answer{Text: "SKIP"})
	s := start(t, map[string]string{
		"HINT_TRIAGE":    `{"enabled":true,"triageModel":"mock/small"}`,
		"HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, gateModel.OpenAIURL()),
	})
	for range 2 {
		reply := s.AskRaw("before_dispatch", []byte(`{"hook":"before_dispatch","ctx":{"agentId":"main"},
			"event":{"messageId":"4711","content":"is the roof done?","sessionKey":"`+roof+`","senderId":"ada","isGroup":true}}`), time.Minute)
		require.JSONEq(t, `{"handled":true}`, string(reply.Data))
	}
	code, _, stderr := s.command("triage", "feedback", roof, "4711", "respond", "--by", "bob")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	var marks []state.Mark
	s.Eventually("the mark", func() bool {
		code, stdout, stderr := s.command("triage", "examples", "ls", "--json")
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &marks))
		return len(marks) == 1
	})
	require.Equal(t, "is the roof done?", marks[0].Text)
	require.Equal(t, "bob", marks[0].By)
	code, stdout, stderr := s.command("triage", "stats", "--json")
	require.Zero(t, code, stderr)
	var out triageStats
	require.NoError(t, json.Unmarshal([]byte(stdout), &out))
	require.Equal(t, 1, out.Total.Messages, "it came twice and counts once")
	require.Equal(t, 1, out.Total.Missed)
	require.Equal(t, 1, out.Total.Avoided)
	require.Positive(t, out.Total.Tokens.In)
	require.EqualValues(t, defaultTurnTokens-out.Total.Spent(), out.Total.Saved)
}

func TestTriageExamples(t *testing.T) {
	t.Parallel()
	s, shared := withGate(t, `{"enabled":true}`)
	code, _, stderr := s.command("triage", "examples", "ls")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "no marked messages in bucket OPENCLAW_EVENTS_TRIAGE_MARKS")
	mark := func(group, id, verdict string, at int64) {
		require.NoError(t, shared.Mark(t.Context(), state.Mark{Group: group, MessageID: id, Verdict: verdict, At: at, ID: id, By: "ada\x1b[2J", Text: "is the\nroof done?"}))
	}
	mark(roof, "1", state.Respond, 1)
	mark(roof, "2", state.Skip, 2)
	mark(tools, "1", state.Skip, 3)
	mark(tools, "2", state.Skip, 4)
	ids := func(args ...string) (out []string) {
		t.Helper()
		code, stdout, stderr := s.command(append([]string{"triage", "examples", "ls", "--json"}, args...)...)
		require.Zero(t, code, stderr)
		var marks []state.Mark
		require.NoError(t, json.Unmarshal([]byte(stdout), &marks))
		for _, m := range marks {
			out = append(out, m.Group[len(m.Group)-2:]+" "+m.MessageID)
		}
		return out
	}
	require.Equal(t, []string{"C7 2", "C7 1", "01 2", "01 1"}, ids(), "newest first")
	require.Equal(t, []string{"01 2", "01 1"}, ids("--group", roof))
	code, stdout, stderr := s.command("triage", "examples", "ls")
	require.Zero(t, code, stderr)
	require.Equal(t, 5, strings.Count(stdout, "\n"), stdout)
	require.NotContains(t, stdout, "\x1b")
	require.Contains(t, stdout, "is the roof done?")

	for _, row := range []struct {
		name string
		args []string
		code int
		says string
		left []string
	}{
		{"nothing chosen", nil, exitUsage, "missing selection", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"a group alone", []string{roof}, exitUsage, "missing selection", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"a message and all", []string{roof, "1", "--all"}, exitUsage, "cannot be used together", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"all, and nobody to ask", []string{"--all"}, exitFailed, "add --yes", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"an empty group", []string{"", "--all", "--yes"}, exitUsage, "the group must not be blank", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"a message, and nobody to ask", []string{roof, "2"}, exitFailed, "add --yes", []string{"C7 2", "C7 1", "01 2", "01 1"}},
		{"a message", []string{roof, "2", "-y"}, exitOK, "removed 1 mark\n", []string{"C7 2", "C7 1", "01 1"}},
		{"one that is there and one that is not", []string{roof, "2", "1", "--yes"}, exitFailed, `message "2" of group "` + roof + `" is not marked`, []string{"C7 2", "C7 1"}},
		{"all of a group", []string{tools, "--all", "--yes"}, exitOK, "removed 2 marks\n", nil},
		{"all of none", []string{"--all", "--yes"}, exitOK, "no marked messages", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := s.command(append([]string{"triage", "examples", "rm"}, row.args...)...)
			require.Equal(t, row.code, code, stderr)
			require.Contains(t, stdout+stderr, row.says)
			require.Equal(t, row.left, ids())
		})
	}
}

func TestTriageCommandsSayThatTheGateIsOff(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, args := range []string{"try g text", "stats", "stats --json", "feedback g m skip", "examples ls", "examples rm g m"} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := s.command(append([]string{"triage"}, strings.Fields(args)...)...)
			require.Equal(t, exitFailed, code)
			require.Empty(t, stdout)
			require.Equal(t, "consumer: the triage gate is off; HINT_TRIAGE='{\"enabled\": true}' turns it on\n", stderr)
		})
	}
	_, err := s.JS.Stream(t.Context(), "KV_OPENCLAW_EVENTS_TRIAGE")
	require.Error(t, err, "nothing was created")
}
