package knowhub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index"
)

// told is a bucket that tells what a test says: each function is called with the follower
// of the copy, and its error ends Follow.
type told chan func(bucket.Follower, bucket.Following) error

func (b told) Follow(ctx context.Context, f bucket.Follower, o bucket.Following) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case tell := <-b:
			if err := tell(f, o); err != nil {
				return err
			}
		}
	}
}

// runCopy runs a copy of a bucket until the test ends.
func runCopy(t *testing.T, b knowhub.Followed, path string) *knowhub.Copy {
	t.Helper()
	c := knowhub.NewCopy(knowhub.CopyOptions{
		Bucket: b, Path: path, Metrics: knowhub.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

// Reads wait five seconds for a copy that is not complete. One that was complete answers
// while the bucket is away, but not with what a purged or another bucket has left.
func TestCopyAnswersWhenItIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := make(told)
		c := runCopy(t, b, "")
		reads := func() (errs []error) {
			began := time.Now()
			hits, err := c.Search(t.Context(), index.Query{Text: "shop"})
			require.Equal(t, err == nil, len(hits) == 1)
			errs = append(errs, err)
			_, err = c.List(t.Context(), experience.Approved, experience.Experience{}, 1)
			errs = append(errs, err)
			_, err = c.Near(t.Context(), experience.Experience{Task: "shop"}, false)
			errs = append(errs, err)
			counts, err := c.Counts(t.Context())
			require.Equal(t, err == nil, counts[experience.Approved] == 1)
			errs = append(errs, err)
			if err != nil {
				require.Equal(t, 4*5*time.Second, time.Since(began))
			}
			require.Equal(t, err == nil, c.Ready())
			return errs
		}
		answers := func(want bool) {
			t.Helper()
			for _, err := range reads() {
				require.Equal(t, want, err == nil, "%v", err)
			}
		}
		e := experience.Experience{Task: "Deploy the shop", Resource: "wrangler", Result: "works", Status: experience.Approved}
		begin := func(f bucket.Follower, _ bucket.Following) error {
			f.Reset("b")
			f.Apply([]experience.Change{{ID: "e", Revision: 1, Experience: e}})
			return nil
		}
		end := func(_ bucket.Follower, o bucket.Following) error { o.CaughtUp(); return nil }
		answers(false)
		b <- begin
		answers(false)
		b <- end
		answers(true)
		b <- func(bucket.Follower, bucket.Following) error { return errors.New("away") }
		answers(true)
		b <- begin
		answers(false)
		go func() {
			time.Sleep(500 * time.Millisecond)
			b <- end
		}()
		answers(true)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Search(ctx, index.Query{Text: "shop"})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A table that cannot be written is a fault, and search does not need it.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	c := runCopy(t, deaf{}, filepath.Join(dir, "knowhub.db"))
	require.Eventually(t, func() bool { return c.Check(t.Context()) != nil }, patience, tick)
	c.Put(bucket.Stored{Experience: experience.Experience{ID: "e", Task: "shop", Status: experience.Approved}, Revision: 1})
	hits, err := c.Search(t.Context(), index.Query{Text: "shop"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.NoError(t, os.Remove(dir))
	require.Eventually(t, func() bool { return c.Check(t.Context()) == nil }, patience, tick, "it was written")
	require.FileExists(t, filepath.Join(dir, "knowhub.db"))
}

// A bucket that is purged, while it is followed or not, is named by who writes the table.
func TestLostExperiencesAreNamed(t *testing.T) {
	t.Parallel()
	for _, followed := range []bool{true, false} {
		t.Run(fmt.Sprint("followed: ", followed), func(t *testing.T) {
			t.Parallel()
			js := natstest.JetStream(t, natstest.Start(t, nil))
			kept := bucket.NewExperiences(js, experiencesBucket)
			for n := range 3 {
				e := experience.Experience{Task: fmt.Sprint("task ", n), Resource: "r", Result: "x", Status: experience.Approved, CreatedAt: time.Now()}.Normal()
				e.ID = experience.ID(e, true)
				_, _, err := kept.Change(t.Context(), e.ID, func(*experience.Experience) (experience.Experience, bool, error) { return e, true, nil })
				require.NoError(t, err)
			}
			path, log := filepath.Join(t.TempDir(), "knowhub.db"), &lockedLog{}
			run := func() (stop func()) {
				c := knowhub.NewCopy(knowhub.CopyOptions{Bucket: kept, Path: path, Metrics: knowhub.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.NewTextHandler(log, nil))})
				ctx, cancel := context.WithCancel(context.Background())
				var running sync.WaitGroup
				running.Go(func() { c.Run(ctx) })
				stop = sync.OnceFunc(func() { cancel(); running.Wait() })
				t.Cleanup(stop)
				return stop
			}
			stop := run()
			require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, patience, tick)
			if !followed {
				stop()
			}
			stream, err := js.Stream(t.Context(), "KV_"+experiencesBucket.Bucket)
			require.NoError(t, err)
			require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeKeep(1)))
			if !followed {
				run()
			}
			const line = `msg="experiences are missing that the bucket held before" missing=2 held=1`
			require.Eventually(t, func() bool { return strings.Contains(log.String(), line) }, patience, tick)
		})
	}
}

// lockedLog is what was logged.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// BenchmarkCopy makes the copy of a bucket of 10,000 experiences, as a process does at its
// start. It reports the time until it answers, and the CPU time of that, which includes
// the server.
func BenchmarkCopy(b *testing.B) {
	js := natstest.JetStream(b, natstest.Start(b, nil))
	kept := bucket.NewExperiences(js, experiencesBucket)
	require.NoError(b, kept.Open(b.Context()))
	const n = 10_000
	for i := range n {
		e := experience.Experience{
			Task: fmt.Sprintf("Deploy shop number %d to staging without a pause", i), Resource: fmt.Sprintf("wrangler, service-%d", i%977),
			Result: fmt.Sprintf("Needs --env staging, and a second attempt after err%d when the worker is still being built; then it takes a minute", i),
			Status: experience.Approved, AgentID: "main", Confidence: 1, CreatedAt: time.Now(),
		}
		body, err := json.Marshal(e)
		require.NoError(b, err)
		_, err = js.PublishAsync("$KV."+experiencesBucket.Bucket+"."+experience.ID(e, true), body)
		require.NoError(b, err)
	}
	<-js.PublishAsyncComplete()
	var wall, cpu time.Duration
	for b.Loop() {
		c := knowhub.NewCopy(knowhub.CopyOptions{Bucket: kept, Metrics: knowhub.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(b.Context())
		began, used := time.Now(), cpuTime(b)
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		for !c.Ready() {
			time.Sleep(time.Millisecond)
		}
		wall, cpu = time.Since(began), cpuTime(b)-used
		counts, err := c.Counts(ctx)
		require.NoError(b, err)
		require.Equal(b, n, counts[experience.Approved])
		cancel()
		running.Wait()
	}
	b.ReportMetric(wall.Seconds(), "wall-s")
	b.ReportMetric(cpu.Seconds(), "cpu-s")
}

// cpuTime returns the CPU time of this process.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
