package state_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/triage/state"
)

var buckets = state.Buckets{
	Decisions: jetstream.KeyValueConfig{Bucket: "T_TRIAGE", TTL: 24 * time.Hour}, Recent: jetstream.KeyValueConfig{Bucket: "T_RECENT", TTL: time.Hour},
	Marks: jetstream.KeyValueConfig{Bucket: "T_MARKS"},
}

const group = "agent:main:telegram:group:-100"

func open(t *testing.T, ns *server.Server) *state.Store {
	t.Helper()
	s := state.New(natstest.JetStream(t, ns), buckets)
	require.NoError(t, s.Open(t.Context()))
	return s
}

// skip stores the decision to skip a message.
func skip(t *testing.T, s *state.Store, id string, now time.Time) {
	t.Helper()
	require.NoError(t, s.Pend(t.Context(), group, id, now))
	_, first, err := s.Decide(t.Context(), state.Decision{Group: group, MessageID: id, Text: id, Verdict: state.Skip})
	require.NoError(t, err)
	require.True(t, first)
}

// take returns the ids that a run is told.
func take(t *testing.T, s *state.Store, run string, most int, now time.Time) (ids []string) {
	t.Helper()
	told, _, _, err := s.Take(t.Context(), state.Turn{Group: group, Run: run}, most, now)
	require.NoError(t, err)
	for _, d := range told {
		ids = append(ids, d.MessageID)
	}
	return ids
}

func TestOlderMessagesAreCounted(t *testing.T) {
	t.Parallel()
	s, now := open(t, natstest.Start(t, nil)), time.Now()
	left := func(turn state.Turn, most int) (told, left int) {
		t.Helper()
		out, left, _, err := s.Take(t.Context(), turn, most, now)
		require.NoError(t, err)
		return len(out), left
	}
	for i := range state.MaxSkipped + 4 {
		skip(t, s, fmt.Sprint("m", i), now)
	}
	r1 := state.Turn{Group: group, Run: "r1"}
	told, over := left(r1, 10)
	require.Equal(t, []int{10, state.MaxSkipped - 10 + 4}, []int{told, over})
	require.NoError(t, s.PutBack(t.Context(), r1))
	told, over = left(state.Turn{Group: group, Run: "r2"}, 20)
	require.Equal(t, []int{20, state.MaxSkipped - 20 + 4}, []int{told, over}, "put back with those that were left out")
	told, over = left(state.Turn{Group: group, Run: "r2"}, 20)
	require.Equal(t, []int{20, state.MaxSkipped - 20 + 4}, []int{told, over}, "the run asks again")
	skip(t, s, "next", now)
	told, over = left(state.Turn{Group: group, Run: "r3"}, 20)
	require.Equal(t, []int{1, 0}, []int{told, over})
}

func TestResponseTimes(t *testing.T) {
	t.Parallel()
	var tally state.Tally
	tally.Price(0)
	require.Equal(t, state.Response{}, tally.Response)
	for i := range 100 {
		tally.Add(state.Decision{Verdict: state.Skip, ElapsedMs: float64(100 - i)}, "")
	}
	tally.Price(0)
	require.Equal(t, state.Response{MedianMs: 50, P95Ms: 95}, tally.Response)
}

func TestTheFirstDecisionStands(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	stores := []*state.Store{open(t, ns), open(t, ns), open(t, ns)}
	_, ok, err := stores[0].Decision(t.Context(), group, "m1")
	require.NoError(t, err)
	require.False(t, ok)
	var first atomic.Int32
	standing := make([]string, 30)
	var deciding sync.WaitGroup
	for i := range standing {
		deciding.Go(func() {
			d, mine, err := stores[i%3].Decide(t.Context(), state.Decision{Group: group, MessageID: "m1", Reason: strconv.Itoa(i)})
			if err != nil {
				t.Error(err)
			}
			if mine {
				first.Add(1)
			}
			standing[i] = d.Reason
		})
	}
	deciding.Wait()
	require.EqualValues(t, 1, first.Load())
	require.Len(t, slices.Compact(standing), 1)
}

func TestAnyIDsAreKept(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	all := []string{"", "_", "a.b", "a b*>", "日本", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "=5F"}
	for _, g := range all {
		for _, id := range all {
			_, first, err := s.Decide(t.Context(), state.Decision{Group: g, MessageID: id, Text: g + "/" + id})
			require.NoError(t, err)
			require.True(t, first, "%q %q", g, id)
		}
	}
	for _, g := range all {
		for _, id := range all {
			d, ok, err := s.Decision(t.Context(), g, id)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, g+"/"+id, d.Text)
		}
	}
}

