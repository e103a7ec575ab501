package local

import (
	"maps"
	"math"
	"slices"
)

// Alike groups similar texts by words, pairs of words and concepts. Each text
// joins the group whose first text it is closest to by cosine, if that cosine
// is at least least (0–1); else it begins a new group. It returns the groups as
// positions in texts, in the order in which they began, each with its first
// text first. A text without features is a group of its own.
//
// Features that many of the texts have count little. The time grows with the
// number of texts times the number of groups that share a feature with them.
func Alike(texts []string, least float64) [][]int {
	vectors := vectorsOfTexts(texts)
	var groups [][]int
	having := make(map[uint64][]int) // groups by feature of their first text
	for i, v := range vectors {
		products := make(map[int]float64)
		best, at := 0.0, -1
		for _, hash := range sortedKeys(v) {
			for _, g := range having[hash] {
				products[g] += v[hash] * vectors[groups[g][0]][hash]
			}
		}
		for g, cosine := range products {
			if cosine > best || cosine == best && g < at {
				best, at = cosine, g
			}
		}
		if at >= 0 && best >= least {
			groups[at] = append(groups[at], i)
			continue
		}
		for hash := range v {
			having[hash] = append(having[hash], len(groups))
		}
		groups = append(groups, []int{i})
	}
	return groups
}

// vectorsOfTexts returns the texts' vectors of the compared views, of length 1,
// by the hash of the feature. The rarer a feature, the more it is worth.
func vectorsOfTexts(texts []string) []map[uint64]float64 {
	var (
		t       reading
		feats   []feature
		out     = make([]map[uint64]float64, len(texts))
		holders = make(map[uint64]int)
	)
	for i, text := range texts {
		t.reset(text)
		feats = appendFeatures(feats[:0], &t)
		out[i] = make(map[uint64]float64)
		for _, f := range feats {
			if _, again := out[i][f.hash]; !again && f.view.compared() {
				out[i][f.hash] = float64(f.weight * viewWeight[f.view])
				holders[f.hash]++
			}
		}
	}
	for _, v := range out {
		// Sum in the order of hashes: the result must not depend on map order.
		sum := 0.0
		for _, hash := range sortedKeys(v) {
			v[hash] *= math.Log1p(float64(len(texts)) / float64(holders[hash]))
			sum += v[hash] * v[hash]
		}
		for hash := range v {
			v[hash] /= math.Sqrt(sum)
		}
	}
	return out
}

func sortedKeys(v map[uint64]float64) []uint64 { return slices.Sorted(maps.Keys(v)) }
