package record_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// sessionTurn is a turn with its session.
type sessionTurn struct {
	session store.Summary
	turn    *store.Turn
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// turn is one that began a time after noon and took so many milliseconds; none for
// one that has not ended.
func turn(session, agent string, after time.Duration, tookMs int64, with func(*store.Turn)) sessionTurn {
	ts := noon.Add(after).UnixMilli()
	t := &store.Turn{RunID: fmt.Sprint(session, "-", ts), Begin: store.Key{TS: ts}}
	if tookMs >= 0 {
		t.End = &store.Mark{TS: ts + tookMs}
	}
	if with != nil {
		with(t)
	}
	return sessionTurn{store.Summary{Token: session, SessionID: session, AgentID: agent}, t}
}

func classified(intent string, confidence float64, source string) *payload.Classification {
	return &payload.Classification{Intent: intent, Confidence: confidence, Source: source}
}

// aDay are turns of every kind.
func aDay() []sessionTurn {
	return []sessionTurn{
		turn("s1", "main", 0, 4000, func(t *store.Turn) {
			t.Intent.Result = classified("CODE", 0.9, "llm")
			t.Intent.Result.ModelCalls, t.Intent.Result.Tokens = 2, &payload.Tokens{In: 1200, Out: 80}
			t.ToolCalls = []store.ToolCall{{Call: store.Call{Name: "read"}}, {Call: store.Call{Name: "exec", Error: "exit 1"}}}
			t.SkillsHinted = []store.HintedSkill{{Skill: store.Skill{Name: "git"}, Used: true}, {Skill: store.Skill{Name: "svn"}}}
			t.SkillsUsed = []store.Skill{{Name: "git"}, {Name: "make"}}
			t.AgentUse = []store.AgentUsed{
				{AgentUse: payload.AgentUse{Model: "p/m", Calls: 1}},
				{AgentUse: payload.AgentUse{Model: "p/m", Calls: 1}},
				{AgentUse: payload.AgentUse{Model: "p/m", Tokens: &payload.AgentTokens{Input: 1000, Output: 200, CacheRead: 50_000, CacheWrite: 4000}}},
			}
		}),
		turn("s1", "main", time.Minute, 1000, func(t *store.Turn) {
			t.Intent.Result, t.Intent.Skip = classified("CODE", 0.8, "local"), "unchanged"
			t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: "right"}}
			t.AgentUse = []store.AgentUsed{{AgentUse: payload.AgentUse{Model: "p/other", Tokens: &payload.AgentTokens{Input: 100}}}}
		}),
		turn("s1", "main", 12*time.Hour, 2000, func(t *store.Turn) {
			t.Intent.Result, t.Intent.Skip = classified("CHAT", 0.3, "local"), "low_confidence"
			t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: "wrong", Intent: "CODE"}}
			t.Error = "HTTP status 500"
		}),
		turn("s2", "ops", 13*time.Hour, 3000, func(t *store.Turn) {
			t.Intent = store.Intent{Result: classified("OTHER", 0.7, "local"), Skip: "holdout", HeldOut: new(true)}
		}),
		turn("s2", "ops", 14*time.Hour, -1, func(t *store.Turn) {
			t.Intent.Skip, t.Intent.HeldOut = "deadline", new(true)
			t.ModelUse = []store.AskedModels{
				{ModelUse: payload.ModelUse{Calls: 2, Failed: 2, Tokens: payload.Tokens{In: 700}}},
				{ModelUse: payload.ModelUse{Calls: 1, Tokens: payload.Tokens{In: 800, Out: 50}}},
			}
		}),
		turn("s3", "ops", 15*time.Hour, -1, func(t *store.Turn) {
			t.Intent = store.Intent{Result: classified("CHAT", 0.5, "local"), HeldOut: new(false)}
			t.End = &store.Mark{TS: t.Begin.TS - 500} // by a clock that was set back
		}),
		turn("s3", "ops", 16*time.Hour, 2000, func(t *store.Turn) {
			t.Intent = store.Intent{Result: classified("CHAT", 0.9, "local"), Skip: store.SkipLate, HeldOut: new(false)}
		}),
	}
}

