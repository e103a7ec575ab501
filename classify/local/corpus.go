package local

import (
	"cmp"
	"math"
	"slices"
)

// sample is one training text.
type sample struct {
	text    string
	class   int32 // position of the intent; -1 for an example of the fallback
	trigger bool
	learnt  bool // from use, see [intents.Intent.Learnt]
}

// cost is what a wrong answer for the text costs in training.
func (s *sample) cost() float32 {
	if s.trigger {
		return triggerCost
	}
	return exampleCost
}

// corpus is the training texts as vectors: row i is
// ids[starts[i]:starts[i+1]] with values beside it. Features shared with other
// rows come before those of this row alone.
type corpus struct {
	starts []int32
	shared []int32 // how many features of each row other rows have too
	ids    []int32
	values []float32
	norms  []float32 // squared length of each row
	own    []float32 // the part of it that comes from features of this row alone
	class  []int32   // position of the intent; -1 for an example of the fallback
	cost   []float32 // how much a wrong answer for the row costs
}

func (c *corpus) len() int { return len(c.class) }

func (c *corpus) row(i int) (ids []int32, values []float32) {
	return c.ids[c.starts[i]:c.starts[i+1]], c.values[c.starts[i]:c.starts[i+1]]
}

// sharedRow returns the features of a row that occur in other rows too.
func (c *corpus) sharedRow(i int) (ids []int32, values []float32) {
	from, end := c.starts[i], c.starts[i]+c.shared[i]
	return c.ids[from:end], c.values[from:end]
}

// space is what is learnt of the features of the training texts before any weight: their
// numbers and worth, and the texts as vectors.
type space struct {
	*lexicon
	rows   *corpus
	views  []view    // by feature
	weight []float32 // by feature: see [feature]
	hashes []uint64  // by feature
	scales []float32 // see [postings]
}

// newSpace learns the features of the samples, which belong to the given number
// of classes. With general chat, which may be nil, the built-in intents count as users
// of a feature, too.
func newSpace(samples []sample, classes int, chat *background) *space {
	s := &space{}
	c := &corpus{starts: make([]int32, 1, len(samples)+1)}
	dict := newDictionary(len(samples) * 40)
	var (
		t     reading
		feats []feature
		last  []int32 // by feature: the row that had it last
	)
	for i := range samples {
		t.reset(samples[i].text)
		feats = appendFeatures(feats[:0], &t)
		for _, f := range feats {
			id := dict.add(f.hash)
			if int(id) == len(last) {
				last, s.views = append(last, -1), append(s.views, f.view)
				s.weight, s.hashes = append(s.weight, f.weight), append(s.hashes, f.hash)
			}
			if last[id] == int32(i) {
				continue
			}
			last[id] = int32(i)
			c.ids = append(c.ids, id)
		}
		c.starts = append(c.starts, int32(len(c.ids)))
		c.class = append(c.class, samples[i].class)
		c.cost = append(c.cost, samples[i].cost())
	}
	s.rows = c
	s.renumber(classes)
	s.weigh(classes, chat)
	s.value()
	return s
}

// value sets the values of the rows.
func (s *space) value() {
	c := s.rows
	c.norms, c.own = make([]float32, c.len()), make([]float32, c.len())
	var views []view
	for i := range c.len() {
		ids, values := c.row(i)
		views = views[:0]
		for k, id := range ids {
			values[k] = s.worthOf(id, &feature{s.hashes[id], s.views[id], s.weight[id]})
			views = append(views, s.views[id])
		}
		scales := scalesOf(views, values)
		length := float32(0)
		for k, v := range views {
			values[k] *= scales[v]
			c.norms[i] += values[k] * values[k]
			if v.compared() {
				length += values[k] * values[k]
			}
		}
		s.scales = append(s.scales, scales[:]...)
		s.scales = append(s.scales, 1/sqrt32(max(length, math.SmallestNonzeroFloat32)))
		for _, v := range values[c.shared[i]:] {
			c.own[i] += v * v
		}
	}
}

const (
	// maxWeights bounds a model that remembers all features, which has a weight
	// for each feature of several texts and each intent: 96 MB. Of a larger one,
	// features of fewer than usualRows texts are not worth their memory, unless
	// they are words.
	maxWeights = 24_000_000
	usualRows  = 3
)

