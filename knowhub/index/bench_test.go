package index_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// mixed returns n experiences whose texts are those of the labelled set, cut up
// and mixed, with a number and an identifier of their own: common words are as
// common as there, and the vocabulary grows with n.
func mixed(t testing.TB, n int) []experience.Change {
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
	changes := make([]experience.Change, n)
	for i := range changes {
		e := approved(fmt.Sprintf("%032x", i), pick().Task+" "+half(pick().Task), pick().Resource+fmt.Sprintf(" service-%d", random.IntN(n)),
			strings.Join([]string{pick().Result, half(pick().Result), half(pick().Task), half(pick().Result), fmt.Sprintf("err%d", i)}, ". "))
		e.Confidence, e.CreatedAt, e.AgentID = random.Float64(), created.Add(time.Duration(i)*time.Minute), fmt.Sprintf("agent-%d", i%9)
		changes[i] = change(i+1, e)
	}
	return changes
}

// decoded returns changes as they come from the bucket: each text in memory of its own.
func decoded(t testing.TB, changes []experience.Change) []experience.Change {
	t.Helper()
	for i, c := range changes {
		body, err := json.Marshal(c.Experience)
		require.NoError(t, err)
		changes[i].Experience = experience.Experience{}
		require.NoError(t, json.Unmarshal(body, &changes[i].Experience))
	}
	return changes
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one left in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// invented gives an index vectors without a meaning, as many as it takes, and returns some.
func invented(x *index.Index) (some []*index.Vector) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // repeatable
	next := func() *index.Vector {
		v := make([]float32, index.Dimensions)
		for i := range v {
			v[i] = float32(random.NormFloat64()) / 22 // the root of the dimensions
		}
		return index.NewVector(v)
	}
	for list := x.Unread(1000); len(list) > 0; list = x.Unread(1000) {
		for _, u := range list {
			x.SetVector(u, next())
		}
	}
	for range 8 {
		some = append(some, next())
	}
	return some
}

// cost is what an index takes to build and to keep.
type cost struct {
	wall, cpu time.Duration
	held      uint64 // bytes, texts included
}

// build makes an index of n mixed experiences in portions as they come from the bucket.
func build(t testing.TB, n int) (x *index.Index, c cost) {
	t.Helper()
	before := heap()
	x = index.New()
	all := decoded(t, mixed(t, n))
	began, used := time.Now(), cpuTime(t)
	for portion := range slices.Chunk(all, 200) {
		x.Apply(portion)
	}
	c.wall, c.cpu = time.Since(began), cpuTime(t)-used
	clear(all) // the index keeps the texts
	c.held = heap() - before
	return x, c
}

// threadTime returns the CPU time of this thread.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// cpuTime returns the CPU time of this process.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The bounds with 10,000 experiences; BenchmarkSearch measures them with 100,000 too. Times
// are CPU times, as other load moves the others. A tenth of 100,000 experiences needs a
// little more than a tenth of their 128 MiB.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an index of 10,000 experiences")
	}
	x, c := build(t, 10_000)
	require.Less(t, c.held, uint64(13<<20), "bytes")
	require.Less(t, c.cpu, 2*time.Second)
	runtime.LockOSThread() // see threadTime
	defer runtime.UnlockOSThread()
	var used []time.Duration
	for _, q := range labelledQuestions(t) {
		before := threadTime(t)
		x.Search(index.Query{Text: q})
		used = append(used, threadTime(t)-before)
	}
	slices.Sort(used)
	p99 := used[len(used)*99/100]
	t.Logf("built in %v, %.1f MiB, p99 %v", c.cpu, float64(c.held)/(1<<20), p99)
	require.Less(t, p99, 5*time.Millisecond)
}

func labelledQuestions(t testing.TB) (texts []string) {
	t.Helper()
	for _, q := range append(readLines[question](t, "questions.jsonl"), readLines[question](t, "questions-fresh.jsonl")...) {
		texts = append(texts, q.Text)
	}
	return texts
}

// BenchmarkSearch builds indexes that are greater than the labelled set, and asks them the
// labelled questions. It reports the CPU time of building an index, the memory that it
// holds, and quantiles of the wall time and the CPU time of a call. Other load moves the
// wall time.
func BenchmarkSearch(b *testing.B) {
	questions := labelledQuestions(b)
	for _, n := range []int{10_000, 100_000} {
		x, c := build(b, n)
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			for b.Loop() { // it was built once
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(c.wall.Seconds(), "wall-s")
			b.ReportMetric(c.cpu.Seconds(), "cpu-s")
			b.ReportMetric(float64(c.held)/(1<<20), "MiB")
			before := heap()
			invented(x)
			b.ReportMetric(float64(heap()-before)/(1<<20), "MiB-vectors")
		})
		all, vectors := x.All(), invented(index.New())
		revision := uint64(n) //nolint:gosec // positive
		for _, q := range []struct {
			name string
			do   func(i int)
		}{
			{"search", func(i int) { x.Search(index.Query{Text: questions[i]}) }},
			{"agent", func(i int) { x.Search(index.Query{Text: questions[i], AgentID: "agent-3", Limit: 3}) }},
			{"meaning", func(i int) {
				x.Search(index.Query{Text: questions[i], Meaning: func() *index.Vector { return vectors[i%len(vectors)] }})
			}},
			{"recall", func(i int) { x.Search(index.Query{Text: questions[i], Prompt: true, Limit: 23}) }},
			{"near", func(i int) { x.Near(*all[i*7919%n], false) }},
			{"list", func(int) { x.List(experience.Approved, experience.Experience{}, 50) }},
			{"apply", func(i int) {
				c := experience.Change{ID: all[i*7919%n].ID, Experience: *all[i*7919%n], Revision: revision + 1}
				c.Experience.Task = fmt.Sprint("Task ", revision)
				x.Apply([]experience.Change{c})
				revision++
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", q.name, n), func(b *testing.B) {
				runtime.LockOSThread() // see threadTime
				defer runtime.UnlockOSThread()
				var took, used []time.Duration
				for i := 0; b.Loop(); i++ {
					began, before := time.Now(), threadTime(b)
					q.do(i % len(questions))
					took, used = append(took, time.Since(began)), append(used, threadTime(b)-before)
				}
				for name, times := range map[string][]time.Duration{"wall": took, "cpu": used} {
					slices.Sort(times)
					b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "p50-"+name+"-µs")
					b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1e3, "p99-"+name+"-µs")
				}
			})
		}
	}
}
