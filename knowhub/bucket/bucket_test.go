package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/internal/natstest"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
)

func TestMain(m *testing.M) { natstest.Main(m, 4) }

var config = jetstream.KeyValueConfig{Bucket: "T_EXPERIENCES"}

func of(n int) experience.Experience {
	e := experience.Experience{Task: fmt.Sprint("task ", n), Resource: "r", Result: "x", Status: experience.Pending, CreatedAt: time.Now()}.Normal()
	e.ID = experience.ID(e, true)
	return e
}

func put(t *testing.T, s *bucket.Experiences, e experience.Experience) bucket.Stored {
	t.Helper()
	out, _, err := s.Change(t.Context(), e.ID, func(*experience.Experience) (experience.Experience, bool, error) { return e, true, nil })
	require.NoError(t, err)
	return out
}

func TestChange(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s := bucket.NewExperiences(js, config)
	e := of(1)
	_, ok, err := s.Get(t.Context(), e.ID)
	require.NoError(t, err)
	require.False(t, ok)
	first := put(t, s, e)
	out, created, err := s.Change(t.Context(), e.ID, func(known *experience.Experience) (experience.Experience, bool, error) {
		return *known, false, nil
	})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Revision, out.Revision, "nothing was written")
	cause := errors.New("no")
	_, _, err = s.Change(t.Context(), e.ID, func(*experience.Experience) (experience.Experience, bool, error) { return e, true, cause })
	require.ErrorIs(t, err, cause)
	_, _, err = s.Change(t.Context(), "*", func(*experience.Experience) (experience.Experience, bool, error) { return e, true, nil })
	require.ErrorIs(t, err, experience.ErrInvalid)
	require.Equal(t, first.Revision, put(t, s, of(2)).Revision-1)
}

func TestChangesAtOnceAreAllCounted(t *testing.T) {
	ns := natstest.Start(t, nil)
	e := of(1)
	var changing sync.WaitGroup
	for range 8 {
		s := bucket.NewExperiences(natstest.JetStream(t, ns), config)
		changing.Go(func() {
			for range 10 {
				_, _, err := s.Change(t.Context(), e.ID, func(known *experience.Experience) (experience.Experience, bool, error) {
					next := e
					if known != nil {
						next = *known
					}
					next.Seen++
					return next, true, nil
				})
				require.NoError(t, err)
			}
		})
	}
	changing.Wait()
	got, ok, err := bucket.NewExperiences(natstest.JetStream(t, ns), config).Get(t.Context(), e.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 80, got.Seen)
}

// An experience that changes meanwhile is looked at again.
func TestRemove(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s, other := bucket.NewExperiences(js, config), bucket.NewExperiences(js, config)
	pending, decided := put(t, s, of(1)).ID, put(t, s, of(2)).ID
	isPending := func(e experience.Experience) bool { return e.Status == experience.Pending }
	require.NoError(t, s.Remove(t.Context(), of(3).ID, isPending), "missing")
	require.NoError(t, s.Remove(t.Context(), pending, isPending))
	looks := 0
	require.NoError(t, s.Remove(t.Context(), decided, func(e experience.Experience) bool {
		if looks++; looks == 1 {
			_, _, err := other.Change(t.Context(), decided, func(known *experience.Experience) (experience.Experience, bool, error) {
				e := *known
				e.Status = experience.Approved
				return e, true, nil
			})
			require.NoError(t, err)
		}
		return isPending(e)
	}))
	require.Equal(t, 2, looks)
	_, ok, err := s.Get(t.Context(), pending)
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = s.Get(t.Context(), decided)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, pending, put(t, s, of(1)).ID, "and it can come again")
}

func TestAll(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s := bucket.NewExperiences(js, config)
	for n := range 300 {
		put(t, s, of(n))
	}
	seen := map[string]bool{}
	unreadable, err := s.All(t.Context(), func(e experience.Experience) error { seen[e.ID] = true; return nil })
	require.NoError(t, err)
	require.Empty(t, unreadable)
	require.Len(t, seen, 300)
	cause := errors.New("enough")
	_, err = s.All(t.Context(), func(experience.Experience) error { return cause })
	require.ErrorIs(t, err, cause)
}

