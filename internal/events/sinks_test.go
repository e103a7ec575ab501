package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/batch"
	"intenthint/internal/bus"
)

func TestSinkOptions(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	for _, row := range []struct {
		name   string
		change func(*SinkOptions[string])
		want   error
	}{
		{"complete", func(*SinkOptions[string]) {}, nil},
		{"named durable", func(o *SinkOptions[string]) { o.Durable = "intent-hint" }, nil},
		{"no check", func(o *SinkOptions[string]) { o.Handler.Check = nil }, nil},
		{"no name", func(o *SinkOptions[string]) { o.Name = "" }, errNoName},
		{"no JetStream", func(o *SinkOptions[string]) { o.JS = nil }, errNoJS},
		{"unknown durable", func(o *SinkOptions[string]) { o.Durable = "another" }, errNoDurable},
		{"no Decode", func(o *SinkOptions[string]) { o.Handler.Decode = nil }, errNoHandler},
		{"no Apply", func(o *SinkOptions[string]) { o.Handler.Apply = nil }, errNoHandler},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := SinkOptions[string]{Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: newMetrics(), Log: quiet, Handler: Handler[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { return nil },
				Check:  func(context.Context) error { return nil },
			}}
			row.change(&o)
			s, err := StartSink(t.Context(), o)
			if row.want != nil {
				require.ErrorIs(t, err, row.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, s.Stop(t.Context()))
		})
	}
}

// sinkTest is a sink with an in-memory store that can fail.
type sinkTest struct {
	mu    sync.Mutex
	fault error
	got   map[string]int
}

func (s *sinkTest) fail(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.fault = err }

func (s *sinkTest) count() (events, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.got {
		times += n
	}
	return len(s.got), times
}

func (s *sinkTest) handler() Handler[string] {
	check := func(context.Context) error { s.mu.Lock(); defer s.mu.Unlock(); return s.fault }
	return Handler[string]{
		Decode: decodeText,
		Apply: func(ctx context.Context, facts []string) error {
			if err := check(ctx); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, f := range facts {
				if s.got == nil {
					s.got = map[string]int{}
				}
				s.got[f]++
			}
			return nil
		},
		Check: check,
	}
}

// A failing sink does not affect another sink of the stream.
func TestSinksAreIndependent(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	l.More = []bus.Durable{{Name: "groups", Hooks: []string{"agent_end"}}}
	_, err := bus.Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	publish := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			for _, hook := range []string{"agent_end", "after_tool_call"} {
				_, err := b.JS.Publish(t.Context(), "openclaw.event."+hook+".main.s", fmt.Appendf(nil, "s%d/%s %d", i%3, hook, i))
				require.NoError(t, err)
			}
		}
	}
	var (
		c                = newMetrics()
		sessions, groups sinkTest
		running          []*Sink[string]
	)
	start := func() {
		t.Helper()
		running = nil
		for name, o := range map[string]SinkOptions[string]{"sessions": {Handler: sessions.handler()}, "groups": {Durable: "groups", Handler: groups.handler()}} {
			o.Name, o.JS, o.Layout, o.Metrics, o.Log = name, b.JS, l, c, quiet
			s, err := StartSink(t.Context(), o)
			require.NoError(t, err)
			running = append(running, s)
		}
	}
	stop := func() {
		t.Helper()
		for _, s := range running {
			require.NoError(t, s.Stop(t.Context()))
		}
		require.NoError(t, b.NC.Flush())
	}
	lag := func(durable string) int {
		t.Helper()
		consumer, err := b.JS.Consumer(t.Context(), l.Stream, durable)
		require.NoError(t, err)
		return int(consumer.CachedInfo().NumPending) + consumer.CachedInfo().NumAckPending
	}

	// The store of one sink is full. The other applies and acknowledges all events.
	groups.fail(errors.New("no space left on device"))
	start()
	publish(0, 10)
	require.Eventually(t, func() bool { return lag("intent-hint") == 0 }, time.Minute, 5*time.Millisecond)
	events, times := sessions.count()
	require.Equal(t, []int{20, 20}, []int{events, times})
	require.Equal(t, 10, lag("groups"), "events of its hooks only")
	events, _ = groups.count()
	require.Zero(t, events)
	require.Eventually(t, func() bool {
		faults := 0
		for _, s := range running {
			if s.Check(t.Context()) != nil {
				faults++
			}
		}
		return faults == 1
	}, time.Minute, 5*time.Millisecond)
	for _, s := range running {
		s.reportLag(t.Context())
	}
	require.Zero(t, testutil.ToFloat64(c.pending.WithLabelValues("sessions"))+testutil.ToFloat64(c.ackPending.WithLabelValues("sessions")))
	require.InDelta(t, 10, testutil.ToFloat64(c.pending.WithLabelValues("groups"))+testutil.ToFloat64(c.ackPending.WithLabelValues("groups")), 0)

	// After a restart each sink resumes at its own place.
	stop()
	publish(10, 12)
	groups.fail(nil)
	start()
	require.Eventually(t, func() bool { return lag("intent-hint") == 0 && lag("groups") == 0 }, time.Minute, 5*time.Millisecond)
	events, times = sessions.count()
	require.Equal(t, []int{24, 24}, []int{events, times})
	events, times = groups.count()
	require.Equal(t, []int{12, 12}, []int{events, times})
	require.Equal(t, 24, totalOf(c.applied, "sessions"))
	require.Equal(t, 12, totalOf(c.applied, "groups"))
	require.Zero(t, totalOf(c.redeliveries, "sessions"))
	require.Positive(t, totalOf(c.redeliveries, "groups"))

	// An event that neither can decode is a dead letter of each.
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return totalOf(c.deadLetters, "sessions") == 1 && totalOf(c.deadLetters, "groups") == 1
	}, time.Minute, 5*time.Millisecond)
	durables := []string{}
	for _, letter := range lettersOf(t, b, Selection{}) {
		require.Equal(t, "garbage", string(letter.Body))
		durables = append(durables, letter.Durable)
	}
	require.ElementsMatch(t, []string{"intent-hint", "groups"}, durables)
	stop()
}

