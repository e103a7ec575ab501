package local

import (
	"sync"

	"intenthint/internal/linear"
)

// folds is the number of parts into which groups are divided for
// cross-validation.
const folds = 6

// minCount is the number of examples that must have a feature for it to get a
// weight.
const minCount = 3

// maxWeight bounds the weight of one example.
const maxWeight = 10

// Train returns a gate that has learnt from the examples. The same examples in
// the same order give the same gate. Messages that contain the bot's name are
// left out: they are answered before the gate is asked. A gate without examples
// of both kinds is never sure.
func Train(examples []Example) *Gate {
	g := &Gate{index: map[uint64]int32{}, known: map[uint64]bool{}, slope: 1, limits: [2]limits{never, never}}
	t := g.samples(examples)
	g.weights = make([]float32, len(g.index))
	if !t.bothKinds() {
		return g
	}
	var scores []float64
	var both sync.WaitGroup
	both.Go(func() { scores = t.crossValidate(len(g.index)) })
	both.Go(func() { g.weights = fit(t.samples, len(g.index)) })
	both.Wait()
	g.slope, g.offset = calibrate(t.genuine(scores, nil))
	for _, afterBot := range []bool{false, true} {
		g.limits[regime(afterBot)] = learnLimits(t.genuine(scores, &afterBot))
	}
	return g
}

// training is the training data of a gate.
type training struct {
	samples []*sample
	fold    []int
}

// reading is a parsed example.
type reading struct {
	*Example
	number int
	text   *message
	scene  scene
	copied bool
}

// readAll parses the usable examples, and adds copies.
func readAll(examples []Example) []reading {
	list := make([]reading, 0, 2*len(examples))
	for i := range examples {
		e := &examples[i]
		m := read(e.Text, maxText)
		if !(e.Weight > 0) || m.chars == 0 || named(&m, e.BotName) {
			continue
		}
		list = append(list, reading{Example: e, number: i, text: &m, scene: readScene(&m, &e.Input, newest(e.Recent))})
	}
	return append(list, transplanted(list)...)
}

// samples gives each feature that minCount of the examples have an index, and
// returns the examples with their copies.
func (g *Gate) samples(examples []Example) *training {
	list := readAll(examples)
	t, parts := &training{}, folder{}
	features := make([][]feature, len(list))
	count := make(map[uint64]int32, 1<<16)
	for i, r := range list {
		features[i] = extract(r.text, &r.Input, r.scene)
		if r.copied {
			continue
		}
		for _, w := range r.text.words {
			g.known[hash(blockWords, w)] = true
		}
		for _, f := range features[i] {
			count[f.key]++
		}
	}
	for i, r := range list {
		s := &sample{Sample: linear.Sample{Weight: min(r.Weight, maxWeight)}, genuine: !r.copied && !r.isSingle(), afterBot: r.scene.afterBot}
		if r.Respond {
			s.Target = 1
		}
		for _, f := range features[i] {
			if count[f.key] < minCount {
				continue
			}
			j, ok := g.index[f.key]
			if !ok {
				j = int32(len(g.index))
				g.index[f.key] = j
			}
			s.Index = append(s.Index, j)
			s.Value = append(s.Value, f.value)
		}
		t.samples = append(t.samples, s)
		t.fold = append(t.fold, parts.fold(r.Example, r.number))
	}
	return t
}

// folder puts the messages of a group into one part of the cross-validation,
// marks into all.
type folder map[string]int

func (f folder) fold(e *Example, i int) int {
	if e.Group == "" || e.Mark {
		return i % folds
	}
	n, ok := f[e.Group]
	if !ok {
		n = len(f) % folds
		f[e.Group] = n
	}
	return n
}

func (t *training) bothKinds() bool {
	var kinds [2]bool
	for _, s := range t.samples {
		if s.genuine {
			kinds[int(s.Target)] = true
		}
	}
	return kinds[0] && kinds[1]
}

// genuine returns the samples that are not copies, with their scores: the
// thresholds are learnt on these. If afterBot is not nil, only samples with
// that value are returned.
func (t *training) genuine(scores []float64, afterBot *bool) ([]float64, []*sample) {
	var list []*sample
	var own []float64
	for i, s := range t.samples {
		if s.genuine && (afterBot == nil || s.afterBot == *afterBot) {
			list = append(list, s)
			own = append(own, scores[i])
		}
	}
	return own, list
}

// crossValidate returns for each sample the score by weights that were learnt
// without its group.
func (t *training) crossValidate(size int) []float64 {
	scores := make([]float64, len(t.samples))
	var all sync.WaitGroup
	for fold := range folds {
		all.Go(func() {
			rest := make([]*sample, 0, len(t.samples))
			for i, s := range t.samples {
				if t.fold[i] != fold {
					rest = append(rest, s)
				}
			}
			weights := fit(rest, size)
			for i, s := range t.samples {
				if t.fold[i] == fold {
					scores[i] = s.Score(weights)
				}
			}
		})
	}
	all.Wait()
	return scores
}
