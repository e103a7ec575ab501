package bus

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/subjects"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	layout := Layout{Prefix: "openclaw", QueueGroup: "intent-hint", Stream: "OPENCLAW_EVENTS", MaxBytes: 1 << 20}
	_, err := Provision(t.Context(), js, layout)
	require.NoError(t, err)
	publish := func(hook, body string) {
		_, err := js.Publish(t.Context(), layout.Prefix.Event(hook, "main", "s"), []byte(body))
		require.NoError(t, err)
	}
	for i := range 40 {
		publish(subjects.HookAgentEnd, "other")
		publish(subjects.HookTurnBegun, strconv.Itoa(i))
	}
	errEnough := errors.New("enough")
	// follow returns the first events that are followed, and the sequence of the last.
	follow := func(from From, n int, each func()) (out []string, last uint64) {
		err := Follow(t.Context(), js, layout, subjects.HookTurnBegun, from, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
			out, last = append(out, string(m.Data())), meta.Sequence.Stream
			each()
			if len(out) == n {
				return errEnough
			}
			return nil
		})
		require.ErrorIs(t, err, errEnough)
		return out, last
	}
	nothing := func() {}

	first, at := follow(From{}, 30, nothing)
	require.Equal(t, "0", first[0])
	require.Equal(t, "29", first[29])

	next := 40
	rest, last := follow(From{After: at}, 20, func() { // more come while it reads
		publish(subjects.HookTurnBegun, strconv.Itoa(next))
		next++
	})
	for i, body := range rest {
		require.Equal(t, strconv.Itoa(30+i), body)
	}
	require.Equal(t, at+2*10+10, last)

	again, _ := follow(From{After: 1_000_000}, 1, nothing)
	require.Equal(t, []string{"0"}, again, "a sequence of another stream")

	t.Run("nothing more", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Follow(ctx, js, layout, subjects.HookTurnBegun, From{Since: time.Now().Add(time.Hour)}, func(jetstream.Msg, *jetstream.MsgMetadata) error { return errEnough })
		}()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
