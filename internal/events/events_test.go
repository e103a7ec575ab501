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

// counts is an observer of events.
type counts struct {
	mu                                         sync.Mutex
	applied, ignored, redelivered, deadLetters int
	retried                                    int
}

func (c *counts) add(p *int, n int) { c.mu.Lock(); *p += n; c.mu.Unlock() }

func (c *counts) EventApplied(string) { c.add(&c.applied, 1) }
func (c *counts) EventIgnored(string) { c.add(&c.ignored, 1) }
func (c *counts) Redelivery(string)   { c.add(&c.redelivered, 1) }
func (c *counts) DeadLetter(string)   { c.add(&c.deadLetters, 1) }
func (c *counts) Lag(uint64, int)     {}
func (c *counts) PublishRetry()       { c.add(&c.retried, 1) }

func (c *counts) get(p *int) int { c.mu.Lock(); defer c.mu.Unlock(); return *p }

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
	p := provisionTest(t, b)
	var (
		mu  sync.Mutex
		got = map[string]int{}
		c   counts
	)
	ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
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
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	for i := range 300 {
		_, err := b.JS.PublishAsync("openclaw.event.after_tool_call.main.s", fmt.Appendf(nil, "s%d/%d", i%7, i))
		require.NoError(t, err)
	}
	_, err = b.JS.Publish(t.Context(), "openclaw.event.llm_output.main.s", []byte("ignored"))
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 300 && c.get(&c.ignored) == 1 && c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
	require.Len(t, got, 300)
	require.NoError(t, b.NC.Flush())
	require.Eventually(t, func() bool {
		info, err := p.Durable.Info(t.Context())
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
	p := provisionTest(t, b)
	var c counts
	_, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.=zz.main.s", []byte("garbage"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	m, err := p.DeadLetters.GetLastMsgForSubject(t.Context(), "openclaw.dlq._")
	require.NoError(t, err)
	require.Equal(t, "garbage", string(m.Data))
}

func TestSlowEventsOfADurableWithLittleTimeAreNotGivenAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the seconds of a slow store")
	}
	b := openTest(t)
	p := provisionTest(t, b)
	cfg := p.Durable.CachedInfo().Config
	cfg.AckWait = time.Second
	_, err := p.Events.UpdateConsumer(t.Context(), cfg)
	require.NoError(t, err)
	var c counts
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply: func(context.Context, []string) error {
			time.Sleep(3 * time.Second)
			return nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/slow"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, 5*time.Millisecond)
	require.Zero(t, c.get(&c.redelivered))
}

func TestWhatPanicsWhenItIsDecodedIsADeadLetter(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	var c counts
	_, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: func(string, string, []byte) (Event[string], error) { panic("no code was ready for it") },
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, "panic: no code was ready for it", lettersOf(t, b, Selection{})[0].Reason)
}

func TestALoopThatIsStuckIsNotHealthy(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	decoding, goOn := make(chan struct{}), make(chan struct{})
	var c counts
	e, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: func(string, string, []byte) (Event[string], error) {
			close(decoding)
			<-goOn
			return Event[string]{}, nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.NoError(t, e.Check(t.Context()))
	_, err = b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("{}"))
	require.NoError(t, err)
	<-decoding
	e.pulse.beat(time.Now().Add(-stuckTime)) // as if it had taken so long
	require.ErrorContains(t, e.Check(t.Context()), "has been decoded for 30s")
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
	var c counts
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, time.Millisecond)
	require.Less(t, c.get(&c.deadLetters), ill/2, "it did not wait for them")
	// The stream is made again, and then they are kept.
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == ill }, time.Minute, 5*time.Millisecond)
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
	p := provisionTest(t, b)
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
		c      counts
		shared atomic.Bool
	)
	_, err = StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, facts []string) error {
			if slices.Contains(facts, "ill/poison") {
				shared.CompareAndSwap(false, len(facts) > 1)
				return fail()
			}
			return nil
		},
		Check: func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 40 }, time.Minute, 5*time.Millisecond)
	require.True(t, shared.Load(), "the poison had company")
	require.Zero(t, c.get(&c.redelivered), "the others did not wait for another delivery")
	require.Zero(t, c.get(&c.deadLetters))
	require.Eventually(t, func() bool { return c.get(&c.deadLetters) == 1 }, time.Minute, 50*time.Millisecond)
	m, err := p.DeadLetters.GetLastMsgForSubject(t.Context(), "openclaw.dlq.after_tool_call")
	require.NoError(t, err)
	require.Contains(t, m.Header.Get(subjects.HeaderDLQReason), "is a directory")
	require.Equal(t, "ill/poison", string(m.Data))
	require.Equal(t, 40, c.get(&c.applied))
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
				c    counts
				mu   sync.Mutex
				full = tc.fault
			)
			fault := func() error { mu.Lock(); defer mu.Unlock(); return full }
			ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
				Decode: decodeText,
				Apply:  func(context.Context, []string) error { return fault() },
				Check: func(context.Context) error {
					if tc.check {
						return fault()
					}
					return nil
				},
			}, &c, quiet)
			require.NoError(t, err)
			_, err = b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return ev.Check(t.Context()) != nil }, time.Minute, 5*time.Millisecond)
			require.ErrorContains(t, ev.Check(t.Context()), "no space left")
			mu.Lock()
			full = nil
			mu.Unlock()
			require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, 5*time.Millisecond)
			require.NoError(t, ev.Check(t.Context()))
			require.Zero(t, c.get(&c.deadLetters))
		})
	}
}

func TestADurableThatIsDeletedIsMadeAgain(t *testing.T) {
	b := openTest(t)
	provisionTest(t, b)
	var c counts
	ev, err := StartEvents(t.Context(), b.JS, testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	for _, remove := range []func() error{
		func() error { return b.JS.DeleteConsumer(t.Context(), testLayout().Stream, testLayout().QueueGroup) },
		func() error { return b.JS.DeleteStream(t.Context(), testLayout().Stream) },
	} {
		before := c.get(&c.applied)
		require.NoError(t, remove())
		require.Eventually(t, func() bool {
			_, err := b.JS.Consumer(t.Context(), testLayout().Stream, testLayout().QueueGroup)
			return err == nil
		}, time.Minute, 20*time.Millisecond)
		_, err = b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return c.get(&c.applied) > before }, time.Minute, 5*time.Millisecond)
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
	var c counts
	began := time.Now()
	ev, err := StartEvents(t.Context(), as("least"), testLayout(), EventFunctions[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
		Check:  func(context.Context) error { return nil },
	}, &c, quiet)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 4900*time.Millisecond, "nobody waits for what is denied")
	_, err = operator.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte("s/1"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.get(&c.applied) == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
}
