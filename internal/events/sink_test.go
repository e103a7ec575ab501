package events

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/subjects"
)

func decodeText(_, _ string, data []byte) (Event[string], error) {
	text := string(data)
	switch {
	case strings.HasPrefix(text, "garbage"):
		return Event[string]{}, errors.New("message is not valid JSON:\nline two")
	case text == "ignored":
		return Event[string]{Hook: "llm_output"}, nil
	}
	session, _, _ := strings.Cut(text, "/")
	return Event[string]{Session: session, Fact: text, Hook: "after_tool_call"}, nil
}

func TestSinkAppliesEventsBySession(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	var (
		mu  sync.Mutex
		got = map[string]int{}
		c   = newMetrics()
	)
	ev := startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, facts []string) error {
			mu.Lock()
			defer mu.Unlock()
			session, _, _ := strings.Cut(facts[0], "/")
			for _, f := range facts {
				if !strings.HasPrefix(f, session+"/") {
					return fmt.Errorf("facts of two sessions in one call: %q", facts)
				}
				got[f]++
			}
			return nil
		},
	})
	for i := range 300 {
		_, err := b.JS.PublishAsync("openclaw.event.after_tool_call.main.s", fmt.Appendf(nil, "s%d/%d", i%7, i))
		require.NoError(t, err)
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.llm_output.main.s", []byte("ignored"))
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.applied) == 300 && total(c.ignored) == 1 && total(c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
	require.Len(t, got, 300)
	require.NoError(t, b.NC.Flush())
	require.Eventually(t, func() bool {
		info, err := consumerOf(t, b).Info(t.Context())
		return err == nil && info.NumAckPending == 0 && info.NumPending == 0
	}, time.Minute, 5*time.Millisecond)

	letters := lettersOf(t, b, Selection{})
	require.Len(t, letters, 1)
	require.Equal(t, "agent_end", letters[0].Hook)
	require.Equal(t, "message is not valid JSON: line two", letters[0].Reason)
	require.Equal(t, "openclaw.event.agent_end.main.s", letters[0].Subject)
	require.Equal(t, "garbage", string(letters[0].Body))
}

func TestDeadLetterOfUnknownHook(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	_, err := b.JS.Publish(t.Context(), "openclaw.event.=zz.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	m, err := lettersStream(t, b).GetLastMsgForSubject(t.Context(), "openclaw.dlq._")
	require.NoError(t, err)
	require.Equal(t, "garbage", string(m.Data))
}

// The headers of a dead letter may make it larger than the server allows, or its
// stream.
func TestLargeDeadLetter(t *testing.T) {
	t.Parallel()
	const most = 8192
	server := natstest.Start(t, &server.Options{JetStream: true, MaxPayload: most})
	for _, row := range []struct {
		name          string
		spare         int   // what the event leaves of max_payload
		most          int32 // of the dead-letter stream
		letters, lost int
		reason        string
	}{
		{"room for all headers", 1000, -1, 1, 0, "message is not valid JSON: line two"},
		{"room for some", 150, -1, 1, 0, ""},
		{"room for none", 10, -1, 0, 1, ""},
		{"beyond the stream", 1000, 1000, 0, 1, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, c := testLayout(), newMetrics()
			l.Stream = strings.ToUpper(strings.ReplaceAll(row.name, " ", "_"))
			l.Prefix = subjects.Prefix(strings.ReplaceAll(row.name, " ", ""))
			l.QueueGroup = "q"
			js := natstest.JetStream(t, server)
			_, err := bus.Provision(t.Context(), js, l)
			require.NoError(t, err)
			stream, err := js.Stream(t.Context(), l.DeadLetterStream())
			require.NoError(t, err)
			config := stream.CachedInfo().Config
			config.MaxMsgSize = row.most
			_, err = js.UpdateStream(t.Context(), config)
			require.NoError(t, err)
			s, err := StartSink(t.Context(), SinkOptions[string]{Name: "sessions", JS: js, Layout: l, Metrics: c, Log: quiet, Handler: Handler[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { return nil },
			}})
			require.NoError(t, err)
			_, err = js.Publish(t.Context(), string(l.Prefix)+".event.agent_end.main.s", []byte("garbage"+strings.Repeat(" ", most-row.spare-len("garbage"))))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return total(c.deadLetters)+total(c.tooLarge) == 1 }, time.Minute, 5*time.Millisecond)
			require.Equal(t, []int{row.letters, row.lost}, []int{total(c.deadLetters), total(c.tooLarge)})
			require.NoError(t, s.Stop(t.Context()))
			queue, err := OpenDeadLetters(t.Context(), js, l)
			require.NoError(t, err)
			n := 0
			require.NoError(t, queue.Each(t.Context(), Selection{}, func(letter DeadLetter) bool {
				n++
				require.Equal(t, row.reason, letter.Reason)
				require.NoError(t, queue.Replay(t.Context(), letter))
				return true
			}))
			require.Equal(t, row.letters, n)
			require.Eventually(t, func() bool {
				durable, err := js.Consumer(t.Context(), l.Stream, "q")
				return err == nil && durable.CachedInfo().NumAckPending == 0
			}, time.Minute, 5*time.Millisecond, "it does not come again")
		})
	}
}

