package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/record"
	"intenthint/store"
)

func TestImproveOfAStore(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_HISTORY_LIMIT": "0"})
	cfg := env.config(t)
	sessions, closeStore := storeOf(t, &cli.Invocation{Ctx: t.Context(), Config: cfg, Stdout: os.Stdout, Stderr: os.Stderr})
	at := time.Now().Add(-72 * time.Hour)
	for _, f := range []store.Fact{
		turnAt("a", "misled", "fix the <chorus>", at, resultOf("CODE_DEBUG", 0.9)),
		turnAt("a", "after", "no, I meant the song", at.Add(time.Minute), resultOf("CREATIVE_WRITING", 0.9)),
		turnAt("b", "early", "when should I water the tomatoes", at, resultOf("OTHER", 0.9)),
		turnAt("c", "late", "should I water the tomatoes today", time.Now(), resultOf("OTHER", 0.9)),
		{ID: "feedback", TS: at.UnixMilli() + 9000, RunID: "after", SessionID: "a", Feedback: &store.Feedback{Verdict: "wrong", Intent: "CHAT"}},
	} {
		require.NoError(t, sessions.Apply(t.Context(), one(f)))
	}
	closeStore()

	improve := func(args ...string) (stdout, stderr string) {
		var out, log bytes.Buffer
		require.Zero(t, env.run(t.Context(), append([]string{"improve"}, args...), &out, &log), log.String())
		return out.String(), log.String()
	}
	raw, _ := improve("--json")
	var all workbench.Improvements
	require.NoError(t, json.Unmarshal([]byte(raw), &all))
	require.Equal(t, 4, all.Turns)
	require.Len(t, all.Findings, 3)
	require.Equal(t, record.FoundUnsure, all.Findings[0].Kind)
	require.Equal(t, "late", all.Findings[0].Turns[0].RunID)

	shown, _ := improve("--limit", "2", "--turns", "1")
	stamp := func(at time.Time) string { return at.Local().Format(time.DateTime) }
	require.Contains(t, shown, fmt.Sprintf("unsure  2 turns  OTHER\n    %s  c  late  should I water the tomatoes today\n\n", stamp(time.UnixMilli(all.Findings[0].Turns[0].TS))))
	require.Contains(t, shown, fmt.Sprintf("corrected  1 turn  CODE_DEBUG\n    %s  a  misled  fix the <chorus>; then: no, I meant the song\n\n", stamp(at)))
	require.Contains(t, shown, "… and 1 finding more (--limit)\n\n")
	require.Contains(t, shown, "\n3 findings in 4 turns\n")
	shown, _ = improve()
	require.Contains(t, shown, "corrected  1 turn  CREATIVE_WRITING → CHAT\n")

	shown, log := improve("--since", "1h")
	require.Empty(t, shown)
	require.Contains(t, log, "nothing found in 1 turn of ")
}