func TestReplayedLetterReachesEverySink(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	l.More = []bus.Durable{{Name: "groups"}}
	_, err := bus.Provision(t.Context(), b.JS, l)
	require.NoError(t, err)
	c := newMetrics()
	var sessions sinkTest
	groups := make(chan string, 10)
	for name, o := range map[string]SinkOptions[string]{
		"sessions": {Handler: sessions.handler()},
		"groups": {Durable: "groups", Handler: Handler[string]{
			Decode: func(_, msgID string, _ []byte) (Event[string], error) {
				groups <- msgID
				return Event[string]{}, errors.New("not of a group")
			},
			Apply: func(context.Context, []string) error { return nil },
		}},
	} {
		o.Name, o.JS, o.Layout, o.Metrics, o.Log = name, b.JS, l, c, quiet
		s, err := StartSink(t.Context(), o)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) }()
	}
	m := turn(1)
	m.Data = []byte("s/1")
	_, err = b.JS.PublishMsg(t.Context(), m)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return totalOf(c.deadLetters, "groups") == 1 }, time.Minute, 5*time.Millisecond)
	letters := lettersOf(t, b, Selection{})
	require.Len(t, letters, 1)
	queue, err := OpenDeadLetters(t.Context(), b.JS, l)
	require.NoError(t, err)
	require.NoError(t, queue.Replay(t.Context(), letters[0]))
	require.Eventually(t, func() bool {
		_, times := sessions.count()
		return times == 2 && totalOf(c.deadLetters, "groups") == 2
	}, time.Minute, 5*time.Millisecond)
	events, _ := sessions.count()
	require.Equal(t, 1, events, "it is the same event")
	require.Equal(t, []string{"1", "1"}, []string{<-groups, <-groups}, "with its first id")
}

// A backlog beyond the bound on held events is applied without rests, in large
// writes, also while one of the writes is slow.
func TestSessionsDoNotRestWithFullBacklog(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	const sessions, events = 20, 3 * heldEvents
	var group []*nats.Msg
	for i := range events {
		group = append(group, &nats.Msg{Subject: "openclaw.event.agent_end.main.s", Data: fmt.Appendf(nil, "s%d/%d", i%sessions, i), Header: nats.Header{}})
		if len(group) == 512 {
			ack, err := batch.Publish(t.Context(), b.NC, group)
			require.NoError(t, err)
			require.Nil(t, ack.Error)
			group = group[:0]
		}
	}
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, events, info.State.Msgs)
	var applied, writes atomic.Int64
	slow := make(chan struct{})
	s, err := StartSink(t.Context(), SinkOptions[string]{
		Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: newMetrics(), Log: quiet, rest: func(time.Duration) time.Duration { return 24 * time.Hour },
		Handler: Handler[string]{Decode: decodeText, Apply: func(_ context.Context, facts []string) error {
			if strings.HasPrefix(facts[0], "s0/") {
				<-slow
			}
			applied.Add(int64(len(facts)))
			writes.Add(1)
			return nil
		}},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return applied.Load() > events-heldEvents-events/sessions }, time.Minute, time.Millisecond)
	close(slow)
	require.NoError(t, s.Stop(t.Context()))
	require.Less(t, writes.Load(), int64(events/10), "events of a session are applied together")
}