func TestSlowEventsAreNotRedelivered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the seconds of a slow store")
	}
	b := openTest(t)
	stream := provisionTest(t, b)
	cfg := consumerOf(t, b).CachedInfo().Config
	cfg.AckWait = time.Second
	_, err := stream.UpdateConsumer(t.Context(), cfg)
	require.NoError(t, err)
	// A second durable with the same AckWait shows when the server redelivers.
	control, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second})
	require.NoError(t, err)
	c := newMetrics()
	applying, goOn := make(chan struct{}), make(chan struct{})
	ev := startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply: func(context.Context, []string) error {
			close(applying)
			<-goOn
			return nil
		},
	})
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/slow"))
	require.NoError(t, err)
	<-applying
	for delivery := range 3 {
		m, err := control.Next(jetstream.FetchMaxWait(time.Minute))
		require.NoError(t, err)
		require.EqualValues(t, delivery+1, delivered(m))
	}
	info, err := consumerOf(t, b).Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.NumRedelivered)
	require.EqualValues(t, 1, info.Delivered.Consumer)
	close(goOn)
	require.NoError(t, ev.Stop(t.Context()))
	require.Equal(t, 1, total(c.applied))
	require.Zero(t, total(c.redeliveries))
}

func TestPanicInDecodeMakesDeadLetter(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	startTest(t, b.JS, c, Handler[string]{
		Decode: func(string, string, []byte) (Event[string], error) { panic("unknown form") },
		Apply:  func(context.Context, []string) error { return nil },
	})
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "panic: unknown form", lettersOf(t, b, Selection{})[0].Reason)
}

