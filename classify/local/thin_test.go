package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

func TestThinCatalogues(t *testing.T) {
	examples := func(n int) (out []string) {
		for i := range n {
			out = append(out, strings.Repeat("x", i+1))
		}
		return out
	}
	for _, row := range []struct {
		name          string
		each, intents int
		thin          bool
	}{
		{"names alone", 0, 2, true},
		{"few examples", 9, 2, true},
		{"ten an intent", 10, 2, false},
		{"few an intent, many in all", 5, 40, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var list []intents.Intent
			for i := range row.intents {
				list = append(list, intents.Intent{ID: strings.Repeat("A", i+1), Triggers: []string{"x"}, Examples: examples(row.each)})
			}
			require.Equal(t, row.thin, isThin(intents.NewCatalog(list)))
		})
	}
	require.False(t, isThin(intents.Bundled()))
	learnt := intents.NewCatalog([]intents.Intent{{ID: "A"}}).WithExamples(map[string][]string{"A": examples(10)})
	require.False(t, isThin(learnt), "examples learnt from use count")
	require.False(t, isThin(intents.NewCatalog(nil)), "no intents")
}

func TestDescribed(t *testing.T) {
	cat := intents.NewCatalog([]intents.Intent{
		{ID: "DEPLOY", Name: "Deploy", Triggers: []string{"Releases. Not for questions about what is running (see status)", "Not for pets (see GONE), never for fun"}},
		{ID: "STATUS", Name: "Status", Triggers: []string{"Health of a service"}},
	})
	require.Equal(t, [][]string{{"Deploy"}, {"Status", "questions about what is running"}}, described(cat))
	var texts []string
	for _, sm := range samplesOf(cat.Root()) {
		if sm.class == 1 {
			require.True(t, sm.trigger)
			texts = append(texts, sm.text)
		}
	}
	require.Equal(t, []string{"Health of a service", "Status", "questions about what is running"}, texts)
	require.Equal(t, "STATUS", Train(cat).Predict("what is running", nil, nil).Intent)
}

// A name that is a trigger already is not read twice.
func TestNamesAreReadOnce(t *testing.T) {
	n := 0
	for _, sm := range samplesOf(intents.NewCatalog([]intents.Intent{{ID: "A", Name: "VPN Access", Triggers: []string{"vpn access"}}})) {
		if sm.class == 0 {
			n++
		}
	}
	require.Equal(t, 1, n)
}

func TestBackground(t *testing.T) {
	b := generalChat()
	require.Greater(t, len(b.texts), 30*b.groups)
	feature := func(word string) uint64 { return newFeature(hashWord([]rune(word)), viewWord).hash }
	require.Greater(t, b.usersOf(feature("the")), b.usersOf(feature("weather")))
	require.Equal(t, 1, b.usersOf(feature("quassel")))

	var r reading
	for _, row := range []struct {
		name, message string
		own           []string // intents of the catalogue
		least, most   float32
	}{
		{"one of its texts", b.texts[100], nil, 0.999, 1.001},
		{"a text of an intent that the catalogue has", b.texts[100], []string{b.intent[100]}, 0, 0.95},
		{"nothing in common", "zzqx vvkp", nil, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			list := []intents.Intent{{ID: "MINE", Triggers: []string{"zebras"}, Examples: []string{"feed the zebras"}}}
			for _, id := range row.own {
				list = append(list, intents.Intent{ID: id, Triggers: []string{"x"}, Examples: []string{"x"}})
			}
			s := surround(intents.NewCatalog(list), samplesOf(intents.NewCatalog(list)))
			r.reset(row.message)
			got, memory := s.nearest(appendFeatures(nil, &r), nil)
			require.GreaterOrEqual(t, got, row.least)
			require.LessOrEqual(t, got, row.most)
			again, _ := s.nearest(appendFeatures(nil, &r), memory)
			require.Equal(t, got, again, "the memory is cleared")
		})
	}
	mine := intents.NewCatalog([]intents.Intent{{ID: "MINE", Triggers: []string{"x"}, Examples: []string{b.texts[100]}}})
	require.True(t, surround(mine, samplesOf(mine)).own[100], "a text like the catalogue's own")
}

func TestThinCataloguesAreNeverSureThatNothingFits(t *testing.T) {
	names := []intents.Intent{
		{ID: "PASSWORD_RESET", Name: "Password Reset", Triggers: []string{"Password Reset"}},
		{ID: "PRINTER_PROBLEM", Name: "Printer Problem", Triggers: []string{"Printer Problem"}},
		{ID: "NEW_LAPTOP", Name: "New Laptop", Triggers: []string{"New Laptop"}},
	}
	some := slices.Clone(names)
	some[0].Examples = []string{"I forgot my password", "reset my login please", "my account is locked"}
	some[1].Examples = []string{"the printer is jammed", "it prints blank pages", "no toner left in the printer"}
	some[2].Examples = []string{"I need a new computer", "my laptop is too old", "order a notebook for Kim"}
	for _, row := range []struct {
		name    string
		cat     []intents.Intent
		message string
		sure    bool
	}{
		{"names alone", names, "tell me a joke about the weather", false},
		{"names alone, a request in other words", names, "my account is locked, what now?", false},
		{"three examples, a key smash", some, "brzk wqlm vvkp zzqx", true},
		{"names alone, not a word known", names, "wqlm", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := Train(intents.NewCatalog(row.cat)).Predict(row.message, nil, nil)
			require.True(t, p.Other, "%+v", p)
			if row.sure {
				require.Greater(t, p.Confidence, unsureOther)
			} else {
				require.LessOrEqual(t, p.Confidence, unsureOther+1e-9)
			}
		})
	}
}

// Vectors of the background are used where there are some, and not needed.
func TestBackgroundVectors(t *testing.T) {
	cat, f := tiny(), grams(synonyms)
	m := Train(cat)
	require.Len(t, m.Background(), len(generalChat().texts))
	require.Empty(t, bundled().Background())
	own := vectorsOf(TextsOf(cat), f)
	for _, text := range m.Background() {
		require.Nil(t, own[text], "not among the texts that must have one")
	}
	without, err := TrainEmbedded(m, own)
	require.NoError(t, err)
	require.Empty(t, without.around.inverse)
	for _, text := range m.Background()[:200] {
		own[text] = f(text)
	}
	with, err := TrainEmbedded(m, own)
	require.NoError(t, err)
	require.NotEmpty(t, with.around.inverse)
	// Of many texts, as the confidence of most is at its bound either way.
	confidence := func(e *Embedded) (sum float64) {
		for _, strange := range m.Background()[:200] {
			p := e.PredictVectors(classify.Input{Latest: strange}, nil, map[string][]float32{strange: f(strange)})
			for _, s := range p.Ranked {
				if s.Intent == intents.FallbackID {
					sum += s.Probability
				}
			}
		}
		return sum
	}
	require.Greater(t, confidence(with), confidence(without))
}