func counted(turns []sessionTurn, o record.StatsOptions) record.StatsReport {
	stats := record.NewStats(o)
	for _, t := range turns {
		stats.Add(t.session, t.turn)
	}
	return stats.Report()
}

func TestStatsAsJSON(t *testing.T) {
	out := counted(aDay(), record.StatsOptions{MinConfidence: 0.5, Prices: record.Prices{"p/m": {Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}})
	// 3,000 + 3,000 + 15,000 + 15,000 millionths.
	require.InDelta(t, 0.036, out.Total.Agent.Cost, 1e-12)
	raw, err := json.MarshalIndent(out, "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "stats.json", string(raw)+"\n")
}

func TestStatsOfNothing(t *testing.T) {
	raw, err := json.Marshal(counted(nil, record.StatsOptions{}))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"intents":[],"sources":[],"agents":[],"days":[],"skills":[]`)
	require.Contains(t, string(raw), `"confidence":null`)
}

func TestStatsDoNotDependOnTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var turns []sessionTurn
	for i := range 500 {
		turns = append(turns, turn(fmt.Sprint("s", i%50), "main", time.Duration(i)*time.Hour, random.Int64N(100_000), func(t *store.Turn) {
			t.Intent.Result = classified(fmt.Sprint("I", i%7), random.Float64(), "local")
		}))
	}
	options := record.StatsOptions{MinConfidence: 0.5}
	want := counted(turns, options)
	for range 20 {
		random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		require.Equal(t, want, counted(turns, options))
	}
}

func TestDaysAreThoseOfTheUser(t *testing.T) {
	taipei, err := time.LoadLocation("Asia/Taipei")
	require.NoError(t, err)
	names := func(days []record.Tally) (out []string) {
		for _, d := range days {
			out = append(out, fmt.Sprint(d.Name, " ", d.Turns))
		}
		return out
	}
	turns := []sessionTurn{turn("s", "a", 3*time.Hour, 0, nil), turn("s", "a", 5*time.Hour, 0, nil)}
	require.Equal(t, []string{"2026-11-22 2"}, names(counted(turns, record.StatsOptions{}).Days))
	require.Equal(t, []string{"2026-11-22 1", "2026-11-23 1"}, names(counted(turns, record.StatsOptions{Location: taipei}).Days))
}

func TestDurations(t *testing.T) {
	for _, row := range []struct {
		name  string
		turns int // that took 1 ms, 2 ms and so on
		want  record.Duration
	}{
		{"none", 0, record.Duration{}},
		{"one", 1, record.Duration{Turns: 1, MedianMs: 1, P95Ms: 1, MeanMs: 1}},
		{"two", 2, record.Duration{Turns: 2, MedianMs: 1, P95Ms: 2, MeanMs: 1}},
		{"twenty", 20, record.Duration{Turns: 20, MedianMs: 10, P95Ms: 19, MeanMs: 10}},
		{"twenty-one", 21, record.Duration{Turns: 21, MedianMs: 11, P95Ms: 20, MeanMs: 11}},
		{"a thousand", 1000, record.Duration{Turns: 1000, MedianMs: 500, P95Ms: 950, MeanMs: 500}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var turns []sessionTurn
			for i := range row.turns {
				turns = append(turns, turn("s", "a", 0, int64(i+1), nil))
			}
			require.Equal(t, row.want, counted(turns, record.StatsOptions{}).Total.Duration)
		})
	}
}

// A few seconds are allowed for 30,000 turns, of which most go into reading them.
func BenchmarkStats(b *testing.B) {
	day := aDay()
	for b.Loop() {
		stats := record.NewStats(record.StatsOptions{MinConfidence: 0.5})
		for i := range 30_000 {
			t := day[i%len(day)]
			t.session.Token = strings.Repeat("s", 1+i%100)
			stats.Add(t.session, t.turn)
		}
		stats.Report()
	}
}
