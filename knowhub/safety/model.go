package safety

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"
)

//go:generate go test -run ^TestTrain$ -train .

// trained is what [TestTrain] finds in knowhub/testdata: a checksum of what it was
// trained with (8 bytes), even, above, slope and the scale of the weights (float32 each),
// and a weight of one byte for each place of the table.
//
//go:embed trained.bin
var trained []byte

// A model is a logistic regression over the features of a window.
type model struct {
	weights []float32
	limit   float64 // the score of even odds
	// above is how far above the limit the score of a short text is that is
	// marked though no rule finds it. Of harmless texts by writers that the model was
	// not trained with, two per cent are marked by it or by the rules.
	above float64
	// slope is by how much more that is where a text has e times as many segments: the
	// more windows there are, the higher is the best score by chance.
	slope float64
}

const header = 8 + 4*4

var learnt = sync.OnceValue(func() model { return readModel(trained) })

// readModel reads what writeModel writes.
func readModel(data []byte) model {
	if len(data) != header+1<<tableBits {
		panic("safety: trained.bin has another size") // it is a part of the binary
	}
	number := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[at:]))) }
	m := model{weights: make([]float32, 1<<tableBits), limit: number(8), above: number(12), slope: number(16)}
	scale := float32(number(20))
	for i, b := range data[header:] {
		m.weights[i] = float32(int8(b)) * scale //nolint:gosec // two's complement
	}
	return m
}

// marks reports whether the model finds an attack in a text.
func (m *model) marks(text []segment) bool { return m.excess(text) > m.above }

// excess are the odds of a text less what its length makes them higher.
func (m *model) excess(text []segment) float64 { return m.odds(text) - m.slope*length(len(text)) }

// length is how many times as long as a short text one of n segments is, as a
// logarithm.
func length(n int) float64 { return math.Log(float64(max(short, n)) / short) }

// short is how many segments a text has whose length changes nothing: about two
// sentences. Without it, one harmless clause beside an attack hid it.
const short = 3

// odds returns the logarithm of the odds that a text is an attack, by its best
// window and among such texts as the model was trained with: 0 is even.
func (m *model) odds(text []segment) float64 { return m.score(text) - m.limit }

// score is the sum of the weights of the best window; -Inf for a text without
// letters.
func (m *model) score(text []segment) float64 {
	type part struct {
		sum [blocks]float32
		n   [blocks]int
	}
	parts := make([]part, len(text))
	for i, s := range text {
		for b := range blocks {
			for _, p := range s[b] {
				parts[i].sum[b] += m.weights[p]
			}
			parts[i].n[b] = len(s[b])
		}
	}
	best := math.Inf(-1)
	for i := range parts {
		var window part
		for _, p := range parts[i:min(i+maxSegments, len(parts))] {
			var total float32
			for b := range blocks {
				window.sum[b] += p.sum[b]
				if window.n[b] += p.n[b]; window.n[b] > 0 {
					total += window.sum[b] * share(window.n[b])
				}
			}
			best = max(best, float64(total))
		}
	}
	return best
}

// few is how many features of a block say little: a window with few of them, such
// as an address, is not judged by these alone. Of 5, 10 and 20 it found most attacks
// that stand alone in a cross-validation.
const few = 5

// share is the value of each of n features of a block: a longer text has more of
// them, and is no more of an attack for that.
func share(n int) float32 { return float32(1 / math.Sqrt(float64(n+few))) }