func TestStuckLoopFailsCheck(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	decoding, goOn := make(chan struct{}), make(chan struct{})
	c := newMetrics()
	e := startTest(t, b.JS, c, Handler[string]{
		Decode: func(string, string, []byte) (Event[string], error) {
			close(decoding)
			<-goOn
			return Event[string]{}, nil
		},
		Apply: func(context.Context, []string) error { return nil },
	})
	require.NoError(t, e.Check(t.Context()))
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	<-decoding
	e.round.Store(time.Now().Add(-stuckTime).UnixNano()) // as if the round had begun then
	require.ErrorContains(t, e.Check(t.Context()), "event loop stuck for 30s")
	close(goOn)
	require.Eventually(t, func() bool { return e.Check(t.Context()) == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, e.Stop(t.Context()))
	require.Zero(t, e.round.Load(), "an ended loop is not stuck")
}

func TestFailingDeadLettersDoNotDelayEvents(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	require.NoError(t, b.JS.DeleteStream(t.Context(), testLayout().DeadLetterStream()))
	const ill = 2 * bus.PullMessages
	for range ill {
		_, err := b.JS.PublishAsync("openclaw.event.agent_end.main.s", []byte("garbage"))
		require.NoError(t, err)
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/well"))
	require.NoError(t, err)
	c := newMetrics()
	applied := make(chan int, 1) // the dead letters before it
	_, err = StartSink(t.Context(), SinkOptions[string]{
		Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: c, Log: quiet,
		Handler: Handler[string]{
			Decode: decodeText,
			Apply:  func(context.Context, []string) error { applied <- total(c.deadLetters); return nil },
		},
		Pause: func(uint64) time.Duration { return 50 * time.Millisecond },
	})
	require.NoError(t, err)
	require.Less(t, <-applied, ill/2, "the event waited for dead letters")
	// They are stored once the stream is recreated, some at a time: those that are left
	// come back after up to [longestPause].
	for stored := total(c.deadLetters); stored < ill; stored = total(c.deadLetters) {
		require.Eventually(t, func() bool { return total(c.deadLetters) > stored }, 4*longestPause, 5*time.Millisecond, "%d of %d stored", stored, ill)
	}
	require.Len(t, lettersOf(t, b, Selection{}), ill)
}

func TestPoisonedEventAloneBecomesDeadLetter(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"fails":  func() error { return errors.New("is a directory") },
		"panics": func() error { panic("is a directory") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPoison(t, fail)
		})
	}
}

func testPoison(t *testing.T, fail func() error) {
	t.Helper()
	b := openTest(t)
	provisionTest(t, b)
	// All are in the stream before it is read, so they are applied together.
	for i := range 20 {
		for _, session := range []string{"ill", "well"} {
			_, err := b.JS.PublishAsync("openclaw.event.after_tool_call.main.s", fmt.Appendf(nil, "%s/%d", session, i))
			require.NoError(t, err)
		}
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("ill/poison"))
	require.NoError(t, err)
	var (
		c      = newMetrics()
		shared atomic.Bool
		alone  atomic.Int32
	)
	_, err = StartSink(t.Context(), SinkOptions[string]{
		Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: c, Log: quiet,
		Handler: Handler[string]{
			Decode: decodeText,
			Apply: func(_ context.Context, facts []string) error {
				switch {
				case !slices.Contains(facts, "ill/poison"):
					return nil
				case len(facts) == 1:
					alone.Add(1)
				default:
					shared.Store(true)
				}
				return fail()
			},
		},
		Pause: func(uint64) time.Duration { return 10 * time.Millisecond },
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.deadLetters) == 1 && total(c.applied) == 40 }, time.Minute, 5*time.Millisecond)
	require.True(t, shared.Load(), "the poisoned event was alone from the start")
	require.EqualValues(t, maxAttempts, alone.Load())
	require.Equal(t, maxAttempts-1, total(c.redeliveries), "other events were redelivered")
	m, err := lettersStream(t, b).GetLastMsgForSubject(t.Context(), "openclaw.dlq.after_tool_call")
	require.NoError(t, err)
	require.Contains(t, m.Header.Get(subjects.HeaderDLQReason), "is a directory")
	require.Equal(t, "ill/poison", string(m.Data))
	require.Equal(t, 40, total(c.applied))
}

func TestRetryPausesGrow(t *testing.T) {
	t.Parallel()
	for tries, want := range map[uint64]time.Duration{
		0: 500 * time.Millisecond, 1: 500 * time.Millisecond, 2: time.Second, 4: 4 * time.Second, 6: 16 * time.Second, 7: 30 * time.Second, 1 << 40: 30 * time.Second,
	} {
		require.Equal(t, want, retryPause(tries), tries)
	}
}

// passing is a temporary error of a store that has recovered when it is checked.
type passing struct{ error }

