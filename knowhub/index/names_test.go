package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
)

// However names are added and removed, they are in order, and in chunks of a bounded
// size.
func TestNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for name, next := range map[string]func(i int) string{
		"ascending":  func(i int) string { return fmt.Sprintf("n%05d", i) },
		"descending": func(i int) string { return fmt.Sprintf("n%05d", 99999-i) },
		"any order":  func(int) string { return fmt.Sprintf("n%05d", random.IntN(100_000)) },
	} {
		t.Run(name, func(t *testing.T) {
			var n names
			known := map[string]bool{}
			check := func() {
				t.Helper()
				var all []string
				for _, c := range n.chunks {
					require.NotEmpty(t, c)
					require.LessOrEqual(t, len(c), maxChunk)
					all = append(all, c...)
				}
				want := make([]string, 0, len(known))
				for name := range known {
					want = append(want, name)
				}
				slices.Sort(want)
				require.Equal(t, want, append([]string{}, all...))
				for _, prefix := range []string{"", "n", "n0", "n12", "n9999", "a", "z"} {
					for _, most := range []int{1, 7, 100_000} {
						var found []string
						for _, name := range want {
							if strings.HasPrefix(name, prefix) && len(found) < most {
								found = append(found, name)
							}
						}
						require.Equal(t, found, n.beginning(prefix, most), "%q %d", prefix, most)
					}
				}
			}
			check()
			for i := range 5000 {
				if name := next(i); !known[name] {
					known[name] = true
					n.add(name)
				}
			}
			check()
			left := 100
			for name := range known {
				if len(known) == left {
					break
				}
				delete(known, name)
				n.remove(name)
			}
			check()
			for name := range known {
				delete(known, name)
				n.remove(name)
			}
			check()
		})
	}
}

// An index that is emptied row by row holds no terms.
func TestTermsOfRemovedRowsAreGone(t *testing.T) {
	x := New()
	for round, removed := range []bool{false, true} {
		for i := range 50 {
			id := strconv.Itoa(i)
			x.Put(experience.Change{ID: id, Revision: uint64(50*round + i + 1), Removed: removed, Experience: experience.Experience{ //nolint:gosec // small
				Task: "Deploy shop " + id, Resource: "wrangler", Result: "Is it --env production, or firewall?", Status: experience.Pending,
			}})
		}
	}
	require.Empty(t, x.terms)
	require.Empty(t, x.words.chunks)
	require.Empty(t, x.numbered.chunks)
	require.Empty(t, x.endings.chunks)
	require.Zero(t, x.size())
	require.EqualValues(t, 50, x.Held())
}

func TestTop(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for n := range 40 {
		for most := range 20 {
			kept := top[int]{most: most, order: cmp.Compare[int]}
			all := make([]int, n)
			for i := range all {
				all[i] = random.IntN(30)
				if most > 0 {
					kept.add(all[i])
				}
			}
			slices.Sort(all)
			require.ElementsMatch(t, all[:min(n, most)], kept.sorted())
			require.True(t, slices.IsSorted(kept.sorted()))
		}
	}
}