func TestDecisionsSince(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	require.NoError(t, s.Decisions(t.Context(), time.Time{}, func(state.Decision) error { return errors.New("no decision was stored") }))
	for i := range 20 {
		_, _, err := s.Decide(t.Context(), state.Decision{Group: group, MessageID: strconv.Itoa(i)})
		require.NoError(t, err)
	}
	require.NoError(t, s.Pend(t.Context(), group, "m", time.Now()), "not a decision")
	var all []state.Decision
	collect := func(d state.Decision) error { all = append(all, d); return nil }
	require.NoError(t, s.Decisions(t.Context(), time.Time{}, collect))
	require.Len(t, all, 20)
	slices.SortFunc(all, func(a, b state.Decision) int { return a.Decided.Compare(b.Decided) })
	since := all[15].Decided
	all = nil
	require.NoError(t, s.Decisions(t.Context(), since, collect))
	require.Len(t, all, 5)
	ended := errors.New("enough")
	require.ErrorIs(t, s.Decisions(t.Context(), time.Time{}, func(state.Decision) error { return ended }), ended)
}

func TestSkippedMessagesAreToldOnce(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s, other := open(t, ns), open(t, ns)
	now := time.Now()
	require.Empty(t, take(t, s, "r0", 10, now))
	for _, id := range []string{"1", "2", "3"} {
		skip(t, s, id, now)
	}
	require.Equal(t, []string{"2", "3"}, take(t, s, "r1", 2, now))
	skip(t, other, "4", now)
	require.Equal(t, []string{"2", "3"}, take(t, other, "r1", 2, now), "the run asks again")
	require.Equal(t, []string{"4"}, take(t, other, "r2", 2, now))
	require.NoError(t, s.Pend(t.Context(), group, "4", now), "a repetition")
	require.Empty(t, take(t, s, "r3", 2, now))
	skip(t, s, "5", now)
	require.Equal(t, []string{"5"}, take(t, s, "", 2, now))
	require.Empty(t, take(t, s, "", 2, now), "a run without an id is another one each time")
}

// A model may take longer for the first of two messages.
func TestSkippedMessagesAreToldInTheOrderInWhichTheyWereSent(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	now := time.Now()
	for _, m := range []struct {
		id   string
		sent time.Duration
	}{{"2", 2}, {"1", 1}, {"3a", 3}, {"3b", 3}} {
		require.NoError(t, s.Pend(t.Context(), group, m.id, now))
		_, _, err := s.Decide(t.Context(), state.Decision{Group: group, MessageID: m.id, Verdict: state.Skip, At: now.Add(m.sent * time.Millisecond).UnixMilli()})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"1", "2", "3a", "3b"}, take(t, s, "r1", 10, now))
}

func TestPutBack(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	now := time.Now()
	for _, id := range []string{"1", "2", "3"} {
		skip(t, s, id, now)
	}
	require.Equal(t, []string{"2", "3"}, take(t, s, "r1", 2, now))
	skip(t, s, "4", now)
	require.NoError(t, s.PutBack(t.Context(), state.Turn{Group: group, Run: "another"}))
	require.NoError(t, s.PutBack(t.Context(), state.Turn{Group: group, Run: "r1"}))
	require.NoError(t, s.PutBack(t.Context(), state.Turn{Group: group, Run: "r1"}), "twice")
	require.Equal(t, []string{"1", "2", "3", "4"}, take(t, s, "r2", 50, now))
	require.Equal(t, []string{"1", "2", "3", "4"}, take(t, s, "r2", 50, now), "the run asks again")
	require.NoError(t, s.PutBack(t.Context(), state.Turn{Group: group, Run: "r2"}))
	require.Empty(t, take(t, s, "r3", 50, now), "it got them then")
}

// Whoever reports that a request got no answer may do so late, or twice: what a later
// request of the run was told stays told.
func TestPutBackOfAnEarlierRequest(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	now := time.Now()
	of := func(run, request string) state.Turn { return state.Turn{Group: group, Run: run, Request: request} }
	told := func(turn state.Turn) int {
		out, _, _, err := s.Take(t.Context(), turn, 50, now)
		require.NoError(t, err)
		return len(out)
	}
	skip(t, s, "1", now)
	require.Equal(t, 1, told(of("r1", "first")))
	require.NoError(t, s.PutBack(t.Context(), of("r1", "first")))
	require.Equal(t, 1, told(of("r1", "second")))
	require.NoError(t, s.PutBack(t.Context(), of("r1", "first")), "redelivered")
	require.NoError(t, s.PutBack(t.Context(), of("r1", "nobody got it")), "late")
	require.Zero(t, told(of("r2", "third")))
}

