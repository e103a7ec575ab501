package events

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

// slowTest starts a sink that applies one event at a time, like that of another
// process.
func slowTest(t *testing.T, b *bus.Bus, m *Metrics, apply func(ctx context.Context, facts []string) error) *Sink[string] {
	t.Helper()
	s, err := StartSink(t.Context(), SinkOptions[string]{
		Name: "sessions", JS: b.JS, Layout: testLayout(), Metrics: m, Log: quiet, Appliers: 1,
		Handler: Handler[string]{Decode: decodeText, Apply: apply},
		Pause:   func(uint64) time.Duration { return 10 * time.Millisecond },
	})
	require.NoError(t, err)
	return s
}

func publishTexts(t *testing.T, b *bus.Bus, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte(text))
		require.NoError(t, err)
	}
}

// Events that take longer than the server's patience come once, and a process has
// no more of them than it works on.
func TestSlowSinkHoldsWhatItAppliesOnly(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	const patience = 2 * time.Second // a busy machine is late by half of it
	require.NoError(t, stream.DeleteConsumer(t.Context(), testLayout().QueueGroup))
	_, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: testLayout().QueueGroup, AckPolicy: jetstream.AckExplicitPolicy, AckWait: patience, MaxDeliver: -1,
	})
	require.NoError(t, err)
	var (
		c        = newMetrics()
		working  atomic.Int32
		free     = make(chan struct{})
		applying = func(ctx context.Context, facts []string) error {
			if len(facts) != 1 {
				return fmt.Errorf("%d events at once", len(facts))
			}
			working.Add(1)
			select {
			case <-free:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	)
	for range 2 {
		s := slowTest(t, b, c, applying)
		defer func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) }()
	}
	publishTexts(t, b, "a/1", "a/2", "a/3", "b/4", "c/5", "ignored")
	require.Eventually(t, func() bool { return working.Load() == 2 }, time.Minute, time.Millisecond)
	for until := time.Now().Add(3 * patience); time.Now().Before(until); time.Sleep(patience / 10) {
		info, err := consumerOf(t, b).Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{2, 0}, []int{info.NumAckPending, info.NumRedelivered})
		require.EqualValues(t, 4, info.NumPending)
	}
	require.EqualValues(t, 2, working.Load())
	close(free)
	require.Eventually(t, func() bool { return total(c.applied) == 5 && total(c.ignored) == 1 }, time.Minute, 5*time.Millisecond)
	require.Zero(t, total(c.redeliveries))
}

// A stop does not wait for a slow event, which another process begins at once. It is
// not the event's fault, however often that happens.
func TestStopEndsSlowEvent(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	publishTexts(t, b, "a/1")
	for range maxAttempts + 1 {
		began := make(chan struct{})
		s := slowTest(t, b, c, func(ctx context.Context, _ []string) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
		select {
		case <-began:
		case <-time.After(bus.AckWait * 9 / 10):
			require.Fail(t, "the event did not come at once")
		}
		require.NoError(t, s.Stop(t.Context()))
		require.NoError(t, s.Check(t.Context()))
	}
	s := slowTest(t, b, c, func(context.Context, []string) error { return nil })
	require.Eventually(t, func() bool { return total(c.applied) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, s.Stop(t.Context()))
	require.Zero(t, total(c.deadLetters))
}

func TestSlowEventThatFailsLetsOthersPass(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	c := newMetrics()
	publishTexts(t, b, "a/poison", "a/panic", "a/1", "b/2")
	tries := map[string]int{}
	s := slowTest(t, b, c, func(_ context.Context, facts []string) error {
		tries[facts[0]]++ // one at a time
		switch facts[0] {
		case "a/poison":
			return errors.New("no answer")
		case "a/panic":
			panic("boom")
		}
		return nil
	})
	require.Eventually(t, func() bool { return total(c.applied) == 2 && total(c.deadLetters) == 2 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, s.Stop(t.Context()))
	require.Equal(t, map[string]int{"a/poison": maxAttempts, "a/panic": maxAttempts, "a/1": 1, "b/2": 1}, tries)
}
