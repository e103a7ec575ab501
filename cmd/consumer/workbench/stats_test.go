package workbench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// statTurn is a turn of every kind that the tables show.
func statTurn(i int) (store.Summary, *store.Turn) {
	ts := time.Date(2026, 11, 20+i%3, 12, 0, 0, 0, time.UTC).UnixMilli() + int64(i)*1000
	t := &store.Turn{RunID: strconv.Itoa(i), Input: "go on", Begin: store.Key{TS: ts}, End: &store.Mark{TS: ts + 1000 + int64(i%7)*700}}
	t.Intent.HeldOut = new(i%24 < 6)
	switch i % 6 {
	case 5:
		t.Intent.Skip = "deadline"
		t.ModelUse = []store.AskedModels{{ModelUse: payload.ModelUse{Calls: 2, Failed: 2, Tokens: payload.Tokens{In: 900}}}}
	case 4:
		t.Intent.Result, t.Intent.Skip = resultOf("OTHER", 0.3), "low_confidence"
	case 3:
		t.Intent.Result, t.Intent.Skip = resultOf("CODE_REVIEW", 0.95), "unchanged"
		t.Error = "HTTP status 500"
	default:
		t.Intent.Result = resultOf("CODE_REVIEW", 0.85)
		t.Intent.Result.Source, t.Intent.Result.ModelCalls, t.Intent.Result.Tokens = payload.SourceLLM, 1, &payload.Tokens{In: 900, Out: 60}
		t.SkillsHinted, t.SkillsUsed = []store.HintedSkill{{Skill: store.Skill{Name: "git"}, Used: i%2 == 0}}, []store.Skill{{Name: "git"}}[:1-i%2]
	}
	for n := range i % 5 {
		c := store.ToolCall{}
		if n == 3 {
			c.Error = "exit 1"
		}
		t.ToolCalls = append(t.ToolCalls, c)
	}
	t.AgentUse = []store.AgentUsed{
		{AgentUse: payload.AgentUse{Model: "p/m", Calls: 1}},
		{AgentUse: payload.AgentUse{Model: []string{"p/m", "p/other"}[i%100/99], Tokens: &payload.AgentTokens{Input: 1000 + i%7*100, Output: 50, CacheRead: 20_000 + i%5*1000, CacheWrite: 300}}},
	}
	if i%11 == 0 {
		t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: "wrong"}}
	}
	session := fmt.Sprint("s", i/6)
	return store.Summary{Token: session, SessionID: session, AgentID: []string{"main", "ops"}[i/6%2]}, t
}

func resultOf(intent string, confidence float64) *payload.Classification {
	return &payload.Classification{Intent: intent, Name: intent, Confidence: confidence, Complexity: "low", Source: payload.SourceLocal}
}

func TestStatsTables(t *testing.T) {
	t.Parallel()
	prices := record.Prices{"p/m": {Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}
	stats := record.NewStats(record.StatsOptions{MinConfidence: 0.5, Prices: prices})
	effect := record.NewEffect(record.EffectOptions{Rounds: 200, Prices: prices})
	for i := range 720 {
		s, turn := statTurn(i)
		stats.Add(s, turn)
		effect.Add(s, turn)
	}
	var out bytes.Buffer
	report := stats.Report()
	require.NoError(t, writeStats(&out, &report))
	golden.Equal(t, "stats.txt", out.String())
	out.Reset()
	comparison := effect.Report()
	require.NoError(t, writeEffect(&out, &comparison))
	golden.Equal(t, "effect.txt", out.String())
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name              string
		d                 record.Contrast
		interval, verdict string
	}{
		{"less", record.Contrast{Interval: &[2]float64{-2, -1}}, "-2.000 to -1.000", "less with hints"},
		{"more", record.Contrast{Interval: &[2]float64{0.5, 1}}, "+0.500 to +1.000", "more with hints"},
		{"neither", record.Contrast{Interval: &[2]float64{-1, 1}}, "-1.000 to +1.000", "no clear difference"},
		{"few sessions", record.Contrast{NotEnough: record.FewSessions}, "-", "not enough: fewer than 20 sessions"},
		{"nothing", record.Contrast{NotEnough: record.FewEvents}, "-", "not enough: nothing differs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			interval, verdict := verdictOn(&row.d, 20, decimals)
			require.Equal(t, []string{row.interval, row.verdict}, []string{interval, verdict})
		})
	}
}

func TestDifferencesHaveASign(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{"+0.500": 0.5, "-0.500": -0.5, "0.000": -0.0001} {
		require.Equal(t, want, signed(decimals, v))
	}
}

func TestAnEffectOfNoHoldoutSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, writeEffect(&out, &record.EffectReport{Outside: 7}))
	require.Contains(t, out.String(), "7 from a time without a holdout (HINT_HOLDOUT)")
	require.NotContains(t, out.String(), "INTERVAL")
}