// A message without a decision is told when there is one, unless its process has
// died.
func TestMessagesWithoutADecision(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	now := time.Now()
	require.NoError(t, s.Pend(t.Context(), group, "dead", now.Add(-2*time.Minute)))
	require.NoError(t, s.Pend(t.Context(), group, "late", now))
	require.NoError(t, s.Pend(t.Context(), group, "answered", now))
	_, _, err := s.Decide(t.Context(), state.Decision{Group: group, MessageID: "answered", Verdict: state.Respond})
	require.NoError(t, err)
	skip(t, s, "skipped", now)
	require.Equal(t, []string{"skipped"}, take(t, s, "r1", 10, now))
	_, _, err = s.Decide(t.Context(), state.Decision{Group: group, MessageID: "late", Verdict: state.Skip})
	require.NoError(t, err)
	require.Equal(t, []string{"late"}, take(t, s, "r2", 10, now))
	require.NoError(t, s.Pend(t.Context(), group, "gone", now))
	require.Empty(t, take(t, s, "r3", 10, now.Add(2*time.Minute)))
	require.Empty(t, take(t, s, "r4", 10, now))
}

func TestTenThousandMessagesOfAGroup(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s := open(t, ns)
	keep := state.Keep{Texts: 20, People: 3}
	for i := range 10_000 {
		id := strconv.Itoa(i)
		_, err := s.Remember(t.Context(), group, state.RecentMessage{ID: id, At: int64(1_000_000 + i), Sender: "555", Text: strings.Repeat("x", 200)}, keep)
		require.NoError(t, err)
		if i%10 == 0 {
			require.NoError(t, s.Pend(t.Context(), group, id, time.Now()))
		}
	}
	before, err := s.Recent(t.Context(), group, time.UnixMilli(1_010_000))
	require.NoError(t, err)
	require.Len(t, before, 20+state.Spare)
	require.Equal(t, "9999", before[len(before)-1].ID)
	js := natstest.JetStream(t, ns)
	for _, bucket := range []string{buckets.Decisions.Bucket, buckets.Recent.Bucket} {
		stream, err := js.Stream(t.Context(), "KV_"+bucket)
		require.NoError(t, err)
		state := stream.CachedInfo().State
		require.EqualValues(t, 1, state.Msgs, bucket)
		require.Less(t, state.Bytes, uint64(20_000), bucket)
	}
}