func (passing) Temporary() bool { return true }

func (p passing) Unwrap() error { return p.error }

func TestStoreFailureLosesNoEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault error
		check bool
	}{
		"present when checked": {errors.New("no space left on device"), true},
		"over when checked":    {passing{errors.New("no space left on device")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := openTest(t)
			provisionTest(t, b)
			var (
				c    = newMetrics()
				mu   sync.Mutex
				full = tc.fault
			)
			fault := func() error { mu.Lock(); defer mu.Unlock(); return full }
			ev := startTest(t, b.JS, c, Handler[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { return fault() },
				Check: func(context.Context) error {
					if tc.check {
						return fault()
					}
					return nil
				},
			})
			_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return ev.Check(t.Context()) != nil }, time.Minute, 5*time.Millisecond)
			require.ErrorContains(t, ev.Check(t.Context()), "no space left")
			mu.Lock()
			full = nil
			mu.Unlock()
			require.Eventually(t, func() bool { return total(c.applied) == 1 }, time.Minute, 5*time.Millisecond)
			require.NoError(t, ev.Check(t.Context()))
			require.Zero(t, total(c.deadLetters))
		})
	}
}

// Deliveries while nothing can be applied are not failures of the event.
func TestOutageLeavesAllTries(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	const outage = 2 // its pauses are real: 1.5 s
	var (
		c      = newMetrics()
		calls  atomic.Int32
		full   = errors.New("no space left on device")
		absent = func() bool { return calls.Load() <= outage }
	)
	_, err := StartSink(t.Context(), SinkOptions[string]{
		Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: c, Log: quiet,
		Handler: Handler[string]{
			Decode: decodeText,
			Apply: func(context.Context, []string) error {
				switch n := calls.Add(1); {
				case absent():
					return full
				case n < outage+maxAttempts:
					return errors.New("is a directory")
				}
				return nil
			},
			Check: func(context.Context) error {
				if absent() {
					return full
				}
				return nil
			},
		},
		Pause: func(uint64) time.Duration { return time.Millisecond },
	})
	require.NoError(t, err)
	publishTexts(t, b, "s/1")
	require.Eventually(t, func() bool { return total(c.applied)+total(c.deadLetters) > 0 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, 1, total(c.applied))
	require.EqualValues(t, outage+maxAttempts, calls.Load())
}

// failing is a message that was delivered a number of times.
type failing struct {
	jetstream.Msg
	meta jetstream.MsgMetadata
}

func (m failing) Metadata() (*jetstream.MsgMetadata, error) { return &m.meta, nil }

func failingAt(sequence, delivered uint64) failing {
	return failing{meta: jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: sequence}, NumDelivered: delivered}}
}

func TestTries(t *testing.T) {
	t.Parallel()
	var n tries
	require.EqualValues(t, 1, n.failed(failingAt(1, 1)))
	require.EqualValues(t, 2, n.failed(failingAt(1, 9)), "returned meanwhile without a failure")
	require.EqualValues(t, 1, n.failed(failingAt(2, 1)), "another event")
	n.forget(failingAt(1, 9))
	require.EqualValues(t, 1, n.failed(failingAt(1, 9)), "applied, and then another of this number")
	require.EqualValues(t, maxAttempts, n.failed(failingAt(3, maxAttempts*deliveriesATry)), "failed in other processes")
	n.forgetAll()
	require.EqualValues(t, 1, n.failed(failingAt(2, 2)), "a new stream counts from 1 again")
}

// The memory of what failed is bounded: beyond it events are tried more often, but
// not for ever.
func TestTriesOfManyEvents(t *testing.T) {
	t.Parallel()
	var n tries
	for at := uint64(1); at <= 2*heldEvents; at++ {
		n.failed(failingAt(at, 1))
	}
	require.Len(t, n.by, heldEvents)
	require.EqualValues(t, 1, n.failed(failingAt(3*heldEvents, 6)), "one that waited for others")
	require.EqualValues(t, maxAttempts, n.failed(failingAt(4*heldEvents, maxAttempts*deliveriesATry)))
}

