package record_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// hinting is a classified turn of a side; nil for a time without a holdout.
func hinting(session string, after time.Duration, heldOut *bool, with func(*store.Turn)) sessionTurn {
	return turn(session, "main", after, 1000, func(t *store.Turn) {
		t.Intent = store.Intent{Result: classified("CODE", 0.9, "local"), HeldOut: heldOut}
		if heldOut != nil && *heldOut {
			t.Intent.Skip = "holdout"
		}
		if with != nil {
			with(t)
		}
	})
}

func calls(failed, done int) func(*store.Turn) {
	return func(t *store.Turn) {
		for range failed {
			t.ToolCalls = append(t.ToolCalls, store.ToolCall{Call: store.Call{Error: "exit 1"}})
		}
		for range done {
			t.ToolCalls = append(t.ToolCalls, store.ToolCall{})
		}
	}
}

func compared(turns []sessionTurn, o record.EffectOptions) record.EffectReport {
	effect := record.NewEffect(o)
	for _, t := range turns {
		effect.Add(t.session, t.turn)
	}
	return effect.Report()
}

// aMonth are 300 sessions with hints and 60 that were held out, which call more
// tools, of which more fail, take longer, and are corrected more often. Two intents;
// the second has too few sessions.
func aMonth() (out []sessionTurn) {
	random := rand.New(rand.NewPCG(11, 12))
	for i := range 360 {
		heldOut := i%6 == 0
		more := 1.0
		if heldOut {
			more = 2
		}
		for n := range 1 + random.IntN(6) {
			out = append(out, turn(fmt.Sprint("s", i), "main", time.Duration(n)*time.Minute, int64(1000*more*(0.5+random.Float64())), func(t *store.Turn) {
				t.Intent = store.Intent{Result: classified("CODE", 0.9, "local"), HeldOut: new(heldOut)}
				if heldOut {
					t.Intent.Skip = "holdout"
				}
				if i%30 == 0 {
					t.Intent.Result.Intent = "CHAT"
				}
				calls(random.IntN(int(1+2*more)), random.IntN(4))(t)
				t.AgentUse = []store.AgentUsed{
					{AgentUse: payload.AgentUse{Calls: 1 + len(t.ToolCalls)}},
					{AgentUse: payload.AgentUse{Model: "p/m", Tokens: &payload.AgentTokens{Input: 500 * (1 + len(t.ToolCalls)), CacheRead: 9000, Output: 100 * len(t.ToolCalls)}}},
				}
				t.Input = "go on"
				if random.Float64() < 0.1*more {
					t.Input = "no, I meant the other file"
				}
			}))
		}
	}
	return out
}

func TestEffectAsJSON(t *testing.T) {
	raw, err := json.MarshalIndent(compared(aMonth(), record.EffectOptions{}), "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "effect.json", string(raw)+"\n")
}

func TestAnEffectOfHintsIsFound(t *testing.T) {
	out := compared(aMonth(), record.EffectOptions{Prices: record.Prices{"p/m": {Input: 3, Output: 15}}})
	require.Equal(t, record.FewEvents, out.Total.Agent.CachedTokens.NotEnough, "the same in all sessions")
	require.InDelta(t, 9000, out.Total.Agent.CachedTokens.Hinted, 1e-9)
	for name, d := range map[string]record.Contrast{
		"failed calls": out.Total.ToolErrors, "calls": out.Total.ToolCalls, "corrections": out.Total.Corrections, "duration": out.Total.DurationMs,
		"model calls": out.Total.Agent.ModelCalls, "input": out.Total.Agent.InputTokens, "output": out.Total.Agent.OutputTokens, "cost": out.Total.Agent.Cost,
	} {
		require.NotNil(t, d.Interval, name)
		require.Negative(t, d.Interval[1], name)
		require.Less(t, d.Interval[0], d.Difference, name)
		require.Greater(t, d.Interval[1], d.Difference, name)
	}
	require.Equal(t, []string{"CODE", "CHAT"}, []string{out.Intents[0].Name, out.Intents[1].Name})
	require.NotNil(t, out.Intents[0].ToolErrors.Interval)
	require.Equal(t, record.FewSessions, out.Intents[1].ToolErrors.NotEnough)
}

func TestAnEffectDoesNotDependOnTheOrder(t *testing.T) {
	turns := aMonth()
	options := record.EffectOptions{Rounds: 200}
	want := compared(turns, options)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		require.Equal(t, want, compared(turns, options))
	}
}

func TestWhichSessionsAreCompared(t *testing.T) {
	held, hinted := new(true), new(false)
	unanswered := func(session string, after time.Duration) sessionTurn { return turn(session, "main", after, 1000, nil) }
	for _, row := range []struct {
		name                            string
		turns                           []sessionTurn
		hinted, heldOut, mixed, outside int
	}{
		{"one of each side", []sessionTurn{hinting("a", 0, held, nil), hinting("b", 0, hinted, nil)}, 1, 1, 0, 0},
		{"without a holdout", []sessionTurn{hinting("a", 0, nil, nil)}, 0, 0, 0, 1},
		{"from before the holdout on", []sessionTurn{hinting("a", 0, nil, nil), hinting("a", time.Minute, hinted, nil)}, 0, 0, 1, 0},
		{"changed sides", []sessionTurn{hinting("a", 0, held, nil), hinting("a", time.Minute, hinted, nil)}, 0, 0, 1, 0},
		{"a hint that came too late", []sessionTurn{hinting("a", 0, hinted, func(t *store.Turn) { t.Intent.Skip = store.SkipLate })}, 0, 0, 0, 0},
		{"a turn that nobody answered", []sessionTurn{hinting("a", 0, held, nil), unanswered("a", time.Minute)}, 0, 1, 0, 0},
		{"none was answered", []sessionTurn{unanswered("a", 0)}, 0, 0, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := compared(row.turns, record.EffectOptions{})
			require.Equal(t, []int{row.hinted, row.heldOut, row.mixed, row.outside}, []int{out.Total.Hinted.Sessions, out.Total.HeldOut.Sessions, out.Mixed, out.Outside})
		})
	}
}

func TestWhichTurnsAreCompared(t *testing.T) {
	skipped := func(skip string) func(*store.Turn) {
		return func(t *store.Turn) { t.Intent.Skip = skip }
	}
	for _, row := range []struct {
		skip  string
		turns int
	}{{"", 1}, {"unchanged", 1}, {"holdout", 1}, {"low_confidence", 0}} {
		t.Run("skip "+row.skip, func(t *testing.T) {
			out := compared([]sessionTurn{hinting("a", 0, new(false), skipped(row.skip))}, record.EffectOptions{})
			require.Equal(t, row.turns, out.Total.Hinted.Turns)
		})
	}
}

func TestOutcomesPerTurn(t *testing.T) {
	saying := func(text string) func(*store.Turn) {
		return func(t *store.Turn) { t.Message, t.Input = text, "Context.\n"+text }
	}
	hinted := new(false)
	for _, row := range []struct {
		name                             string
		turns                            []sessionTurn
		errors, calls, corrections, took float64
	}{
		{"tool calls", []sessionTurn{hinting("a", 0, hinted, calls(1, 2)), hinting("b", 0, hinted, calls(0, 1))}, 0.5, 2, 0, 1000},
		{"a correction is that of the turn before", []sessionTurn{
			hinting("a", 0, hinted, nil), hinting("a", time.Minute, hinted, saying("no, I meant the other one")),
		}, 0, 0, 0.5, 1000},
		{"in a turn without an answer too", []sessionTurn{
			hinting("a", 0, hinted, nil), turn("a", "main", time.Minute, 1000, saying("そうじゃなくて")),
		}, 0, 0, 1, 1000},
		{"the first message of a session corrects nothing", []sessionTurn{hinting("a", 0, hinted, saying("wrong file"))}, 0, 0, 0, 1000},
		{"nor does that of another session", []sessionTurn{hinting("a", 0, hinted, nil), hinting("b", time.Minute, hinted, saying("wrong file"))}, 0, 0, 0, 1000},
		{"a mark counts once", []sessionTurn{
			hinting("a", 0, hinted, func(t *store.Turn) { t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: "wrong"}} }),
			hinting("a", time.Minute, hinted, saying("wrong file")),
		}, 0, 0, 0.5, 1000},
		{"a mark that it is right is not a correction", []sessionTurn{
			hinting("a", 0, hinted, func(t *store.Turn) { t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: "right"}} }),
		}, 0, 0, 0, 1000},
		{"a turn that goes on has no duration", []sessionTurn{
			hinting("a", 0, hinted, func(t *store.Turn) { t.End = nil }), hinting("a", time.Minute, hinted, func(t *store.Turn) { t.End.TS += 1000 }),
		}, 0, 0, 0, 2000},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := compared(row.turns, record.EffectOptions{}).Total
			require.Equal(t, []float64{row.errors, row.calls, row.corrections, row.took},
				[]float64{out.ToolErrors.Hinted, out.ToolCalls.Hinted, out.Corrections.Hinted, out.DurationMs.Hinted})
			require.Equal(t, record.FewSessions, out.ToolCalls.NotEnough)
		})
	}
}

func TestSessionsSince(t *testing.T) {
	turns := []sessionTurn{
		hinting("old", -time.Minute, new(false), nil), hinting("old", time.Minute, new(false), nil), hinting("new", time.Minute, new(true), nil),
	}
	out := compared(turns, record.EffectOptions{Since: noon})
	require.Equal(t, []int{0, 1}, []int{out.Total.Hinted.Turns, out.Total.HeldOut.Turns}, "a session that began before is left out whole")
	require.Equal(t, &noon, out.Since)
}
