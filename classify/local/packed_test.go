package local

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackedNumbers(t *testing.T) {
	var a u16s
	var b u24s
	var c u32s
	var d f32s
	for _, x := range []int{1, 0, 65535} {
		a, b, c, d = a.add(x), b.add(uint32(x)<<8|7), c.add(x<<16|9), d.add(-float32(x)/3)
	}
	for i, x := range []int{1, 0, 65535} {
		require.Equal(t, x, a.at(i))
		require.Equal(t, uint32(x)<<8|7, b.at(i))
		require.Equal(t, x<<16|9, c.at(i))
		require.InDelta(t, -float32(x)/3, d.at(i), 0)
	}
	require.Equal(t, 3, c.len())
}

func TestInt8Rows(t *testing.T) {
	for name, row := range map[string][]float32{
		"numbers": {0.5, -2, 0, 1.25, 0.01, 2, -0.3}, "zeros": {0, 0, 0}, "nothing": {}, "tiny": {1e-30, -3e-31},
	} {
		t.Run(name, func(t *testing.T) {
			data, scale := appendInt8([]byte{9}, row)
			require.Len(t, data, len(row)+1)
			got := make([]float32, len(row))
			axpyInt8(got, data[1:], scale*2)
			for i, x := range row {
				require.InDelta(t, 2*x, got[i], float64(scale)*1.001)
			}
		})
	}
}

func TestRowsAsDifferences(t *testing.T) {
	rows := []int32{5, 6, 133, 134, 20000, 3000000}
	require.Equal(t, rows, undelta(nil, deltas(nil, rows, 0), 0))
	require.Equal(t, rows, undelta(nil, deltas(nil, rows, 5), 5))
	require.Len(t, deltas(nil, rows[:2], 5), 2)
	require.Empty(t, undelta(nil, nil, 5))
}

func TestPack(t *testing.T) {
	data := pack([]byte("one"), nil, []byte("three"))
	var a, b, c, d []byte
	require.True(t, unpack(data, &a, &b, &c))
	require.Equal(t, []string{"one", "", "three"}, []string{string(a), string(b), string(c)})
	require.False(t, unpack(data, &a, &b), "a section is left")
	require.False(t, unpack(data, &a, &b, &c, &d), "a section is missing")
	for n := range data {
		require.False(t, unpack(data[:n], &a, &b, &c), "cut at %d", n)
	}
}

func TestLexiconFindsEachHashAndNoOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for _, n := range []int{0, 1, 7, 8, 9, 5000} {
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = random.Uint64()
		}
		common, shared := n/5, n/2
		for _, group := range [][]uint64{hashes[:common], hashes[common:shared], hashes[shared:]} {
			slices.Sort(group)
		}
		l := newLexicon(hashes, common, shared)
		for i, hash := range hashes {
			require.Equal(t, int32(i), l.find(hash), "of %d", n)
		}
		wrong := 0
		for range 10000 {
			if l.find(random.Uint64()) >= 0 {
				wrong++
			}
		}
		require.LessOrEqual(t, wrong, 1, "of %d", n)
		for _, part := range []table{l.common, l.rare, l.single} {
			require.Equal(t, part, openTable(part.starts, part.marks), "read where it lies")
		}
	}
}

// someSamples are texts of two classes and of the fallback, with words of many, few and
// single texts.
func someSamples() []sample {
	var out []sample
	for i := range 60 {
		s := sample{text: []string{"play", "rain", "zork"}[i/20] + " some" + []string{" jazz", " rock", " now", " tomorrow"}[i%4] + " " + string(rune('a'+i%26)) + "bc"}
		if s.class = int32(i / 20); s.class == 2 {
			s.class = -1
		}
		s.trigger = i%20 == 19 && s.class >= 0
		out = append(out, s)
	}
	return out
}

func TestPostings(t *testing.T) {
	samples := someSamples()
	s := newSpace(samples, 2, nil)
	p := newPostings(s, firstRows(samples, 2))
	require.Equal(t, []int32{0, 20, 40, 60}, p.firstRow)
	require.Positive(t, s.nCommon)
	require.Greater(t, s.nShared, s.nCommon)
	require.Greater(t, s.n, s.nShared)
	having := make(map[int32][]int32)
	for i := range s.rows.len() {
		ids, values := s.rows.row(i)
		for k, id := range ids {
			having[id] = append(having[id], int32(i))
			f := feature{s.hashes[id], s.views[id], s.weight[id]}
			found, worth := s.lookup(&f)
			require.Equal(t, id, found)
			require.InDelta(t, values[k], p.value(int32(i), f.view, worth), 1e-6)
		}
	}
	var memory [maxRare]int32
	for id := range int32(s.n) {
		if int(id) >= s.nCommon {
			require.Equal(t, having[id], p.few(id, &memory))
		}
		if !s.views[id].compared() {
			continue
		}
		for class := range 3 {
			want := slices.DeleteFunc(slices.Clone(having[id]), func(row int32) bool { return int(p.class[row]) != class })
			require.ElementsMatch(t, want, p.of(id, class, nil), "feature %d of class %d", id, class)
		}
	}
}

// The weights of features of few texts are not kept; they must be those that training
// would have kept, but for rounding.
func TestWeightsOfFeaturesOfFewTexts(t *testing.T) {
	samples := someSamples()
	m := &Model{samples: samples}
	s := newSpace(samples, 2, nil)
	m.lexicon, m.postings = s.lexicon, newPostings(s, firstRows(samples, 2))
	solve := func(shared int) *solver {
		out := newSolver(s.rows, shared, 3)
		out.outside = 2
		out.run(maxEpochs, 1, nil)
		return out
	}
	m.weights = newWeights(solve(s.nShared), s.nCommon)
	for i := range s.rows.len() { // as if every feature were of several texts
		s.rows.shared[i], s.rows.own[i] = s.rows.starts[i+1]-s.rows.starts[i], 0
	}
	dense := solve(s.n)
	absent, _ := dense.bayes(nil)
	for id := range int32(s.n) {
		got, want := make([]float32, 3), make([]float32, 3)
		f := feature{s.hashes[id], s.views[id], s.weight[id]}
		m.addWeights(got, id, 1, f.view, s.worthOf(id, &f))
		axpy(got, absent, 1)
		for _, b := range dense.blocks {
			copy(want[b.first:], b.weights[int(id)*b.width:][:b.width])
		}
		require.InDeltaSlice(t, want, got, 0.005, "feature %d of %d, of which %d are common and %d shared", id, s.n, s.nCommon, s.nShared)
	}
}