// What another program wrote under an id, or beside the ids.
func TestEntriesOfOthers(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s, good := bucket.NewExperiences(js, config), of(1)
	require.NoError(t, s.Open(t.Context()))
	entries, err := js.KeyValue(t.Context(), config.Bucket)
	require.NoError(t, err)
	readable := put(t, s, good).ID
	for _, tt := range []struct {
		name, key, value string
		readable         bool
	}{
		{"a task of another type", of(2).ID, `{"task":5}`, false},
		{"a list", of(3).ID, `[]`, false},
		{"no JSON", of(4).ID, `{`, false},
		{"nothing", of(4).ID, `null`, false},
		{"an empty object", of(4).ID, `{}`, false},
		{"an acknowledgement of a publish", of(4).ID, `{"stream":"OPENCLAW_EVENTS","seq":7}`, false},
		{"another object", of(4).ID, `{"user":"jo","status":"pending"}`, false},
		{"no status", of(4).ID, `{"task":"t","resource":"r","result":"x"}`, false},
		{"an unknown status", of(4).ID, `{"task":"t","resource":"r","result":"x","status":"new"}`, false},
		{"a key that is no id", "not-an-id", `{}`, false},
		{"another id", of(5).ID, `{"id":"` + readable + `","task":"t","resource":"r","result":"x","status":"pending"}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := entries.PutString(t.Context(), tt.key, tt.value)
			require.NoError(t, err)
			defer func() { require.NoError(t, entries.Delete(t.Context(), tt.key)) }()
			e, ok, err := s.Get(t.Context(), tt.key)
			require.NoError(t, err)
			require.Equal(t, tt.readable, ok)
			var ids, named []string
			unreadable, err := s.All(t.Context(), func(e experience.Experience) error { ids = append(ids, e.ID); return nil })
			require.NoError(t, err)
			f := &follower{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := following(cancel)
			o.Unreadable = func(key string, _ error) { named = append(named, key) }
			require.Error(t, s.Follow(ctx, f, o))
			require.ElementsMatch(t, ids, f.experiences())
			require.Equal(t, unreadable, named)
			known := true
			if experience.ValidID(tt.key) {
				_, _, err = s.Change(t.Context(), tt.key, func(e *experience.Experience) (experience.Experience, bool, error) {
					known = e != nil
					return experience.Experience{}, false, nil
				})
				require.NoError(t, err)
				require.Equal(t, tt.readable, known)
			}
			if !tt.readable {
				require.Equal(t, []string{readable}, ids)
				require.Equal(t, []string{tt.key}, unreadable)
				return
			}
			require.Empty(t, unreadable)
			require.Equal(t, []string{readable, tt.key}, ids)
			require.Equal(t, tt.key, e.ID)
			out, _, err := s.Change(t.Context(), tt.key, func(known *experience.Experience) (experience.Experience, bool, error) { return *known, true, nil })
			require.NoError(t, err)
			require.Equal(t, tt.key, out.ID)
		})
	}
}

// follower notes what it is told.
type follower struct {
	mu      sync.Mutex
	of      string
	place   uint64
	resets  int
	looks   int
	changes []experience.Change
	bad     bool // changes came out of order
}

func (f *follower) Place() (string, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of, f.place
}

func (f *follower) Reset(of string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of, f.place, f.changes, f.resets = of, 0, nil, f.resets+1
}

func (f *follower) Apply(changes []experience.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range changes {
		f.bad = f.bad || c.Revision <= f.place
		f.place = c.Revision
	}
	f.changes = append(f.changes, changes...)
}

// Held counts the keys of all changes.
func (f *follower) Held() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	keys := map[string]bool{}
	for _, c := range f.changes {
		keys[c.ID] = true
	}
	return uint64(len(keys))
}

// looked returns a function that reports whether the number of keys was asked for n
// times from now on.
func (f *follower) looked(n int) func() bool {
	f.mu.Lock()
	from := f.looks
	f.mu.Unlock()
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.looks >= from+n
	}
}

// experiences are the ids that the copy has in the end.
func (f *follower) experiences() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := map[string]bool{}
	for _, c := range f.changes {
		if known[c.ID] = true; c.Removed {
			delete(known, c.ID)
		}
	}
	return slices.Collect(maps.Keys(known))
}

func (f *follower) got() (n int, last experience.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n = len(f.changes); n > 0 {
		last = f.changes[n-1]
	}
	return n, last
}

// follow follows until stop is called, which returns the error.
func follow(t *testing.T, s *bucket.Experiences, f *follower) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, caught := make(chan error, 1), make(chan struct{}, 100)
	go func() {
		ended <- s.Follow(ctx, f, following(func() { caught <- struct{}{} }))
	}()
	select {
	case <-caught:
	case err := <-ended:
		ended <- err
	case <-time.After(time.Minute):
		t.Fatal("does not catch up")
	}
	return func() error {
		cancel()
		err := <-ended
		require.False(t, f.bad, "out of order")
		return err
	}
}

func following(caughtUp func()) bucket.Following {
	return bucket.Following{CaughtUp: caughtUp, Unreadable: func(string, error) {}}
}

func TestFollow(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s, f := bucket.NewExperiences(js, config), &follower{}
	for n := range 500 {
		put(t, s, of(n))
	}
	stop := follow(t, s, f)
	n, _ := f.got()
	require.Equal(t, 500, n)
	put(t, s, of(500))
	require.Eventually(t, func() bool { n, _ := f.got(); return n == 501 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, stop(), context.Canceled)

	put(t, s, of(501))
	entries, err := js.KeyValue(t.Context(), config.Bucket)
	require.NoError(t, err)
	require.NoError(t, entries.Delete(t.Context(), of(0).ID))
	stop = follow(t, s, f)
	n, last := f.got()
	require.Equal(t, 503, n, "only what is new")
	require.True(t, last.Removed)
	require.Equal(t, of(0).ID, last.ID)
	require.Error(t, stop())
	require.Equal(t, 1, f.resets)
}

func TestFollowBeginsAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, f *follower, js jetstream.JetStream, s *bucket.Experiences)
		want int // changes
	}{
		{"a copy of another bucket", func(_ *testing.T, f *follower, _ jetstream.JetStream, _ *bucket.Experiences) { f.of = "x@1" }, 3},
		{"a copy that is ahead", func(_ *testing.T, f *follower, _ jetstream.JetStream, _ *bucket.Experiences) { f.place = 99 }, 3},
		{"a bucket that was made again", func(t *testing.T, _ *follower, js jetstream.JetStream, _ *bucket.Experiences) {
			require.NoError(t, js.DeleteKeyValue(t.Context(), config.Bucket))
			require.Eventually(t, func() bool {
				_, err := js.CreateKeyValue(t.Context(), config)
				return err == nil
			}, time.Minute, 10*time.Millisecond)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			js := natstest.JetStream(t, natstest.Start(t, nil))
			s, f := bucket.NewExperiences(js, config), &follower{}
			for n := range 3 {
				put(t, s, of(n))
			}
			_ = follow(t, s, f)()
			tt.harm(t, f, js, s)
			_ = follow(t, s, f)()
			n, _ := f.got()
			require.Equal(t, tt.want, n)
			require.Equal(t, 2, f.resets)
		})
	}
}

// What is removed from the stream of the bucket leaves no marker, and nothing tells of it.
func TestFollowOfABucketThatIsPurged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, js jetstream.JetStream, stream jetstream.Stream)
		want []int // experiences
	}{
		{"purged", func(t *testing.T, _ jetstream.JetStream, stream jetstream.Stream) {
			require.NoError(t, stream.Purge(t.Context()))
		}, nil},
		{"purged but for what is new", func(t *testing.T, _ jetstream.JetStream, stream jetstream.Stream) {
			require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeKeep(2)))
		}, []int{4}},
		{"a key is purged in the stream", func(t *testing.T, _ jetstream.JetStream, stream jetstream.Stream) {
			require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+config.Bucket+"."+of(3).ID)))
		}, []int{2, 4}},
		{"purged, and others write", func(t *testing.T, js jetstream.JetStream, stream jetstream.Stream) {
			require.NoError(t, stream.Purge(t.Context()))
			for n := range 8 {
				put(t, bucket.NewExperiences(js, config), of(10+n))
			}
		}, []int{10, 11, 12, 13, 14, 15, 16, 17}},
	} {
		for when, meanwhile := range map[string]bool{"": false, " while it is not followed": true} {
			t.Run(tt.name+when, func(t *testing.T) {
				t.Parallel()
				js := natstest.JetStream(t, natstest.Start(t, nil))
				s, f := bucket.NewExperiences(js, config), &follower{}
				for n := range 5 {
					put(t, s, of(n))
				}
				entries, err := js.KeyValue(t.Context(), config.Bucket)
				require.NoError(t, err)
				require.NoError(t, entries.Delete(t.Context(), of(0).ID))
				require.NoError(t, entries.Purge(t.Context(), of(1).ID))
				_, err = entries.PutString(t.Context(), "not-an-id", "{}")
				require.NoError(t, err)
				put(t, s, of(4))
				stream, err := js.Stream(t.Context(), bus.BucketStream(config.Bucket))
				require.NoError(t, err)

				stop := follow(t, s, f)
				if meanwhile {
					require.NotErrorIs(t, stop(), kv.ErrPurged)
				}
				tt.harm(t, js, stream)
				if meanwhile {
					stop = follow(t, s, f)
				}
				require.Eventually(t, func() bool { _, place := f.Place(); return place == 0 }, time.Minute, time.Millisecond, "emptied")
				require.ErrorIs(t, stop(), kv.ErrPurged)

				stop = follow(t, s, f)
				require.Eventually(t, f.looked(2), time.Minute, time.Millisecond)
				require.NotErrorIs(t, stop(), kv.ErrPurged)
				require.Equal(t, 2, f.resets, "once")
				var want []string
				for _, n := range tt.want {
					want = append(want, of(n).ID)
				}
				require.ElementsMatch(t, want, f.experiences())
			})
		}
	}
}

// Deleted and changed keys, and other processes that write, leave messages for all that a
// copy holds.
func TestFollowDoesNotBeginAgain(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	js := natstest.JetStream(t, ns)
	s, f := bucket.NewExperiences(js, config), &follower{}
	put(t, s, of(0))
	stop := follow(t, s, f)
	looked := f.looked(4)
	var writing sync.WaitGroup
	for w := range 2 {
		js := natstest.JetStream(t, ns)
		other := bucket.NewExperiences(js, config)
		entries, err := js.KeyValue(t.Context(), config.Bucket)
		require.NoError(t, err)
		writing.Go(func() {
			for n := 1; !looked(); n++ {
				e := of(2*n + w)
				put(t, other, e)
				switch n % 3 {
				case 0:
					require.NoError(t, entries.Delete(t.Context(), e.ID))
				case 1:
					require.NoError(t, entries.Purge(t.Context(), e.ID))
				}
			}
		})
	}
	writing.Wait()
	require.NotErrorIs(t, stop(), kv.ErrPurged)
	require.Equal(t, 1, f.resets)
}

func TestTurns(t *testing.T) {
	ns := natstest.Start(t, nil)
	turns := bucket.NewTurns(natstest.JetStream(t, ns), jetstream.KeyValueConfig{Bucket: "T_TURNS"})
	begin := func(session, run string) int {
		n, err := turns.Begin(t.Context(), bucket.Turn{Session: session, Run: run})
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, begin("s", "a"))
	require.Equal(t, 1, begin("s", "a"), "a retry")
	require.Equal(t, 2, begin("s", ""))
	require.Equal(t, 3, begin("s", ""), "a run without an id")
	require.Equal(t, 4, begin("s", "b"))
	require.Equal(t, 1, begin("s", "a"), "a late retry")
	require.Equal(t, 1, begin("another. *>", "a"), "another session")
	for i := range 40 {
		require.Equal(t, 5+i, begin("s", strconv.Itoa(i)))
	}
}

func TestTurnsAfterAReset(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	turns := bucket.NewTurns(natstest.JetStream(t, ns), jetstream.KeyValueConfig{Bucket: "T_TURNS"})
	type step struct {
		at, reset int64
		want      int
		shown     bool // whether the experience is shown
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"none", []step{{100, 0, 1, true}, {200, 0, 2, false}}},
		{"before the first turn, heard of in time", []step{{100, 90, 1, true}, {200, 90, 2, false}}},
		{"before the first turn, heard of later", []step{{100, 0, 1, true}, {200, 90, 2, false}}},
		{"between turns", []step{{100, 90, 1, true}, {200, 90, 2, false}, {300, 250, 1, true}, {400, 250, 2, false}}},
		{"between turns, heard of later", []step{{100, 0, 1, true}, {300, 0, 2, false}, {400, 250, 1, true}, {500, 250, 2, false}}},
		{"an end and a start, one heard of later", []step{{100, 0, 1, true}, {300, 250, 1, true}, {400, 260, 2, false}}},
		{"twice", []step{{100, 0, 1, true}, {300, 250, 1, true}, {500, 450, 1, true}}},
		{"by a clock that was then set back", []step{{500, 0, 1, true}, {400, 550, 1, true}, {420, 550, 2, false}, {600, 550, 3, false}, {700, 650, 1, true}}},
		{"before the first turn, by a clock that was then set back", []step{{400, 550, 1, true}, {420, 550, 2, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, s := range tt.steps {
				turn := bucket.Turn{Session: tt.name, Run: strconv.Itoa(i), At: s.at, Reset: s.reset}
				for retry := range 2 {
					n, err := turns.Begin(t.Context(), turn)
					require.NoError(t, err)
					require.Equal(t, s.want, n, "turn %d", i)
					chosen, again, err := turns.Recall(t.Context(), turn, []string{"e"}, 1, 0)
					require.NoError(t, err)
					require.Equal(t, retry == 1, again)
					require.Equal(t, s.shown, len(chosen) == 1, "turn %d", i)
				}
			}
		})
	}
}

func TestTurnsAtOnceAreCountedOnce(t *testing.T) {
	ns := natstest.Start(t, nil)
	var beginning sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for i := range 6 {
		turns := bucket.NewTurns(natstest.JetStream(t, ns), jetstream.KeyValueConfig{Bucket: "T_TURNS"})
		beginning.Go(func() {
			n, err := turns.Begin(t.Context(), bucket.Turn{Session: "s", Run: fmt.Sprint("run", i/2)}) // each run in two processes
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			got[n]++
		})
	}
	beginning.Wait()
	require.Equal(t, map[int]int{1: 2, 2: 2, 3: 2}, got)
}

func TestRecalledIsBounded(t *testing.T) {
	turns := bucket.NewTurns(natstest.JetStream(t, natstest.Start(t, nil)), jetstream.KeyValueConfig{Bucket: "T_TURNS"})
	for i := range 30 {
		var ids []string
		for j := range 50 {
			ids = append(ids, fmt.Sprintf("%032d", i*50+j))
		}
		chosen, _, err := turns.Recall(t.Context(), bucket.Turn{Session: "s", Run: fmt.Sprint("r", i)}, ids, 50, 0)
		require.NoError(t, err)
		require.Len(t, chosen, 50)
	}
	chosen, _, err := turns.Recall(t.Context(), bucket.Turn{Session: "s", Run: "last"}, []string{fmt.Sprintf("%032d", 29*50), strings.Repeat("0", 32)}, 1, 0)
	require.NoError(t, err)
	require.Equal(t, []string{strings.Repeat("0", 32)}, chosen, "the newest are known, the oldest forgotten")
}