// A fault that events have shown ends without another event, but not while it may
// show again.
func TestFaultEndsWithoutAnEvent(t *testing.T) {
	t.Parallel()
	var down error
	s := Sink[string]{o: SinkOptions[string]{Log: quiet, Handler: Handler[string]{Check: func(context.Context) error { return down }}}}
	for name, tt := range map[string]struct {
		age  time.Duration
		down error
		pull bool
		ends bool
	}{
		"over":                          {age: 3 * longestPause, ends: true},
		"not over":                      {age: 3 * longestPause, down: errors.New("no space left on device")},
		"an event may show it again":    {age: longestPause + time.Second},
		"events cannot even be fetched": {age: 3 * longestPause, pull: true},
	} {
		down = tt.down
		s.fault.Store(&fault{reason: errors.New(name), at: time.Now().Add(-tt.age), tried: !tt.pull})
		s.lookAgain(t.Context())
		require.Equal(t, tt.ends, s.Check(t.Context()) == nil, name)
	}
}

// A health check is for everybody: it shows no names of sessions.
func TestFaultNamesNoSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a file":          {fmt.Errorf("applying to session x: %w", &fs.PathError{Op: "write", Path: "/data/sessions/x.json", Err: syscall.ENOSPC}), "no space left on device"},
		"a bucket":        {passing{fmt.Errorf("key x: %w", context.DeadlineExceeded)}, "context deadline exceeded"},
		"several at once": {errors.Join(fmt.Errorf("x: %w", syscall.EIO), errors.New("x")), "input/output error"},
	} {
		var s Sink[string]
		s.o.Log = quiet
		s.wait(nil, tt.err)
		require.EqualError(t, s.Check(t.Context()), "events cannot be applied: "+tt.want, name)
	}
}

func TestDeletedDurableIsRecreated(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	ev := startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	for _, remove := range []func() error{
		func() error { return b.JS.DeleteConsumer(t.Context(), testLayout().Stream, testLayout().QueueGroup) },
		func() error { return b.JS.DeleteStream(t.Context(), testLayout().Stream) },
	} {
		before := total(c.applied)
		require.NoError(t, remove())
		require.Eventually(t, func() bool {
			_, err := b.JS.Consumer(t.Context(), testLayout().Stream, testLayout().QueueGroup)
			return err == nil
		}, time.Minute, 20*time.Millisecond)
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return total(c.applied) > before }, time.Minute, 5*time.Millisecond)
	}
	require.NoError(t, ev.Stop(t.Context()))
}

// Another user may have created the streams and the durable.
func TestSinkWithMinimalPermissions(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{
		JetStream: true,
		Users: []*server.User{
			{Username: "operator", Password: "p"},
			{Username: "least", Password: "p", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: []string{
					"$JS.API.CONSUMER.INFO.OPENCLAW_EVENTS.intent-hint", "$JS.API.CONSUMER.MSG.NEXT.OPENCLAW_EVENTS.intent-hint", "$JS.ACK.>", "openclaw.dlq.>",
				}},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			}},
		},
	})
	as := func(user string) jetstream.JetStream { return natstest.JetStream(t, ns, nats.UserInfo(user, "p")) }
	operator := as("operator")
	_, err := bus.Provision(t.Context(), operator, testLayout())
	require.NoError(t, err)
	c := newMetrics()
	least := as("least")
	least, err = jetstream.New(least.Conn(), jetstream.WithDefaultTimeout(time.Minute)) // of a call that is not answered
	require.NoError(t, err)
	began := time.Now()
	ev := startTest(t, least, c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	require.Less(t, time.Since(began), 50*time.Second, "waited for a denied call")
	_, err = operator.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.applied) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
}