// Not parallel: it measures the heap, which all tests share.
func TestAThousandGroupsTakeNoMemory(t *testing.T) {
	s := open(t, natstest.Start(t, nil))
	use := func() {
		for i := range 1000 {
			g := group + strconv.Itoa(i)
			_, err := s.Remember(t.Context(), g, state.RecentMessage{ID: "1", At: 1, Text: strings.Repeat("x", 200)}, state.Keep{Texts: 20})
			require.NoError(t, err)
			require.NoError(t, s.Pend(t.Context(), g, "1", time.Now()))
			_, _, err = s.Decision(t.Context(), g, "1")
			require.NoError(t, err)
		}
	}
	use()
	before := inUse()
	use()
	require.Less(t, inUse()-before, int64(4<<20))
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestRecentMessages(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	ids := func(said []state.RecentMessage) (out []string) {
		for _, m := range said {
			id := m.ID
			if m.Text == "" {
				id += "-"
			}
			out = append(out, id)
		}
		return out
	}
	const minute = int64(60_000)
	const begin = 1000 * minute
	keep := state.Keep{Texts: 2, People: 3}
	for _, row := range []struct {
		name string
		said state.RecentMessage
		want []string // before it
	}{
		{"the first", state.RecentMessage{ID: "a", At: begin, Text: "x"}, nil},
		{"the same again", state.RecentMessage{ID: "a", At: begin, Text: "x"}, nil},
		{"the next", state.RecentMessage{ID: "b", At: begin + minute, Text: "x"}, []string{"a"}},
		{"one more", state.RecentMessage{ID: "c", At: begin + 2*minute, Text: "x"}, []string{"a", "b"}},
		{"the bot's, with an id that a person has", state.RecentMessage{ID: "a", At: begin + 3*minute, Text: "x", Bot: true}, []string{"a", "b", "c"}},
		{"after it", state.RecentMessage{ID: "d", At: begin + 4*minute, Text: "x"}, []string{"a", "b", "c", "a"}},
		{"one that is known", state.RecentMessage{ID: "c", At: begin + 5*minute, Text: "x"}, []string{"a", "b"}},
		{"just within the hour", state.RecentMessage{ID: "e", At: begin + 64*minute - 1, Text: "x"}, []string{"a", "b", "c", "a", "d"}},
		{"a clock that was set back", state.RecentMessage{ID: "f", At: begin - 500*minute, Text: "x"}, []string{"a", "b", "c", "a", "d", "e"}},
		{"an hour after the last one", state.RecentMessage{ID: "g", At: begin - 440*minute, Text: "x"}, nil},
	} {
		before, err := s.Remember(t.Context(), group, row.said, keep)
		require.NoError(t, err)
		require.Equal(t, row.want, ids(before), row.name)
	}
	before, err := s.Recent(t.Context(), group, time.UnixMilli(begin-440*minute+1))
	require.NoError(t, err)
	require.Equal(t, []string{"g"}, ids(before))
	before, err = s.Recent(t.Context(), group, time.UnixMilli(begin))
	require.NoError(t, err)
	require.Empty(t, before)
}

// A message that comes again, to another process or after a crash, finds as many
// messages before it as the first time.
func TestAMessageThatComesAgainFindsThoseBeforeIt(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	keep := state.Keep{Texts: 2, People: 3}
	said := func(i int) state.RecentMessage {
		return state.RecentMessage{ID: strconv.Itoa(i), At: int64(i), Text: "x"}
	}
	var first [][]state.RecentMessage
	for i := range 30 {
		before, err := s.Remember(t.Context(), group, said(i), keep)
		require.NoError(t, err)
		first = append(first, before)
	}
	kept, err := s.Recent(t.Context(), group, time.UnixMilli(30))
	require.NoError(t, err)
	require.Len(t, kept, keep.People+state.Spare)
	require.Empty(t, kept[0].Text)
	require.NotEmpty(t, kept[1].Text)
	for i := 30 - state.Spare; i < 30; i++ {
		again, err := s.Remember(t.Context(), group, said(i), keep)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(again), keep.People)
		last := func(all []state.RecentMessage) []state.RecentMessage { return all[len(all)-keep.Texts:] }
		require.Equal(t, last(first[i]), last(again))
	}
}

func TestAnsweredMessages(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	for i, bot := range []bool{false, true, false} {
		_, err := s.Remember(t.Context(), group, state.RecentMessage{ID: strconv.Itoa(i / 2), At: 1, Text: "x", Bot: bot}, state.Keep{Texts: 20})
		require.NoError(t, err)
	}
	for _, id := range []string{"0", "0", "unknown"} {
		require.NoError(t, s.Answered(t.Context(), group, id))
	}
	require.NoError(t, s.Answered(t.Context(), "another", "0"))
	said, err := s.Recent(t.Context(), group, time.UnixMilli(2))
	require.NoError(t, err)
	var answered []bool
	for _, m := range said {
		answered = append(answered, m.Answered)
	}
	require.Equal(t, []bool{true, false, false}, answered)
}

func TestProcessesRememberTogether(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	stores := []*state.Store{open(t, ns), open(t, ns), open(t, ns)}
	const messages = 100
	seen := make([]int, messages)
	var remembering sync.WaitGroup
	for i := range messages {
		remembering.Go(func() {
			before, err := stores[i%3].Remember(t.Context(), group, state.RecentMessage{ID: strconv.Itoa(i), At: 1000, Text: "x"}, state.Keep{People: messages})
			if err != nil {
				t.Error(err)
			}
			seen[i] = len(before)
		})
	}
	remembering.Wait()
	slices.Sort(seen)
	for i, n := range seen {
		require.Equal(t, i, n, "each sees those before it")
	}
}

// The same events give the same marks in any order, however often each comes.
func TestTheLatestMarkWins(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	marks := []state.Mark{
		{At: 1, ID: "a", Verdict: state.Skip},
		{At: 3, ID: "b", Verdict: state.Respond},
		{At: 3, ID: "c", Verdict: state.Skip, By: "ada"},
		{At: 2, ID: "d", Verdict: state.Respond},
	}
	for round := range 10 {
		id := strconv.Itoa(round)
		events := slices.Concat(marks, marks)
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for _, m := range events {
			m.Group, m.MessageID, m.Text = group, id, "text"
			require.NoError(t, s.Mark(t.Context(), m))
		}
	}
	all, err := s.Marks(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 10)
	for _, m := range all {
		require.Equal(t, "ada", m.By)
	}
}

func TestAMarkThatIsRemovedStaysRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t, nil))
	mark := state.Mark{Group: group, MessageID: "1", Text: "x", Verdict: state.Skip, At: 1000}
	removed, err := s.Unmark(t.Context(), group, "1", time.UnixMilli(2000))
	require.NoError(t, err)
	require.False(t, removed)
	require.NoError(t, s.Mark(t.Context(), mark))
	for _, want := range []bool{true, false} {
		removed, err = s.Unmark(t.Context(), group, "1", time.UnixMilli(2000))
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.NoError(t, s.Mark(t.Context(), mark), "the event comes again")
	all, err := s.Marks(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, s.Complete(t.Context(), state.Decision{Group: group, MessageID: "1", Text: "x"}))
	all, err = s.Marks(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	mark.At = 3000
	require.NoError(t, s.Mark(t.Context(), mark), "someone marks it again")
	all, err = s.Marks(t.Context())
	require.NoError(t, err)
	require.Equal(t, []state.Mark{mark}, all)

	later := mark
	later.At, later.Text = 4000, "" // the decision has expired
	require.NoError(t, s.Mark(t.Context(), later))
	later.Text = mark.Text
	all, err = s.Marks(t.Context())
	require.NoError(t, err)
	require.Equal(t, []state.Mark{later}, all)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s, other := open(t, ns), open(t, ns)
	mark := func(id string, at int64) state.Mark {
		return state.Mark{Group: group, MessageID: id, Text: id, Verdict: state.Skip, At: at}
	}
	require.NoError(t, other.Mark(t.Context(), mark("1", 1)))
	var latest atomic.Pointer[[]state.Mark]
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		s.Follow(ctx, func(marks []state.Mark) { latest.Store(&marks) }, slog.New(slog.DiscardHandler))
	})
	defer following.Wait()
	defer cancel()
	known := func(want ...string) func() bool {
		return func() bool {
			p := latest.Load()
			if p == nil {
				return false
			}
			var ids []string
			for _, m := range *p {
				ids = append(ids, m.MessageID)
			}
			return slices.Equal(want, ids)
		}
	}
	require.Eventually(t, known("1"), time.Minute, time.Millisecond)
	require.NoError(t, other.Mark(t.Context(), mark("2", 2)))
	require.Eventually(t, known("2", "1"), time.Minute, time.Millisecond)
	_, err := other.Unmark(t.Context(), group, "1", time.Now())
	require.NoError(t, err)
	require.Eventually(t, known("2"), time.Minute, time.Millisecond)
	// A bucket that is deleted is made again, and followed.
	require.NoError(t, natstest.JetStream(t, ns).DeleteKeyValue(t.Context(), buckets.Marks.Bucket))
	require.Eventually(t, func() bool { return other.Mark(t.Context(), mark("3", 3)) == nil }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, known("3"), time.Minute, 5*time.Millisecond)
}

func TestValuesOfAnotherShape(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s := open(t, ns)
	js := natstest.JetStream(t, ns)
	for _, at := range [][2]string{{buckets.Recent.Bucket, "g"}, {buckets.Marks.Bucket, "g.1"}, {buckets.Decisions.Bucket, "s.g"}, {buckets.Decisions.Bucket, "d.g.1"}} {
		kv, err := js.KeyValue(t.Context(), at[0])
		require.NoError(t, err)
		_, err = kv.PutString(t.Context(), at[1], "garbage")
		require.NoError(t, err)
	}
	_, err := s.Remember(t.Context(), "g", state.RecentMessage{ID: "1", At: 1, Text: "x"}, state.Keep{Texts: 1})
	require.NoError(t, err)
	require.NoError(t, s.Pend(t.Context(), "g", "1", time.Now()))
	all, err := s.Marks(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, s.Mark(t.Context(), state.Mark{Group: "g", MessageID: "1", Verdict: state.Skip, At: 1}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _, err = s.Decide(ctx, state.Decision{Group: "g", MessageID: "1", Verdict: state.Skip})
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "at once")
}

func ExampleStore() {
	var js jetstream.JetStream // of a connection
	s := state.New(js, buckets)
	count := func(ctx context.Context) (skipped int, err error) {
		err = s.Decisions(ctx, time.Now().Add(-24*time.Hour), func(d state.Decision) error {
			if d.Verdict == state.Skip {
				skipped++
			}
			return nil
		})
		return skipped, err
	}
	fmt.Println(count != nil)
	// Output: true
}
