package local

import (
	"math"
	"sync"
)

// block is a part of the one-against-rest classifiers: those of width
// neighbouring classes from first on. Blocks are independent, so they are
// trained in parallel, and the result does not depend on the number of
// processors.
type block struct {
	first, width int
	weights      []float32 // [feature][class]
	constant     []float32 // [class]: the weight of [constantValue]
	alpha        []float32 // [row][class]: the dual variables
}

// solver trains linear one-against-rest classifiers with squared hinge loss by
// dual coordinate descent. Zero is where every classifier starts.
type solver struct {
	rows     *corpus
	features int
	classes  int
	outside  int // the class of the fallback's rows; -1 when they are positives of none
	blocks   []block
}

// constantValue is the value of a feature that every text has. It lets a
// classifier say that most texts are not of its class.
const constantValue = 0.5

// maxBlocks is how many parts are trained at the same time. It is fixed, not
// the number of processors: narrow blocks waste cache lines.
const maxBlocks = 2

func newSolver(rows *corpus, features, classes int) *solver {
	s := &solver{rows: rows, features: features, classes: classes, outside: -1, blocks: newBlocks(classes)}
	for i := range s.blocks {
		b := &s.blocks[i]
		b.weights, b.alpha = make([]float32, features*b.width), make([]float32, rows.len()*b.width)
	}
	return s
}

// newBlocks divides the classes into blocks without weights of features.
func newBlocks(classes int) []block {
	n := min(maxBlocks, max(1, classes))
	blocks := make([]block, n)
	for i := range blocks {
		first, end := i*classes/n, (i+1)*classes/n
		blocks[i] = block{first: first, width: end - first, constant: make([]float32, end-first)}
	}
	return blocks
}

// class returns the class of a row, -1 for none.
func (s *solver) class(i int) int {
	if c := s.rows.class[i]; c >= 0 {
		return int(c)
	}
	return s.outside
}

// each runs f for every block at the same time.
func (s *solver) each(f func(*block)) {
	var wg sync.WaitGroup
	for i := range s.blocks {
		wg.Go(func() { f(&s.blocks[i]) })
	}
	wg.Wait()
}

// run goes epochs times through the rows that skip does not name, in an order
// that depends on seed alone.
func (s *solver) run(epochs int, seed uint64, skip []bool) {
	order := make([]int32, 0, s.rows.len())
	for i := range s.rows.len() {
		if skip == nil || !skip[i] {
			order = append(order, int32(i))
		}
	}
	orders := make([][]int32, epochs)
	for e := range orders {
		shuffle(order, seed+uint64(e))
		orders[e] = append([]int32(nil), order...)
	}
	s.each(func(b *block) {
		scores := make([]float32, b.width)
		active := make([]int32, 0, b.width)
		delta := make([]float32, b.width)
		for _, order := range orders {
			for _, i := range order {
				s.step(b, int(i), scores, delta, active)
			}
		}
	})
}

func (s *solver) step(b *block, i int, scores, delta []float32, active []int32) {
	norm := s.rows.norms[i]
	if norm == 0 {
		return
	}
	ids, values := s.rows.sharedRow(i)
	b.score(scores, ids, values)
	norm += constantValue * constantValue
	cost := s.rows.cost[i]
	label := s.class(i) - b.first
	alpha := b.alpha[i*b.width : (i+1)*b.width]
	diagonal := 1 / (2 * cost)
	own := s.rows.own[i]
	active = active[:0]
	for c, score := range scores {
		sign, d := float32(-1), diagonal
		if c == label {
			sign, d = 1, diagonal/positiveCost
		}
		// The weight of a feature that no other row has is this row's dual
		// variable times its value, so there is no need to keep it.
		g := sign*score + own*alpha[c] - 1 + d*alpha[c]
		if alpha[c] == 0 && g >= 0 {
			continue
		}
		next := max(alpha[c]-g/(norm+d), 0)
		if next == alpha[c] {
			continue
		}
		delta[len(active)] = (next - alpha[c]) * sign
		alpha[c] = next
		active = append(active, int32(c))
	}
	delta = delta[:len(active)]
	scatter(b.constant, active, delta, constantValue)
	switch {
	case len(active) == 0:
	case len(active)*denseFrom > b.width:
		// Adding zeros to most is faster than selecting many.
		change := scores // no longer needed
		clear(change)
		for j, c := range active {
			change[c] = delta[j]
		}
		for k, id := range ids {
			axpy(b.weights[int(id)*b.width:][:len(change)], change, values[k])
		}
	default:
		for k, id := range ids {
			scatter(b.weights[int(id)*b.width:][:b.width], active, delta, values[k])
		}
	}
}

// score sets out to the scores of a row by the classes of the block.
func (b *block) score(out []float32, ids []int32, values []float32) {
	dot(out, b.weights, ids, values)
	axpy(out, b.constant, constantValue)
}

// denseFrom is the inverse of the share of changed classes above which all are
// updated.
const denseFrom = 4

// scatter adds v times x to the elements of y that at names.
func scatter(y []float32, at []int32, x []float32, v float32) {
	x = x[:len(at)]
	for j, c := range at {
		y[c] += x[j] * v
	}
}

