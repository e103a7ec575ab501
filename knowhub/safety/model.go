package safety

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"
)

//go:generate go -C ../../tools run ./weights safety

// trained is the result of [TestTrain] on knowhub/testdata: a checksum of the
// training input (8 bytes), even, above, slope and the scale of the weights
// (float32 each), and a weight of one byte for each position of the table.
//
//go:embed trained.bin
var trained []byte

// A model is a logistic regression over the features of a window.
type model struct {
	weights []byte  // an int8 for each position of the table, in units of scale
	scale   float64 // of the weights
	// limits are the scores of even odds for windows of one segment, of two, and so on.
	// A longer window has more words that attacks have by chance.
	limits [maxSegments]float64
	// above is how far above the limit the score of a short text must be for the
	// text to be marked without a rule. Of harmless texts by plain writers that the
	// model was not trained on, 1.2 per cent are marked by the model or the rules.
	above float64
	// slope is by how much above grows if a text has e times as many segments: the
	// more windows there are, the higher the best score by chance.
	slope float64
}

// header is the size of what stands before the weights, in bytes: a checksum and the
// numbers of a model.
const header = 8 + 4*(3+maxSegments)

var classifier = sync.OnceValue(func() model { return readModel(trained) })

// readModel reads what writeModel writes.
func readModel(data []byte) model {
	if len(data) != header+1<<tableBits {
		panic("safety: trained.bin has another size") // it is part of the binary
	}
	number := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[at:]))) }
	m := model{weights: data[header:], above: number(8), slope: number(12), scale: number(16)}
	for n := range m.limits {
		m.limits[n] = number(20 + 4*n)
	}
	return m
}

// marks reports whether the model finds an attack in a text.
func (m *model) marks(text []segment) bool { return m.excess(text) > m.above }

// excess returns the odds of a text, corrected for its length.
func (m *model) excess(text []segment) float64 { return m.odds(text) - m.slope*length(len(text)) }

// length returns the logarithm of how many times longer than a short text a
// text of n segments is.
func length(n int) float64 { return math.Log(float64(max(short, n)) / short) }

// short is the number of segments up to which the length is not corrected for:
// about two sentences. Without it, one harmless clause next to an attack hid
// the attack.
const short = 3

// odds returns the log odds that a text is an attack, by its best window and
// for texts like those the model was trained on: 0 is even.
// It is -Inf for a text without letters.
func (m *model) odds(text []segment) float64 {
	type part struct {
		sum [blocks]int // in units of scale
		n   [blocks]int
	}
	parts := make([]part, len(text))
	for i, s := range text {
		for b := range blocks {
			for _, p := range s[b] {
				parts[i].sum[b] += int(int8(m.weights[p])) //nolint:gosec // two's complement
			}
			parts[i].n[b] = len(s[b])
		}
	}
	best := math.Inf(-1)
	for i := range parts {
		var window part
		for n, p := range parts[i:min(i+maxSegments, len(parts))] {
			var total float64
			for b := range blocks {
				window.sum[b] += p.sum[b]
				if window.n[b] += p.n[b]; window.n[b] > 0 {
					total += float64(window.sum[b]) * share(window.n[b])
				}
			}
			best = max(best, total*m.scale-m.limits[n])
		}
	}
	return best
}

// few damps blocks with few features: a window with few of them, such as an
// address, must not be judged by these alone. Of 5, 10 and 20, the value 5
// found the most stand-alone attacks in a cross-validation.
const few = 5

// share returns the value of each of n features of a block: a longer text has
// more features, but is not more of an attack.
func share(n int) float64 { return 1 / math.Sqrt(float64(n+few)) }
