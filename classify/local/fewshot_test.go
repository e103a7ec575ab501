package local_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/intents"
)

// fewExamples draws a catalogue of so many of the bundled intents, each with so
// many of its examples, and returns the examples that are left.
func fewExamples(seed uint64, nIntents, nExamples int) (cat *intents.Catalog, messages []string) {
	random := rand.New(rand.NewPCG(seed, 0))
	all := slices.Clone(intents.Bundled().Enabled())
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all[:nIntents] {
		texts := slices.Clone(all[i].Examples)
		random.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		all[i].Examples = texts[:nExamples]
		messages = append(messages, texts[nExamples:]...)
	}
	return intents.NewCatalog(all[:nIntents]), messages
}

// A catalogue of few examples has little to learn confidence from; what it
// starts from must not make it turn its own messages away.
func TestFewExamplesKeepTheirMessages(t *testing.T) {
	for _, row := range []struct{ nIntents, nExamples int }{{1, 5}, {2, 5}, {4, 5}, {8, 5}, {12, 5}, {8, 20}} {
		for seed := range uint64(10) {
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
