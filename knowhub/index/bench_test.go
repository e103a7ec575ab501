package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// mixed returns n experiences whose texts are those of the labelled set, cut up
// and mixed, with a number and an identifier of their own: common words are as
// common as there, and the vocabulary grows with n.
func mixed(t testing.TB, n int) []index.Change {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	base := readLines[experience.Experience](t, "experiences.jsonl")
	half := func(s string) string {
		words := strings.Fields(s)
		if len(words) < 2 {
			return s
		}
		return strings.Join(words[random.IntN(len(words)/2+1):], " ")
	}
	pick := func() experience.Experience { return base[random.IntN(len(base))] }
	changes := make([]index.Change, n)
	for i := range changes {
		e := approved(fmt.Sprintf("%032x", i), pick().Task+" "+half(pick().Task), pick().Resource+fmt.Sprintf(" service-%d", random.IntN(n)),
			strings.Join([]string{pick().Result, half(pick().Result), half(pick().Task), half(pick().Result), fmt.Sprintf("err%d", i)}, ". "))
		e.Confidence, e.CreatedAt, e.AgentID = random.Float64(), created.Add(time.Duration(i)*time.Minute), fmt.Sprintf("agent-%d", i%9)
		changes[i] = change(i+1, e)
	}
	return changes
}

// BenchmarkSearch asks the labelled questions of indexes that are greater, and
// reports quantiles of the time. "cold" is a search that reads everything from the
// file, as the first one after a change does.
func BenchmarkSearch(b *testing.B) {
	var questions []string
	for _, q := range append(readLines[question](b, "questions.jsonl"), readLines[question](b, "questions-fresh.jsonl")...) {
		questions = append(questions, q.Text)
	}
	for _, n := range []int{10_000, 100_000} {
		path := filepath.Join(b.TempDir(), "knowhub.db")
		x := open(b, path)
		began := time.Now()
		all := mixed(b, n)
		for batch := range slices.Chunk(all, 200) {
			require.NoError(b, x.Apply(b.Context(), batch))
		}
		info, err := os.Stat(path)
		require.NoError(b, err)
		b.Logf("%d experiences: made in %v, %d MiB", n, time.Since(began).Round(time.Millisecond), info.Size()>>20)
		for _, q := range []struct {
			name string
			do   func(i int) error
		}{
			{"search", func(i int) error {
				_, err := x.Search(b.Context(), index.Query{Text: questions[i%len(questions)]})
				return err
			}},
			{"cold", func(i int) error {
				x.DropCache()
				_, err := x.Search(b.Context(), index.Query{Text: questions[i%len(questions)]})
				return err
			}},
			{"agent", func(i int) error {
				_, err := x.Search(b.Context(), index.Query{Text: questions[i%len(questions)], AgentID: "agent-3", Limit: 3})
				return err
			}},
			{"recall", func(i int) error {
				_, err := x.Search(b.Context(), index.Query{Text: questions[i%len(questions)], Prompt: true, Limit: 23})
				return err
			}},
			{"near", func(i int) error { _, err := x.Near(b.Context(), all[i*7919%n].Experience, false); return err }},
			{"apply", func(i int) error {
				c := all[i*7919%n]
				c.Revision = uint64(2*n + b.N + i) //nolint:gosec // small
				c.Experience.Status = []experience.Status{experience.Approved, experience.Pending}[i%2]
				return x.Apply(b.Context(), []index.Change{c})
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", q.name, n), func(b *testing.B) {
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					began := time.Now()
					if err := q.do(i); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			})
		}
		require.NoError(b, x.Close())
	}
}

// BenchmarkRebuild makes an index anew from all entries of a bucket, in portions as
// they come from it.
func BenchmarkRebuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		all := mixed(b, n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				x := open(b, filepath.Join(b.TempDir(), "knowhub.db"))
				for portion := range slices.Chunk(all, 200) {
					require.NoError(b, x.Apply(b.Context(), portion))
				}
				require.NoError(b, x.Close())
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "experiences/s")
		})
	}
}

// BenchmarkOpen opens an index that is there.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		path := filepath.Join(b.TempDir(), "knowhub.db")
		x := open(b, path)
		for batch := range slices.Chunk(mixed(b, n), 1000) {
			require.NoError(b, x.Apply(b.Context(), batch))
		}
		require.NoError(b, x.Close())
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, open(b, path).Close())
			}
		})
	}
}