// renumber gives the features the numbers of a lexicon. If the model is too large, it
// drops rare features other than words.
func (s *space) renumber(classes int) {
	c, rows, shared := s.rows, make([]int32, len(s.hashes)), 0
	for _, id := range c.ids {
		if rows[id]++; rows[id] == 2 {
			shared++
		}
	}
	if shared*classes > maxWeights {
		for id, k := range rows {
			if k < usualRows && s.views[id] != viewWord {
				rows[id] = 0
			}
		}
	}
	var groups [3][]int32 // old numbers of features of many, few and single texts
	for id, k := range rows {
		switch {
		case k > maxRare:
			groups[0] = append(groups[0], int32(id))
		case k > 1:
			groups[1] = append(groups[1], int32(id))
		case k == 1:
			groups[2] = append(groups[2], int32(id))
		}
	}
	number := make([]int32, len(s.hashes))
	for id := range number {
		number[id] = -1
	}
	var hashes []uint64
	var views []view
	var weight []float32
	for _, group := range groups {
		slices.SortFunc(group, func(a, b int32) int { return cmp.Compare(s.hashes[a], s.hashes[b]) })
		for _, id := range group {
			number[id] = int32(len(hashes))
			hashes, views, weight = append(hashes, s.hashes[id]), append(views, s.views[id]), append(weight, s.weight[id])
		}
	}
	s.hashes, s.views, s.weight = hashes, views, weight
	s.lexicon = newLexicon(hashes, len(groups[0]), len(groups[0])+len(groups[1]))

	c.shared = make([]int32, c.len())
	var own []int32
	k, from := int32(0), int32(0)
	for i := range c.len() {
		end, begin := c.starts[i+1], k
		own = own[:0]
		for _, id := range c.ids[from:end] {
			switch to := number[id]; {
			case to < 0:
			case int(to) < s.nShared:
				c.ids[k] = to
				k++
			default:
				own = append(own, to)
			}
		}
		c.shared[i] = k - begin
		k += int32(copy(c.ids[k:], own))
		from, c.starts[i+1] = end, k
	}
	c.ids, c.values = c.ids[:k], make([]float32, k)
}

// weigh sets the worth of every feature. It depends on the number of intents,
// not of texts, that use the feature: a word in every example of one intent,
// and in no other, is as distinctive as a rare one.
func (s *space) weigh(classes int, chat *background) {
	users, last := make([]int32, s.n), make([]int32, s.n)
	for i := range last {
		last[i] = -2
	}
	// The rows of one class stand together.
	for i, class := range s.rows.class {
		ids, _ := s.rows.sharedRow(i)
		for _, id := range ids {
			if last[id] != class {
				last[id] = class
				users[id]++
			}
		}
	}
	s.chat = chat
	if chat != nil {
		for id, hash := range s.hashes[:s.nShared] {
			users[id] += int32(chat.usersOf(hash))
		}
	}
	s.lexicon.weigh(users, worthByUsers(classes, chat))
}

// worthByUsers returns what features are worth by the number of intents that use them.
func worthByUsers(classes int, chat *background) []float32 {
	power := float64(worthPower)
	if chat != nil {
		power, classes = thinPower, classes+chat.groups
	}
	out := make([]float32, classes+2)
	for k := range out {
		out[k] = float32(math.Pow(float64(inverseFrequency(classes+1, k)), power))
	}
	return out
}

// scale brings each view of a vector to its length and returns the squared
// length of the whole. views are those of the values.
func scale(views []view, values []float32) float32 {
	scales, norm := scalesOf(views, values), float32(0)
	for k, v := range views {
		values[k] *= scales[v]
		norm += values[k] * values[k]
	}
	return norm
}

// scalesOf returns what brings each view of a vector to its length; 0 for a view
// without a value.
func scalesOf(views []view, values []float32) (scales [numViews]float32) {
	var sums [numViews]float32
	for k, v := range views {
		sums[v] += values[k] * values[k]
	}
	for v, sum := range sums {
		if sum > 0 {
			scales[v] = viewWeight[v] / sqrt32(sum)
		}
	}
	return scales
}

// worthPower flattens the worth of features: the square of it enters every
// product of two texts.
const worthPower = 0.6
