package events

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/subjects"
)

func lettersOf(t *testing.T, b *bus.Bus, s Selection) []DeadLetter {
	t.Helper()
	queue, err := OpenDeadLetters(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	var out []DeadLetter
	require.NoError(t, queue.Each(t.Context(), s, func(d DeadLetter) bool { out = append(out, d); return true }))
	return out
}

// bury stores a dead letter directly.
func bury(t *testing.T, b *bus.Bus, hook, subject, msgID, body string) uint64 {
	t.Helper()
	l := testLayout()
	m := nats.NewMsg(l.Prefix.DeadLetter(hook))
	m.Data = []byte(body)
	m.Header.Set(subjects.HeaderDLQReason, "a reason")
	m.Header.Set(subjects.HeaderDLQSubject, subject)
	if msgID != "" {
		m.Header.Set(subjects.HeaderDLQMsgID, msgID)
	}
	ack, err := b.JS.PublishMsg(t.Context(), m)
	require.NoError(t, err)
	return ack.Sequence
}

func TestDeadLetterSelections(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	require.Empty(t, lettersOf(t, b, Selection{}), "a missing stream")
	provisionTest(t, b)
	require.Empty(t, lettersOf(t, b, Selection{}))
	for i, hook := range []string{"agent_end", "", "odd hook", "agent_end", "agent_end"} {
		bury(t, b, hook, "openclaw.event.x.main.s", "", strconv.Itoa(i))
	}
	letters, err := b.JS.Stream(t.Context(), testLayout().DeadLetterStream())
	require.NoError(t, err)
	require.NoError(t, letters.DeleteMsg(t.Context(), 4))
	hook := func(name string) Selection { return Selection{Hook: &name} }
	queue, err := OpenDeadLetters(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	for _, row := range []struct {
		name string
		s    Selection
		want []uint64
	}{
		{"all", Selection{}, []uint64{1, 2, 3, 5}},
		{"after one", Selection{After: 3}, []uint64{5}},
		{"after one, of a hook", Selection{After: 1, Hook: hook("agent_end").Hook}, []uint64{5}},
		{"after the last", Selection{After: 5}, nil},
		{"one hook", hook("agent_end"), []uint64{1, 5}},
		{"no hook", hook(""), []uint64{2}},
		{"a hook with a space", hook("odd hook"), []uint64{3}},
		{"a hook without letters", hook("session_end"), nil},
		{"sequences in any order", Selection{Sequences: []uint64{5, 1, 5}}, []uint64{1, 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []uint64
			for _, l := range lettersOf(t, b, row.s) {
				got = append(got, l.Sequence)
			}
			require.Equal(t, row.want, got)
			n, err := queue.Count(t.Context(), row.s)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, len(row.want))
		})
	}
	var got []uint64
	err = queue.Each(t.Context(), Selection{Sequences: []uint64{4, 5, 99}}, func(d DeadLetter) bool { got = append(got, d.Sequence); return true })
	require.ErrorIs(t, err, ErrNoDeadLetter)
	require.ErrorContains(t, err, "4")
	require.ErrorContains(t, err, "99")
	require.Equal(t, []uint64{5}, got, "missing letters do not stop the others")
}

func TestReplayedLetterIsSameEvent(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	stream := provisionTest(t, b)
	l := testLayout()
	publish := func(subject, msgID, body string) {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Data = []byte(body)
		if msgID != "" {
			m.Header.Set(subjects.HeaderMsgID, msgID)
		}
		m.Header.Set(subjects.HeaderTraceparent, "00-abc-def-01")
		_, err := b.JS.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	var (
		mu    sync.Mutex
		cause = "broken"
		ids   = map[string][]string{}
		c     = newMetrics()
	)
	ev := startTest(t, b.JS, c, Handler[string]{
		Decode: func(_, msgID string, data []byte) (Event[string], error) {
			mu.Lock()
			defer mu.Unlock()
			if cause != "" {
				return Event[string]{}, errors.New(cause)
			}
			ids[string(data)] = append(ids[string(data)], msgID)
			return Event[string]{Session: "s", Fact: string(data), Hook: "x"}, nil
		},
		Apply: func(context.Context, []string) error { return nil },
	})
	publish("openclaw.event.agent_end.main.s", "id-1", "one")
	publish("openclaw.event.session_end.main.s", "", "two")
	require.Eventually(t, func() bool { return total(c.deadLetters) == 2 }, time.Minute, 5*time.Millisecond)

	queue, err := OpenDeadLetters(t.Context(), b.JS, l)
	require.NoError(t, err)
	replayAll := func() (n int) {
		t.Helper()
		require.NoError(t, queue.Each(t.Context(), Selection{}, func(d DeadLetter) bool {
			require.NoError(t, queue.Replay(t.Context(), d))
			n++
			return true
		}))
		return n
	}
	// The replayed events fail again for another reason and keep their ids.
	mu.Lock()
	cause = "still broken"
	mu.Unlock()
	require.Equal(t, 2, replayAll(), "new letters are not part of the replay")
	require.Eventually(t, func() bool { return total(c.deadLetters) == 4 }, time.Minute, 5*time.Millisecond)
	letters := lettersOf(t, b, Selection{})
	require.Len(t, letters, 2)
	for _, d := range letters {
		require.Equal(t, "still broken", d.Reason)
		require.Equal(t, map[string]string{"one": "id-1", "two": ""}[string(d.Body)], d.MsgID)
		require.Equal(t, map[string]string{"one": "openclaw.event.agent_end.main.s", "two": "openclaw.event.session_end.main.s"}[string(d.Body)], d.Subject)
	}
	// The cause is fixed. Two concurrent replays and one of an outdated list.
	mu.Lock()
	cause = ""
	mu.Unlock()
	var replays sync.WaitGroup
	for range 2 {
		replays.Go(func() {
			for _, d := range letters {
				if err := queue.Replay(t.Context(), d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	replays.Wait()
	for _, d := range letters {
		require.NoError(t, queue.Replay(t.Context(), d))
	}
	require.Eventually(t, func() bool { return total(c.applied) == 2 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, ev.Stop(t.Context()))
	require.Equal(t, map[string][]string{"one": {"id-1"}, "two": {""}}, ids, "each once, with its first id")
	require.Empty(t, lettersOf(t, b, Selection{}))
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 6, info.State.Msgs, "two publications and two of each replay")
	m, err := stream.GetLastMsgForSubject(t.Context(), "openclaw.event.agent_end.main.s")
	require.NoError(t, err)
	require.Equal(t, "00-abc-def-01", m.Header.Get(subjects.HeaderTraceparent))
}

func TestLetterStaysUntilStored(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	l := testLayout()
	queue, err := OpenDeadLetters(t.Context(), b.JS, l)
	require.NoError(t, err)
	bury(t, b, "x", "openclaw.event.x.main.s", "i", "body")
	for _, subject := range []string{"", "openclaw.request.x.main", "openclaw.event.", "openclaw.event", "openclaw.events.x.y.z", "other.event.x.y.z", "openclaw.event.x y.main.s"} {
		bury(t, b, "x", subject, "i", "body")
	}
	letters := lettersOf(t, b, Selection{})
	require.Len(t, letters, 8)
	for _, d := range letters[1:] {
		require.ErrorIs(t, queue.Replay(t.Context(), d), ErrNotAnEvent, d.Subject)
	}
	// An acknowledgement of another stream on these subjects does not count.
	require.NoError(t, b.JS.DeleteStream(t.Context(), l.Stream))
	_, err = b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{l.Prefix.Events()}})
	require.NoError(t, err)
	require.Error(t, queue.Replay(t.Context(), letters[0]))
	require.Len(t, lettersOf(t, b, Selection{}), 8)

	require.NoError(t, queue.Remove(t.Context(), letters[0].Sequence))
	require.NoError(t, queue.Remove(t.Context(), letters[0].Sequence), "removed before")
	require.Len(t, lettersOf(t, b, Selection{}), 7)
}
