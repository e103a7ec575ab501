package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
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

func TestEventsAreAppliedInGroupsAndAcknowledged(t *testing.T) {
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

func TestDeadLetterOfAnUnknownHookHasTheAbsentToken(t *testing.T) {
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

func TestSlowEventsOfADurableWithLittleTimeAreNotGivenAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the seconds of a slow store")
	}
	b := openTest(t)
	stream := provisionTest(t, b)
	cfg := consumerOf(t, b).CachedInfo().Config
	cfg.AckWait = time.Second
	_, err := stream.UpdateConsumer(t.Context(), cfg)
	require.NoError(t, err)
	// Another durable of the same time shows when the server would give an
	// event away.
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

func TestWhatPanicsWhenItIsDecodedIsADeadLetter(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	startTest(t, b.JS, c, Handler[string]{
		Decode: func(string, string, []byte) (Event[string], error) { panic("no code was ready for it") },
		Apply:  func(context.Context, []string) error { return nil },
	})
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "panic: no code was ready for it", lettersOf(t, b, Selection{})[0].Reason)
}

func TestALoopThatIsStuckIsNotHealthy(t *testing.T) {
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
	e.pulse.beat(time.Now().Add(-stuckTime)) // as if it had taken so long
	require.ErrorContains(t, e.Check(t.Context()), "event loop stuck for 30s")
	close(goOn)
	require.Eventually(t, func() bool { return e.Check(t.Context()) == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, e.Stop(t.Context()))
	require.Zero(t, e.pulse.last.Load(), "what has ended is not stuck")
}

func TestDeadLettersThatCannotBeKeptDelayNobody(t *testing.T) {
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
	startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	require.Eventually(t, func() bool { return total(c.applied) == 1 }, time.Minute, time.Millisecond)
	require.Less(t, total(c.deadLetters), ill/2, "it did not wait for them")
	// The stream is made again, and then they are kept.
	require.Eventually(t, func() bool { return total(c.deadLetters) == ill }, time.Minute, 5*time.Millisecond)
	require.Len(t, lettersOf(t, b, Selection{}), ill)
}

func TestAPoisonedEventDelaysNobodyAndAloneIsADeadLetter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the seconds of five growing pauses")
	}
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
	// They wait in the stream before anybody reads it, so they come together.
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
	)
	startTest(t, b.JS, c, Handler[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, facts []string) error {
			if slices.Contains(facts, "ill/poison") {
				shared.CompareAndSwap(false, len(facts) > 1)
				return fail()
			}
			return nil
		},
	})
	require.Eventually(t, func() bool { return total(c.applied) == 40 }, time.Minute, 5*time.Millisecond)
	require.True(t, shared.Load(), "the poison had company")
	require.Zero(t, total(c.redeliveries), "the others did not wait for another delivery")
	require.Zero(t, total(c.deadLetters))
	require.Eventually(t, func() bool { return total(c.deadLetters) == 1 }, time.Minute, 50*time.Millisecond)
	m, err := lettersStream(t, b).GetLastMsgForSubject(t.Context(), "openclaw.dlq.after_tool_call")
	require.NoError(t, err)
	require.Contains(t, m.Header.Get(subjects.HeaderDLQReason), "is a directory")
	require.Equal(t, "ill/poison", string(m.Data))
	require.Equal(t, 40, total(c.applied))
}

// passing is an error of a store that may be well again when it is checked.
type passing struct{ error }

func (passing) Temporary() bool { return true }

func TestAFaultOfTheStoreLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		fault error
		check bool
	}{
		"that is still there when it is looked for": {errors.New("no space left on device"), true},
		"that is over when it is looked for":        {passing{errors.New("no space left on device")}, false},
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

func TestADurableThatIsDeletedIsMadeAgain(t *testing.T) {
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

// Whoever made the streams and the durable may be another user.
func TestAUserWithJustEnoughRightsAppliesEvents(t *testing.T) {
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
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
	require.NoError(t, err)
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	require.True(t, ns.ReadyForConnections(10*time.Second))
	as := func(user string) jetstream.JetStream {
		nc, err := nats.Connect(ns.ClientURL(), nats.UserInfo(user, "p"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		return js
	}
	operator := as("operator")
	_, err = bus.Provision(t.Context(), operator, testLayout())
	require.NoError(t, err)
	c := newMetrics()
	began := time.Now()
	ev := startTest(t, as("least"), c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	require.Less(t, time.Since(began), 4900*time.Millisecond, "nobody waits for what is denied")
	_, err = operator.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return total(c.applied) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
}
