package index

import (
	"cmp"
	"math"
	"slices"

	"intenthint/knowhub/experience"
)

// Dimensions is how many numbers a vector has.
const Dimensions = 512

// Vector is the meaning of a text: a vector of length 1, each number in units of 1/127.
type Vector [Dimensions]int8

const vectorUnit = math.MaxInt8

// NewVector returns a vector of length 1 in a byte a number; nil for one of another
// length than [Dimensions].
func NewVector(v []float32) *Vector {
	if len(v) != Dimensions {
		return nil
	}
	out := new(Vector)
	for i, f := range v {
		out[i] = int8(math.Round(float64(max(-1, min(1, f)) * vectorUnit)))
	}
	return out
}

// cosine returns how near two meanings are, −1 to 1.
func (v *Vector) cosine(other *Vector) float64 {
	var sum [4]int32 // four sums do not wait for each other
	for i := 0; i < Dimensions; i += 4 {
		a, b := (*[4]int8)(v[i:]), (*[4]int8)(other[i:])
		sum[0] += int32(a[0]) * int32(b[0])
		sum[1] += int32(a[1]) * int32(b[1])
		sum[2] += int32(a[2]) * int32(b[2])
		sum[3] += int32(a[3]) * int32(b[3])
	}
	return float64(sum[0]+sum[1]+sum[2]+sum[3]) / (vectorUnit * vectorUnit)
}

// maxVectors bounds the experiences that are found by meaning: 6 MiB of vectors, and a
// minute of CPU time to make them. With 100,000 experiences there is no room for more
// below the bound of 128 MiB.
const maxVectors = 12_000

// meaningless stands for the vector of a text that has none.
var meaningless = new(Vector)

// Unread is an approved experience whose vector is not known yet.
type Unread struct {
	ID, Text string
}

// Unread returns experiences whose vectors are not known, at most most; none once the
// index has as many vectors as it may have.
func (x *Index) Unread(most int) (list []Unread) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	most = min(most, maxVectors-x.vectors)
	for _, r := range x.rows {
		if len(list) >= most {
			break
		}
		if r.entry != nil && r.approved && r.meaning == nil {
			list = append(list, Unread{r.ID, meant(&r.Experience)})
		}
	}
	return list
}

// meant is the text of an experience whose vector is its meaning.
func meant(e *experience.Experience) string { return e.Task + ". " + e.Result }

// SetVector sets the vector of what [Index.Unread] returned; nil for a text that has
// none. It does nothing if the experience has changed since then.
func (x *Index) SetVector(u Unread, v *Vector) {
	x.writing.Lock()
	defer x.writing.Unlock()
	n, known := x.keys[u.ID]
	if !known || n == noRow || x.rows[n].meaning != nil || meant(&x.rows[n].Experience) != u.Text {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rows[n].meaning = v; v == nil {
		x.rows[n].meaning = meaningless
		return
	}
	x.vectors++
}

// vector returns the vector of a row; nil if it has none.
func (r row) vector() *Vector {
	if r.meaning == meaningless {
		return nil
	}
	return r.meaning
}

// How scores by words and by meaning are added. Measured on the labelled questions and
// on those in other words (decision 24): words that name several subjects of a question
// are nearly always right, a single one hardly ever is.
const (
	// clear is the score from which words answer alone, if they name enough.
	clearScore = 0.7
	// nearestRows is how many rows found by words, and by meaning, are compared.
	nearestRows = 200
	// meaningShare is the weight of a meaning, beginning at meaningFloor: nearly all texts
	// are as near as that to each other.
	meaningShare = 0.7
	meaningFloor = 0.2
	// leastMeaning is the least cosine of a row that shares no word with a question. One
	// of twenty right answers is below it.
	leastMeaning = 0.3
	// minSubjects is how many subjects a question needs to have a meaning beyond its
	// words.
	minSubjects = 2
)

// trusts are what the score by words of a row is worth beside its meaning, by the number
// of subjects that it shares with a question of three or more. One that lacks none of
// the subjects of a shorter question is worth as much as with three.
var trusts = [...]float64{0.2, 0.25, 0.7, 1}

// trust returns the index into trusts.
func trust(shared, subjects int) int {
	most := len(trusts) - 1
	return min(most, shared+most-min(most, subjects))
}

// clear reports whether words alone answer a question.
func isClear(found []scored, whole float64, subjects int) bool {
	return len(found) > 0 && float64(found[0].score) >= clearScore*whole && trust(int(found[0].shared), subjects) >= 2
}

// join returns the best n rows by words and by meaning, best first. found are the best by
// words; a score of whole is 1.
func (l *lookup) join(found []scored, whole float64, meaning *Vector, subjects, n int) []scored {
	best := top[scored]{most: nearestRows, order: byScore}
	places := make(map[int]int, len(found))
	for at, s := range found {
		places[int(s.row)] = at
	}
	for i, r := range l.rows {
		v := r.vector()
		if v == nil || !l.only.admits(r) {
			continue
		}
		cosine := v.cosine(meaning)
		if at, ok := places[i]; ok {
			found[at].cosine = cosine
		} else if cosine >= leastMeaning {
			best.add(scored{entry: r.entry, row: int32(i), score: float32(whole * nearness(cosine)), cosine: cosine}) //nolint:gosec // below 2^24
		}
	}
	for i := range found {
		s := &found[i]
		s.score = float32(float64(s.score)*trusts[trust(int(s.shared), subjects)] + whole*nearness(s.cosine))
	}
	found = append(found, best.sorted()...)
	slices.SortFunc(found, byScore)
	return found[:min(n, len(found))]
}

func nearness(cosine float64) float64 { return meaningShare * max(0, cosine-meaningFloor) }

// byScore orders rows by their scores, best first.
func byScore(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
}
