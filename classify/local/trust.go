package local

import (
	_ "embed"
	"encoding/json"
	"math"
	"sync"

	"intenthint/intents"
)

// peopleFile is what `go -C tools run ./weights -people DIR trust` has fitted to messages
// that people wrote, see [Trust].
//
//go:embed people.json
var peopleFile []byte

// Trust turns the probability of an answer, which is learnt from the catalogue's own
// examples, into how often such an answer is right for messages that people wrote. The
// examples of a catalogue have few writers, and near twins of a message that is left
// out stay in: so the probability is too high for what other people type (decision 20).
// It is a regression over [Trusted].
type Trust struct {
	// Words is for answers by words alone, Vectors for those with an encoder.
	Words   [numTrusted]float64 `json:"words"`
	Vectors [numTrusted]float64 `json:"vectors"`
}

// The signals of a [Trust].
const (
	trustBias    = iota
	trustChance  // log-odds of the probability
	trustLong    // the same, times how long the message is
	trustLength  // logarithm of the number of words
	trustKnown   // share of the words, by worth, that the catalogue uses
	trustNear    // cosine of the words to the nearest example
	trustMargin  // lead of the intent over the next, see [sigMargin] and [vecMargin]
	trustOutside // lead over the fallback's examples, see [sigOutside] and [vecOutside]
	trustHan     // shares of the letters by script
	trustHangul
	trustAlphabet
	numTrusted
)

// Both are fitted in the same way, and say some things in the same place.
var (
	_ [numSignals - numTrusted]struct{}
	_ [sigMargin - vecMargin]struct{}
	_ [sigOutside - vecOutside]struct{}
)

// Trusted is one answer by this classifier to a message that people wrote, as [Model.Try]
// returns it.
type Trusted struct {
	Intent  string
	Other   bool
	Vectors bool // the encoder took part
	Chance  float64
	seen    evidence
}

// evidence is what the confidence in the verdict on one message goes by besides its
// probabilities.
type evidence struct {
	signals signals // of a [Trust]
	from    signals // which the probabilities are computed from
	vectors bool
	runs    float64 // share of the runs of characters, by worth, that the catalogue uses
	// near is the cosine of the words to the nearest example of the fallback.
	near  float64
	smash bool // see [reading.smashed]
	read  bool // whether the rest is set
}

// evidence returns what is known of the message that sc has read, given the signals that
// the verdict's probabilities are computed from.
func (m *Model) evidence(sc *scratch, v *verdict, from *signals, vectors bool) evidence {
	e := evidence{from: *from, vectors: vectors, read: true}
	s := &e.signals
	s[trustBias] = 1
	s[trustLength] = math.Log1p(float64(sc.nWords))
	s[trustKnown] = share(sc.knownWords, sc.words)
	e.runs = s[trustKnown]
	if sc.runs > 0 {
		e.runs = share(sc.knownRuns, sc.runs)
	}
	s[trustNear] = float64(v.words)
	s[trustMargin], s[trustOutside] = from[sigMargin], from[sigOutside]
	s[trustHan], s[trustHangul], s[trustAlphabet] = sc.text.scripts()
	if v.other() {
		e.smash = sc.text.smashed()
		_, near, _ := m.nearest(sc, len(m.intents), nil)
		e.near = float64(near)
	}
	return e
}

// chance sets the signals that the probability gives.
func (e *evidence) chance(p float64) {
	z := math.Log(max(p, leastChance) / max(1-p, leastChance))
	e.signals[trustChance] = z
	e.signals[trustLong] = z * e.signals[trustLength]
}

const (
	// leastChance bounds the log-odds of a probability: beyond it no calibration sees
	// a difference.
	leastChance = 0.005
	// unsure is the highest confidence of an answer that nobody should act on: below
	// the default HINT_MIN_CONFIDENCE of 0.6 (contract §9).
	unsure = 0.55
	// unsureOther is that of the fallback: between 0.3, as often as it is right for what
	// people asked an assistant, and 0.9, as for messages that were written to fit nothing.
	unsureOther = 0.55
	// fewKnown is the share of known words, and of known runs of characters, below
	// which too little of a message is known for a hint.
	fewKnown = 0.25
	// mostKnown and nearOther are the share of known words and the cosine to an
	// example of the fallback from which the fallback may be sure.
	mostKnown, nearOther = 0.7, 0.5
	// leastBundled is the share of the built-in intents that a catalogue must have to
	// be trusted as they are: an operator has changed a few.
	leastBundled = 0.8
)

var people = sync.OnceValue(func() *Trust {
	t := new(Trust)
	if json.Unmarshal(peopleFile, t) != nil {
		return nil
	}
	return t
})

// trustFor returns the calibration by people for a catalogue that is the built-in one
// but for few intents, nil for one's own, of which nobody knows what people type.
func trustFor(root *intents.Catalog) *Trust {
	bundled, same := intents.Bundled().Enabled(), 0
	for i := range bundled {
		if in, ok := root.Lookup(bundled[i].ID); ok && len(in.Examples) >= len(bundled[i].Examples)/2 {
			same++
		}
	}
	if float64(same) < leastBundled*float64(len(bundled)) {
		return nil
	}
	return people()
}

// settle gives the verdict the confidence that is told, see [Model.confidenceOf]; what
// that takes or gives is shared by the other intents and the fallback. Nothing is
// decided by its probabilities afterwards.
func (m *Model) settle(v *verdict) {
	if v.first < 0 {
		return
	}
	p, before, other := m.confidenceOf(v), v.confidence(), v.other()
	switch {
	case other:
		if v.settled = settledOther; v.pIn > 0 {
			v.pFirst *= (1 - p) / v.pIn
		}
		v.pIn = 1 - p
	default:
		if v.settled = settledIntent; before < 1 {
			v.pIn = 1 - (1-v.pIn)*(1-p)/(1-before)
		}
		v.pFirst = p
	}
}

// confidenceOf returns the confidence of the answer: the verdict's probability, for a
// message that stands alone as often as such answers to people are right. The fallback
// is sure only where a rule knows it, or where most of the message is known and an
// example of the fallback is near.
func (m *Model) confidenceOf(v *verdict) float64 {
	p := v.confidence()
	e := &v.seen
	switch {
	case v.other():
		return m.confidenceOfOther(v, p)
	case v.earlier != "" || !e.read:
		return p
	case m.trust != nil && v.words <= sameCosine:
		p = m.trust.of(e, p)
	}
	if !e.vectors && e.signals[trustKnown] < fewKnown && e.runs < fewKnown {
		return min(p, unsure)
	}
	return p
}

func (m *Model) confidenceOfOther(v *verdict, p float64) float64 {
	e := &v.seen
	switch {
	case !m.knows:
		return min(p, unsureOther) // nobody has said what its intents are
	case e.smash, !e.read:
		return p
	case m.trust == nil && e.signals[trustKnown] >= fewKnown:
		return p // the operator's own examples of the fallback count
	case e.near >= nearOther && e.signals[trustKnown] >= mostKnown:
		return p
	}
	return min(p, unsureOther)
}

func (t *Trust) of(e *evidence, p float64) float64 {
	e.chance(p)
	l := logistic{}
	if copy(l[:], t.Words[:]); e.vectors {
		copy(l[:], t.Vectors[:])
	}
	return l.probability(&e.signals)
}