// axpy adds v times x to y.
func axpy(y, x []float32, v float32) {
	x = x[:len(y)]
	for len(y) >= 4 && len(x) >= 4 {
		y[0] += v * x[0]
		y[1] += v * x[1]
		y[2] += v * x[2]
		y[3] += v * x[3]
		y, x = y[4:], x[4:]
	}
	for i := range y {
		y[i] += v * x[i]
	}
}

// forget removes the rows that skip names from the weights, together with their
// dual variables.
func (s *solver) forget(skip []bool) {
	s.each(func(b *block) {
		active, change := make([]int32, 0, b.width), make([]float32, 0, b.width)
		for i := range s.rows.len() {
			if !skip[i] {
				continue
			}
			active, change = active[:0], change[:0]
			alpha := b.alpha[i*b.width : (i+1)*b.width]
			for c, a := range alpha {
				switch {
				case a == 0:
					continue
				case s.class(i)-b.first == c:
					a = -a
				}
				active, change = append(active, int32(c)), append(change, a)
				alpha[c] = 0
			}
			scatter(b.constant, active, change, constantValue)
			ids, values := s.rows.sharedRow(i)
			for k, id := range ids {
				scatter(b.weights[int(id)*b.width:][:b.width], active, change, values[k])
			}
		}
	})
}

func (s *solver) clone() *solver {
	out := *s
	out.blocks = append([]block(nil), s.blocks...)
	for i := range out.blocks {
		b := &out.blocks[i]
		b.weights = append([]float32(nil), b.weights...)
		b.constant = append([]float32(nil), b.constant...)
		b.alpha = append([]float32(nil), b.alpha...)
	}
	return &out
}

// bayes adds naive Bayes to the weights: how much likelier a feature is in the
// class than overall. It counts the rows that skip does not name. The solver
// must not run afterwards. It returns what it has added by class, whatever the feature,
// and the ratio that [bayes] takes.
func (s *solver) bayes(skip []bool) (absent []float32, ratio float32) {
	total := make([]float32, s.features) // by feature
	mass := make([]float32, s.classes)
	for i := range s.rows.len() {
		c := s.class(i)
		if c < 0 || skip != nil && skip[i] {
			continue
		}
		ids, values := s.rows.row(i)
		w := s.rows.cost[i] / exampleCost
		for k, v := range values {
			if k < int(s.rows.shared[i]) {
				total[ids[k]] += v * w
			}
			mass[c] += v * w
		}
	}
	sum := float32(0)
	for _, m := range mass {
		sum += m
	}
	absent = make([]float32, s.classes)
	if sum == 0 {
		return absent, 0
	}
	prior := bayesPrior * sum / float32(s.classes)
	for c, m := range mass {
		absent[c] = bayesWeight * log32(prior/(m+prior))
	}
	s.each(func(b *block) {
		for id := range s.features {
			axpy(b.weights[id*b.width:][:b.width], absent[b.first:][:b.width], 1)
		}
		counts, used := make([]float32, s.features), make([]int32, 0, s.features) // of one class
		for i := range s.rows.len() {
			c := s.class(i)
			if c < b.first || c >= b.first+b.width {
				continue
			}
			if skip == nil || !skip[i] {
				ids, values := s.rows.sharedRow(i)
				w := s.rows.cost[i] / exampleCost
				for k, id := range ids {
					if counts[id] == 0 {
						used = append(used, id)
					}
					counts[id] += values[k] * w
				}
			}
			if i+1 < s.rows.len() && s.class(i+1) == c { // the rows of one class stand together
				continue
			}
			for _, id := range used {
				b.weights[int(id)*b.width+c-b.first] += bayes(counts[id], total[id], sum/prior)
				counts[id] = 0
			}
			used = used[:0]
		}
	})
	return absent, sum / prior
}

func log32(x float32) float32 { return float32(math.Log(float64(x))) }

// dot sets out to the sum of the rows of weights that ids name, each times its
// value. It works on four rows at a time, so that the sums are read and written
// less often.
func dot(out, weights []float32, ids []int32, values []float32) {
	clear(out)
	w := len(out)
	values = values[:len(ids)]
	k := 0
	for ; k+4 <= len(ids); k += 4 {
		r0 := weights[int(ids[k])*w:][:w]
		r1 := weights[int(ids[k+1])*w:][:w]
		r2 := weights[int(ids[k+2])*w:][:w]
		r3 := weights[int(ids[k+3])*w:][:w]
		v0, v1, v2, v3 := values[k], values[k+1], values[k+2], values[k+3]
		for c := range out {
			out[c] += v0*r0[c] + v1*r1[c] + v2*r2[c] + v3*r3[c]
		}
	}
	for ; k < len(ids); k++ {
		row := weights[int(ids[k])*w:][:w]
		v := values[k]
		for c := range out {
			out[c] += v * row[c]
		}
	}
}

// shuffle permutes a in an order that depends on seed alone.
func shuffle(a []int32, seed uint64) {
	x := seed*0x9E3779B97F4A7C15 + 0x1234567
	for i := len(a) - 1; i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		j := int(x % uint64(i+1))
		a[i], a[j] = a[j], a[i]
	}
}

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }
