package local

import "math"

// sample is one training text.
type sample struct {
	text    string
	class   int32 // position of the intent; -1 for an example of the fallback
	cost    float32
	trigger bool
	learnt  bool // from use, see [intents.Intent.Learnt]
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

// space turns a text into a vector: it holds the known features and their
// weights.
type space struct {
	dict    *dictionary
	views   []view    // by feature
	weight  []float32 // by feature: see [feature]; nil once the space is made
	worth   []float32 // by feature: its inverse frequency; nil once the space is made
	shared  int       // features below this number are in several training texts
	unknown float32   // what a feature that was never seen is worth
	// chat tells how common a feature is, see [background]; it may be nil. worths are
	// what features are worth by how many intents use them.
	chat   *background
	worths []float32
}

// newSpace learns the features of the samples, which belong to the given number
// of classes, and returns their vectors. With general chat, which may be nil, the
// built-in intents count as users of a feature, too.
func newSpace(samples []sample, classes int, chat *background) (*space, *corpus) {
	s := &space{chat: chat, dict: newDictionary(len(samples) * 40)}
	c := &corpus{starts: make([]int32, 1, len(samples)+1)}
	var (
		t     reading
		feats []feature
		last  []int32 // by feature: the row that had it last
	)
	for i, sm := range samples {
		t.reset(sm.text)
		feats = appendFeatures(feats[:0], &t)
		for _, f := range feats {
			id := s.dict.add(f.hash)
			if int(id) == len(last) {
				last, s.views = append(last, -1), append(s.views, f.view)
				s.weight = append(s.weight, f.weight)
			}
			if last[id] == int32(i) {
				continue
			}
			last[id] = int32(i)
			c.ids = append(c.ids, id)
		}
		c.starts = append(c.starts, int32(len(c.ids)))
		c.class = append(c.class, sm.class)
		c.cost = append(c.cost, sm.cost)
	}
	s.renumber(c, classes)
	s.weigh(c, classes)
	c.values = make([]float32, len(c.ids))
	var views []view
	c.norms, c.own = make([]float32, len(samples)), make([]float32, len(samples))
	for i := range samples {
		ids, values := c.row(i)
		views = views[:0]
		for k, id := range ids {
			values[k], views = s.worth[id], append(views, s.views[id])
		}
		c.norms[i] = scale(views, values)
		for _, v := range values[c.shared[i]:] {
			c.own[i] += v * v
		}
	}
	s.weight, s.worth = nil, nil // [dictionary.lookup] returns the worth
	return s, c
}

const (
	// maxWeights bounds a model that remembers all features, which has a weight
	// for each feature of several texts and each intent: 96 MB. Of a larger one,
	// features of fewer than usualRows texts are not worth their memory, unless
	// they are words.
	maxWeights = 24_000_000
	usualRows  = 3
)

// renumber gives the lowest numbers to the features that several rows have. If
// the model is too large, it drops rare features other than words.
func (s *space) renumber(c *corpus, classes int) {
	rows, shared := make([]int32, s.dict.n), 0
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
	n := int32(0)
	number := make([]int32, s.dict.n)
	for id, k := range rows {
		if k > 1 {
			number[id] = n
			n++
		}
	}
	s.shared = int(n)
	for id, k := range rows {
		switch {
		case k > 1:
		case k == 0:
			number[id] = -1
		default:
			number[id] = n
			n++
		}
	}
	views, weight := make([]view, n), make([]float32, n)
	for id, to := range number {
		if to >= 0 {
			views[to], weight[to] = s.views[id], s.weight[id]
		}
	}
	s.views, s.weight = views, weight
	s.dict = s.dict.renumber(number, int(n))

	c.shared = make([]int32, c.len())
	var own []int32
	k, from := int32(0), int32(0)
	for i := range c.len() {
		end, begin := c.starts[i+1], k
		own = own[:0]
		for _, id := range c.ids[from:end] {
			switch to := number[id]; {
			case to < 0:
			case int(to) < s.shared:
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
	c.ids = c.ids[:k]
}

// weigh sets the worth of every feature. It depends on the number of intents,
// not of texts, that use the feature: a word in every example of one intent,
// and in no other, is as distinctive as a rare one.
func (s *space) weigh(c *corpus, classes int) {
	n := int(s.dict.n)
	users := make([]int32, n)
	last := make([]int32, n)
	for i := range last {
		last[i] = -2
	}
	// The rows of one class stand together.
	for i, class := range c.class {
		for _, id := range c.ids[c.starts[i]:c.starts[i+1]] {
			if last[id] != class {
				last[id] = class
				users[id]++
			}
		}
	}
	s.worth = make([]float32, n)
	power := float64(worthPower)
	if s.chat != nil {
		power, classes = thinPower, classes+s.chat.groups
		for i := range s.dict.entries {
			if e := &s.dict.entries[i]; e.hash != 0 {
				users[e.id] += int32(s.chat.usersOf(e.hash))
			}
		}
	}
	table := make([]float32, classes+2)
	for k := range table {
		table[k] = float32(math.Pow(float64(inverseFrequency(classes+1, k)), power))
	}
	for id, k := range users {
		s.worth[id] = table[min(int(k), classes+1)] * s.weight[id]
	}
	for i := range s.dict.entries {
		if e := &s.dict.entries[i]; e.hash != 0 {
			e.worth = s.worth[e.id]
		}
	}
	s.unknown, s.worths = table[0], table
}

// unknownWorth returns what a feature is worth that no training text has.
func (s *space) unknownWorth(f *feature) float32 {
	if s.chat == nil {
		return s.unknown * f.weight
	}
	return s.worths[min(s.chat.usersOf(f.hash), len(s.worths)-1)] * f.weight
}

// scale brings each view of a vector to its length and returns the squared
// length of the whole. views are those of the values.
func scale(views []view, values []float32) float32 {
	var sums, scale [numViews]float32
	for k, v := range views {
		sums[v] += values[k] * values[k]
	}
	for v, sum := range sums {
		if sum > 0 {
			scale[v] = viewWeight[v] / sqrt32(sum)
		}
	}
	norm := float32(0)
	for k, v := range views {
		values[k] *= scale[v]
		norm += values[k] * values[k]
	}
	return norm
}

// worthPower flattens the worth of features: the square of it enters every
// product of two texts.
const worthPower = 0.6
