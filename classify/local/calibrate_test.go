package local

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

// The loss is convex: wherever the search starts, the gradient vanishes at the
// optimum.
func TestFitLogisticFindsTheOptimum(t *testing.T) {
	for _, row := range []struct {
		name  string
		prior logistic
		n     int
	}{
		{"from zero", logistic{}, 200},
		{"from close by", logistic{-1, 2}, 200},
		{"from the wrong side", logistic{1, -2}, 200},
		{"from very far", logistic{-30, -40, 30, 40}, 200},
		{"from very far with few observations", logistic{-30, -40, 30, 40}, 5},
		{"from probabilities of 0 and 1", logistic{500, 500, 500, 500}, 200},
		{"no observations", logistic{1, 2, 3}, 0},
	} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s %d", row.name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				obs := make([]observation, row.n)
				for i := range obs {
					o := &obs[i]
					o.signals[0], o.weight = 1, 0.1+random.Float64()
					for k := 1; k < numSignals; k++ {
						o.signals[k] = random.NormFloat64()
					}
					o.inScope = random.Float64() < 1/(1+math.Exp(1-2*o.signals[1]))
				}
				outcome := func(o *observation) (hit, use bool) { return o.inScope, true }
				l := fitLogistic(obs, outcome, row.prior, 0.5)
				for k := range l {
					slope := 0.5 * (l[k] - row.prior[k])
					for i := range obs {
						y := 0.0
						if obs[i].inScope {
							y = 1
						}
						slope += obs[i].weight * (l.probability(&obs[i].signals) - y) * obs[i].signals[k]
					}
					require.InDelta(t, 0, slope, 0.01, "signal %d", k)
				}
			})
		}
	}
}

func TestOddsFor(t *testing.T) {
	samples := func(intents, each, fallback int) []sample {
		var out []sample
		for class := range intents {
			out = append(out, slices.Repeat([]sample{{class: int32(class)}}, each)...)
		}
		return append(out, slices.Repeat([]sample{{class: -1}}, fallback)...)
	}
	for _, row := range []struct {
		name                    string
		intents, each, fallback int
		want                    float64
	}{
		{"few examples", 40, 10, 16, fallbackOdds},
		{"many examples", 40, 60, 16, surerOdds},
		{"many examples, and many of what fits nothing", 40, 60, 16 + 40*fallbackPerIntent, fallbackOdds},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, oddsFor(samples(row.intents, row.each, row.fallback), row.intents))
		})
	}
}

func TestFoldsFor(t *testing.T) {
	for _, row := range []struct{ texts, folds, every int }{{100, 5, 5}, {600, 5, 5}, {601, 3, 5}, {2400, 3, 5}, {2401, 1, 10}} {
		folds, every := foldsFor(row.texts)
		require.Equal(t, []int{row.folds, row.every}, []int{folds, every}, "%d texts", row.texts)
	}
}

func TestLikeFallback(t *testing.T) {
	for _, row := range []struct {
		name              string
		fallback, intents int
		want              float64
	}{
		{"no examples of the fallback", 0, 4, fallbackShare},
		{"those that every catalogue has", leastFallback, 1, fallbackShare},
		{"few for many intents", leastFallback + 100, 100, fallbackShare},
		{"five for each intent", leastFallback + 200, 40, 0.5},
		{"many", leastFallback + 800, 40, 0.8},
		{"no intents", leastFallback + 5, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			samples := []sample{{class: 0}, {class: 1}}
			for range row.fallback {
				samples = append(samples, sample{class: -1})
			}
			require.InDelta(t, row.want, likeFallback(samples, row.intents), 1e-9)
		})
	}
}

func TestBalance(t *testing.T) {
	for _, row := range []struct {
		name                         string
		in, absent, fallback         int
		wantIn, wantAbsent, wantFall float64 // sums of weights, of 40 observations
	}{
		{"all kinds", 20, 12, 8, 35, 1, 4},
		{"no examples of the fallback", 20, 20, 0, 35, 5, 0},
		{"no intent is left out", 20, 0, 20, 35, 0, 5},
		{"nothing out of scope", 40, 0, 0, 40, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var obs []observation
			add := func(n int, o observation) {
				for range n {
					o.weight = 1
					obs = append(obs, o)
				}
			}
			add(row.in, observation{inScope: true})
			add(row.absent, observation{})
			add(row.fallback, observation{fallback: true})
			balance(obs, 0.8)
			var in, absent, fallback float64
			for _, o := range obs {
				switch {
				case o.inScope:
					in += o.weight
				case o.fallback:
					fallback += o.weight
				default:
					absent += o.weight
				}
			}
			require.InDelta(t, row.wantIn, in, 1e-9)
			require.InDelta(t, row.wantAbsent, absent, 1e-9)
			require.InDelta(t, row.wantFall, fallback, 1e-9)
		})
	}
}

func TestHoldOut(t *testing.T) {
	var examples []string
	for i := range 40 {
		examples = append(examples, fmt.Sprintf("word%d", i))
	}
	m := newModel(intents.NewCatalog([]intents.Intent{{ID: "A", Triggers: []string{"x"}}, {ID: "B", Triggers: []string{"y"}, Examples: examples}}))
	rows := m.learn().rows
	for _, row := range []struct{ every, want int }{{5, 8}, {10, 4}} {
		f := m.holdOut(0, row.every, rows)
		require.Equal(t, []bool{false, true}, f.present)
		held := 0
		for i, sm := range m.samples {
			if f.held[i] && sm.class == 1 {
				held++
			}
		}
		require.Equal(t, row.want, held, "one in %d", row.every)
	}
}

func TestScripts(t *testing.T) {
	for _, row := range []struct {
		name, text            string
		han, hangul, alphabet float64
	}{
		{"nothing", "?!", 0, 0, 0},
		{"Latin", "où est la gare 12", 0, 0, 0},
		{"Chinese", "明天下雨嗎？", 1, 0, 0},
		{"Japanese", "テストを直して", 1, 0, 0},
		{"Korean", "내일 비 와", 0, 1, 0},
		{"Russian", "погода", 0, 0, 1},
		{"Arabic", "الطقس", 0, 0, 1},
		{"Hindi, with its vowel signs", "मौसम", 0, 0, 1},
		{"half and half", "git 提交吧", 0.5, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r reading
			r.reset(row.text)
			han, hangul, alphabet := r.scripts()
			require.InDeltaSlice(t, []float64{row.han, row.hangul, row.alphabet}, []float64{han, hangul, alphabet}, 1e-9)
		})
	}
}
