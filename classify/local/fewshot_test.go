package local_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/intents"
)

// english returns the first examples of an intent, up to one in another script. In
// the built-in files English stands first.
func english(in intents.Intent) []string {
	end := slices.IndexFunc(in.Examples, func(e string) bool {
		return strings.ContainsFunc(e, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) })
	})
	if end < 0 {
		return in.Examples
	}
	return in.Examples[:end]
}

func TestEnglishStandsFirst(t *testing.T) {
	for _, in := range intents.Bundled().Enabled() {
		require.Greater(t, len(english(in)), 20, in.ID)
	}
}

// fewExamples draws a catalogue of so many of the bundled intents, each with so
// many of its English examples, and returns the examples that are left.
func fewExamples(seed uint64, nIntents, nExamples int) (cat *intents.Catalog, messages []string) {
	random := rand.New(rand.NewPCG(seed, 0))
	all := slices.DeleteFunc(slices.Clone(intents.Bundled().Enabled()), func(in intents.Intent) bool {
		return in.ID == "MATHEMATICS" // five sums say little about others, which are mostly numbers
	})
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all[:nIntents] {
		texts := slices.Clone(english(all[i]))
		random.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		all[i].Examples = texts[:nExamples]
		messages = append(messages, texts[nExamples:]...)
	}
	return intents.NewCatalog(all[:nIntents]), messages
}

// A catalogue of few examples has little to learn confidence from. The prior must
// not make it reject its own messages.
func TestFewExamplesKeepTheirMessages(t *testing.T) {
	for _, row := range []struct{ nIntents, nExamples int }{{1, 5}, {2, 5}, {4, 5}, {8, 5}, {12, 5}, {8, 20}} {
		draws := uint64(10)
		if testing.Short() {
			draws = 2
		}
		for seed := range draws {
			t.Run(fmt.Sprintf("%d intents with %d examples, draw %d", row.nIntents, row.nExamples, seed), func(t *testing.T) {
				cat, messages := fewExamples(seed, row.nIntents, row.nExamples)
				m := local.Train(cat)
				lost := 0
				for _, message := range messages {
					if m.Predict(message, nil, nil).Other {
						lost++
					}
				}
				require.Less(t, float64(lost)/float64(len(messages)), 0.15)
			})
		}
	}
}

// One English example in ten is left out of a catalogue of the shipped size and
// comes back as a new message.
func TestBundledCatalogueKnowsSimilarMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on the built-in intents")
	}
	const every, first = 10, 3
	list := append(slices.Clone(intents.Bundled().Enabled()), intents.Bundled().Fallback())
	held := map[string]string{}
	for i, in := range list {
		list[i].Examples = nil
		mine := english(in)
		for k, e := range in.Examples {
			if k < len(mine) && k%every == first && in.ID != intents.FallbackID {
				held[e] = in.ID
			} else {
				list[i].Examples = append(list[i].Examples, e)
			}
		}
	}
	m := local.Train(intents.NewCatalog(list))
	right := 0
	for message, id := range held {
		if m.Predict(message, nil, nil).Intent == id {
			right++
		}
	}
	require.Greater(t, float64(right)/float64(len(held)), 0.70, "%d of %d", right, len(held))
}
