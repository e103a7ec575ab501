package batch_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/batch"
	"intenthint/internal/natstest"
)

func messages(n, size int) []*nats.Msg {
	out := make([]*nats.Msg, n)
	for i := range out {
		out[i] = nats.NewMsg(fmt.Sprint("s.", i))
		out[i].Data = make([]byte, size)
	}
	return out
}

func TestPublish(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, &server.Options{JetStream: true, MaxPayload: 4 << 10}))
	group := messages(3, 10)
	_, err := batch.Publish(t.Context(), js.Conn(), group)
	require.ErrorIs(t, err, batch.ErrNotSent, "there is no stream")
	require.ErrorIs(t, err, nats.ErrNoResponders)

	stream, err := batch.CreateStream(t.Context(), js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}})
	require.NoError(t, err)
	_, err = batch.CreateStream(t.Context(), js, jetstream.StreamConfig{Name: "S", Subjects: []string{"other"}})
	require.ErrorIs(t, err, jetstream.ErrStreamNameAlreadyInUse)
	for _, large := range []int{0, 2} { // the first message, and the last
		group := messages(3, 10)
		group[large].Data = make([]byte, 4<<10)
		_, err = batch.Publish(t.Context(), js.Conn(), group)
		require.ErrorIs(t, err, batch.ErrNotSent, "message %d", large)
	}

	ack, err := batch.Publish(t.Context(), js.Conn(), group)
	require.NoError(t, err)
	require.Nil(t, ack.Error)
	require.NotEmpty(t, ack.ID)
	require.Equal(t, 3, ack.Count)
	require.EqualValues(t, 3, ack.Sequence)
	for _, m := range group {
		require.Empty(t, m.Header, "headers are restored")
	}
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, info.State.Msgs, "and nothing of the batches that were not sent")

	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PLAIN", Subjects: []string{"plain.*"}})
	require.NoError(t, err)
	for i, m := range group {
		m.Subject = fmt.Sprint("plain.", i)
	}
	ack, err = batch.Publish(t.Context(), js.Conn(), group)
	require.NoError(t, err)
	require.Equal(t, batch.CodeDisabled, ack.Error.ErrorCode)
}

// An answer that cannot be read leaves open what was stored.
func TestPublishOfAStrangeAnswer(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	other := natstest.JetStream(t, ns).Conn()
	_, err := other.Subscribe("s.2", func(m *nats.Msg) { _ = m.Respond([]byte("oops")) })
	require.NoError(t, err)
	require.NoError(t, other.Flush())
	_, err = batch.Publish(t.Context(), natstest.JetStream(t, ns).Conn(), messages(3, 10))
	require.ErrorContains(t, err, "decoding answer to batch")
	require.NotErrorIs(t, err, batch.ErrNotSent)
}
