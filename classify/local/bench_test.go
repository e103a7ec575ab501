package local_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/payload"
)

// synthetic returns a catalogue of made-up intents: each has words of its own,
// and its examples mix them with words that all intents share.
func synthetic(nIntents, nExamples int) *intents.Catalog {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		var b strings.Builder
		for range 2 + random.IntN(2) {
			b.WriteByte("bcdfghklmnprstvw"[random.IntN(16)])
			b.WriteByte("aeiou"[random.IntN(5)])
		}
		return b.String()
	}
	common := make([]string, 60)
	for i := range common {
		common[i] = word()
	}
	list := make([]intents.Intent, nIntents)
	for i := range list {
		own := make([]string, 12)
		for k := range own {
			own[k] = word()
		}
		examples := make([]string, nExamples)
		for k := range examples {
			words := make([]string, 5+random.IntN(6))
			for j := range words {
				if words[j] = common[random.IntN(len(common))]; random.IntN(3) == 0 {
					words[j] = own[random.IntN(len(own))]
				}
			}
			examples[k] = strings.Join(words, " ")
		}
		list[i] = intent(fmt.Sprintf("INTENT_%03d", i), strings.Join(own[:3], " "), examples...)
	}
	return intents.NewCatalog(list)
}

var sizes = []struct{ intents, examples int }{{40, 20}, {150, 100}}

func BenchmarkTrain(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dx%d", size.intents, size.examples), func(b *testing.B) {
			cat := synthetic(size.intents, size.examples)
			b.ReportAllocs()
			for b.Loop() {
				local.Train(cat)
			}
		})
	}
	b.Run("bundled", func(b *testing.B) {
		cat := intents.Bundled()
		b.ReportAllocs()
		for b.Loop() {
			local.Train(cat)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	run := func(name string, cat *intents.Catalog, message string, turns ...payload.Turn) {
		b.Run(name, func(b *testing.B) {
			m := local.Train(cat)
			in := classify.Input{Catalog: cat, Latest: message, Conversation: turns}
			b.ReportAllocs()
			for b.Loop() {
				m.Classify(in)
			}
		})
	}
	for _, size := range sizes {
		cat := synthetic(size.intents, size.examples)
		run(fmt.Sprintf("%dx%d", size.intents, size.examples), cat, cat.Enabled()[7].Examples[3]+" bonara kiluto")
	}
	run("bundled", intents.Bundled(), "could you check whether the invoice from Keller has been paid yet?")
	run("bundled long", intents.Bundled(), strings.Repeat("could you check whether the invoice from Keller has been paid yet? ", 60))
	run("bundled Chinese", intents.Bundled(), "幫我看看明天下午三點的會議可不可以改到星期五")
	run("bundled ruled out", intents.Bundled(), "don't set a reminder for the invoice from Keller, just tell me whether it has been paid")
	turns := []payload.Turn{
		{Role: "user", Text: "find me a quiet hotel near the harbour in Lisbon"},
		{Role: "assistant", Text: "The Santa Marta has rooms from 90 euros."},
		{Role: "user", Text: "and with breakfast?"},
		{Role: "assistant", Text: "104 euros."},
	}
	run("conversation new subject", intents.Bundled(), "could you check whether the invoice from Keller has been paid yet?", turns...)
	run("conversation goes on", intents.Bundled(), "what about a cheaper one", turns...)
}
