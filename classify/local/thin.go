package local

import (
	"slices"
	"strings"

	"intenthint/intents"
)

const (
	// thinExamples is the mean number of examples of an intent below which a
	// catalogue is thin: its confidence is learnt from other catalogues, and it is
	// compared with general chat.
	thinExamples = 10
	// thinTexts is the number of examples from which on a catalogue is not thin,
	// however many intents it has: it can learn its confidence itself.
	thinTexts = 180
	// fewestExamples is the mean number below which the answer that nothing fits is
	// never sure: the catalogue does not say what its intents are.
	fewestExamples = 3
	// thinPower replaces worthPower: how common a word is, is known from general
	// chat, so it may count for more.
	thinPower = 1.0
	// thinPrecision is the weight of the priors of thin catalogues, in observations:
	// a dozen examples, often near twins, say little of how sure an answer is.
	thinPrecision = 30
)

// isThin reports whether a catalogue has few examples. The built-in one never is.
func isThin(root *intents.Catalog) bool {
	n := examplesOf(root)
	return root != intents.Bundled() && n < min(thinTexts, thinExamples*len(root.Enabled()))
}

// examplesOf returns the number of examples of all intents.
func examplesOf(root *intents.Catalog) (n int) {
	for _, in := range root.Enabled() {
		n += len(in.Examples) + len(in.Learnt)
	}
	return n
}

// described returns further texts that describe the intents of a catalogue, by
// position: their names, and what the triggers of others refer to them.
func described(root *intents.Catalog) [][]string {
	enabled := root.Enabled()
	out := make([][]string, len(enabled))
	for i, in := range enabled {
		out[i] = append(out[i], in.Name)
	}
	for _, in := range enabled {
		for _, t := range in.Triggers {
			for _, r := range referred(t) {
				if k := slices.IndexFunc(enabled, func(other intents.Intent) bool { return strings.EqualFold(other.ID, r.id) }); k >= 0 {
					out[k] = append(out[k], r.what)
				}
			}
		}
	}
	return out
}

// reference is what another intent is for.
type reference struct{ id, what string }

// referred returns what a trigger refers to other intents: "Not for releases (see
// DEPLOY)" says that DEPLOY is for releases.
func referred(trigger string) (out []reference) {
	for _, part := range strings.FieldsFunc(trigger, isSentenceEnd) {
		what, id, ok := strings.Cut(strings.TrimSpace(part), "(see ")
		if !ok || !isDenial(what) {
			continue
		}
		for _, begin := range []string{"not for ", "not "} {
			if len(what) > len(begin) && strings.EqualFold(what[:len(begin)], begin) {
				what = what[len(begin):]
				break
			}
		}
		id, _, _ = strings.Cut(id, ")")
		out = append(out, reference{strings.TrimSpace(id), strings.TrimSpace(what)})
	}
	return out
}

// priors returns what the confidence starts from, and its weight in observations.
func (m *Model) priors() (inScope, correct logistic, precision float64) {
	switch {
	case m.bare():
		return bareInScope, bareCorrect, thinPrecision
	case m.around != nil:
		return thinInScope, thinCorrect, thinPrecision
	}
	return inScopePrior, correctPrior, learntPrecision
}

// priors is [Model.priors] for vectors. An embedding model of a provider has no
// vectors of the background.
func (e *Embedded) priors() (inScope, correct logistic, precision float64) {
	switch {
	case e.around.inverse.len() == 0:
	case e.words.bare():
		return bareEmbeddedInScope, bareEmbeddedCorrect, thinPrecision
	default:
		return thinEmbeddedInScope, thinEmbeddedCorrect, thinPrecision
	}
	return embeddedInScopePrior, embeddedCorrectPrior, priorPrecision
}

// What the confidence of thin catalogues starts from. It was fitted to simulated
// catalogues in several languages; `go -C tools run ./thin DATA_DIR` fits it to others,
// which are English, and shows how many hints each gives (decision 33).
var (
	thinInScope = logistic{-1.63, 2.20, -0.21, 3.32, -0.93, 3.50, -0.02, 0.84, -1.47, 0.94, 0, -0.29}
	thinCorrect = logistic{-0.27, 0.83, 2.81, -2.67, 1.48, -0.44, 1.19, -0.15, 0.22, 0.60, 0, 0.02}

	thinEmbeddedInScope = logistic{1.47, 1.25, 0.50, 1.34, 3.00, 0.95, 1.07, 1.46, -3.52}
	thinEmbeddedCorrect = logistic{-0.26, 0.31, 4.11, 0.06, -0.22, -1.76, 4.91, 0.69, -0.02}
)

// The same for catalogues without examples, as that command fits it but for the weights
// of scripts, and the mix: of one name there is nothing to learn but how near it is.
var (
	bareInScope = logistic{1.36, 1.49, 0.99, 1.15, 0.74, 1.85, 0.02, -0.47, -0.34, 1.24}
	bareCorrect = logistic{-0.14, 0.75, 4.83, -0.95, 0.32, -0.54, -0.92, -0.22, 0, -0.01}

	bareEmbeddedInScope = logistic{0.97, 2.5, 2.35, 0.55, 1.75, 1.87, 0.72, -0.59, -2.24}
	bareEmbeddedCorrect = logistic{-0.19, 1.81, 5.63, -0.39, -1.1, 0.16, 0.07, -0.52, 1.01}

	bareMix = logistic{1, 1, 1, 0}
)

// bare reports whether a catalogue is known by names and triggers alone.
func (m *Model) bare() bool { return m.around != nil && examplesOf(m.catalog) < len(m.intents) }

// Background returns the texts of the background of a thin catalogue. Those of
// them that [TrainEmbedded] finds a vector of are compared with messages; none
// need have one.
func (m *Model) Background() []string {
	if m.around == nil {
		return nil
	}
	out := make([]string, len(m.around.texts))
	for i, t := range m.around.texts {
		out[i] = textOf(t)
	}
	return out
}
