package events

import (
	"context"
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

// What the server refuses to delete is not reported as deleted.
func TestRefusedDeletesAreErrors(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	for _, name := range []string{testLayout().Stream, testLayout().DeadLetterStream()} {
		subject := testLayout().Prefix.Events()
		if name != testLayout().Stream {
			subject = testLayout().Prefix.DeadLetters()
		}
		_, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}, DenyDelete: true, AllowDirect: true})
		require.NoError(t, err)
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/1"))
	require.NoError(t, err)
	m := nats.NewMsg("openclaw.dlq.agent_end")
	m.Header.Set(subjects.HeaderDLQSubject, "openclaw.event.agent_end.main.s")
	_, err = b.JS.PublishMsg(t.Context(), m)
	require.NoError(t, err)
	trail := Trail{JS: b.JS, Layout: testLayout(), Session: "s", SessionOf: func(string, []byte) string { return "" }}
	n, last, err := trail.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ErrorContains(t, trail.Erase(t.Context(), last), "deleting from stream OPENCLAW_EVENTS")
	letters, err := OpenDeadLetters(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	sequences, err := trail.Letters(t.Context(), letters)
	require.NoError(t, err)
	require.Len(t, sequences, 1)
	require.Error(t, letters.Remove(t.Context(), sequences[0]))
	require.Len(t, lettersOf(t, b, Selection{}), 1)
}

// A durable that is gone and cannot be made again is a fault until it can.
func TestDurableThatCannotBeRecreatedFailsCheck(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "operator", Password: "p"},
		{Username: "consumer", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DURABLE.CREATE.>"}},
		}},
	}})
	operator := natstest.JetStream(t, ns, nats.UserInfo("operator", "p"))
	_, err := bus.Provision(t.Context(), operator, testLayout())
	require.NoError(t, err)
	c := newMetrics()
	s := startTest(t, natstest.JetStream(t, ns, nats.UserInfo("consumer", "p")), c, Handler[string]{
		Decode: decodeText,
		Apply:  func(context.Context, []string) error { return nil },
	})
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, operator.DeleteConsumer(t.Context(), testLayout().Stream, testLayout().QueueGroup))
	require.Eventually(t, func() bool { return s.Check(t.Context()) != nil }, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, s.Check(t.Context()), "events cannot be pulled")
	_, err = bus.Provision(t.Context(), operator, testLayout())
	require.NoError(t, err)
	_, err = operator.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/1"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.Check(t.Context()) == nil && total(c.applied) == 1 }, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, s.Stop(t.Context()))
}
