package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/cmd/consumer/cli"
	"intenthint/record"
	"intenthint/store"
)

func TestStatsOfAStore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			statsOfAStore(t, kind)
		})
	}
}

func statsOfAStore(t *testing.T, kind string) {
	t.Helper()
	// All but a session's newest turn are outside its document.
	env := settle(t, map[string]string{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "0", "HINT_USER_TIMEZONE": "Asia/Taipei"})
	cfg := env.config(t)
	sessions, closeStore := storeOf(t, &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: os.Stdout, Stderr: os.Stderr})
	at := time.Now().Add(-72 * time.Hour)
	held := turnAt("b", "held", "hello", at.Add(time.Hour), resultOf("CHAT", 0.9))
	held.Begin.Skip, held.Begin.HeldOut = "holdout", new(true)
	first := turnAt("a", "first", "fix it", at, resultOf("CODE", 0.7))
	first.Begin.HeldOut = new(false)
	for _, f := range []store.Fact{
		first,
		{ID: "call", TS: at.UnixMilli() + 10, RunID: "first", SessionID: "a", Call: &store.Call{Name: "exec", Error: "exit 1"}},
		{ID: "end", TS: at.UnixMilli() + 1500, RunID: "first", SessionID: "a", End: &store.End{Result: "Done."}},
		{ID: "feedback", TS: at.UnixMilli() + 9000, RunID: "first", SessionID: "a", Feedback: &store.Feedback{Verdict: "wrong"}},
		turnAt("a", "late", "and now?", time.Now(), resultOf("CODE", 0.3)),
		held,
	} {
		require.NoError(t, sessions.Apply(t.Context(), one(f)))
	}
	closeStore()

	show := func(to any, args ...string) string {
		var stdout, stderr bytes.Buffer
		require.Zero(t, env.run(t.Context(), append([]string{"stats"}, args...), &stdout, &stderr), stderr.String())
		if to != nil {
			require.NoError(t, json.Unmarshal(stdout.Bytes(), to))
		}
		return stdout.String() + stderr.String()
	}
	var all, recent record.StatsReport
	show(&all, "--json")
	require.Equal(t, []int{3, 2, 1, 1, 1, 1, 1}, []int{all.Total.Turns, all.Total.Sessions, all.Total.Low, all.Total.HeldOut, all.Total.Corrected, all.Total.FailedToolCalls, all.Total.Duration.Turns})
	require.EqualValues(t, 1500, all.Total.Duration.MedianMs)
	require.Equal(t, []string{"CODE", "CHAT"}, []string{all.Intents[0].Name, all.Intents[1].Name})
	taipei, err := time.LoadLocation("Asia/Taipei")
	require.NoError(t, err)
	require.Equal(t, at.In(taipei).Format(time.DateOnly), all.Days[0].Name)
	require.Nil(t, all.Since)

	show(&recent, "--json", "--since", "2d")
	require.Equal(t, 1, recent.Total.Turns)
	require.NotNil(t, recent.Since)
	require.Contains(t, show(nil), "3 turns of 2 sessions")
	require.Contains(t, show(nil, "--since", time.Now().Add(time.Hour).Format(time.RFC3339)), "no recorded turns since then in ")

	var effect record.EffectReport
	show(&effect, "--effect", "--json")
	require.Equal(t, []int{1, 1}, []int{effect.Total.HeldOut.Sessions, effect.Total.HeldOut.Turns})
	require.Equal(t, 1, effect.Mixed, "a session that went on without a holdout")
	require.Contains(t, show(nil, "--effect"), "not enough: fewer than 20 sessions")
}
