package kv_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// refusing is a JetStream whose reads of pages fail, and whose writes of keys with a
// prefix.
type refusing struct {
	jetstream.JetStream
	pages bool
	keys  string // "" for none
}

func (r *refusing) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if r.keys != "" && strings.HasPrefix(m.Subject, "$KV.S."+r.keys) {
		return nil, errAway
	}
	return r.JetStream.PublishMsg(ctx, m, opts...)
}

func (r *refusing) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := r.JetStream.Stream(ctx, name)
	return &refusingStream{s, r}, err
}

type refusingStream struct {
	jetstream.Stream
	js *refusing
}

func (s *refusingStream) CreateConsumer(ctx context.Context, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	c, err := s.Stream.CreateConsumer(ctx, config)
	return &refusingConsumer{c, s.js}, err
}

type refusingConsumer struct {
	jetstream.Consumer
	js *refusing
}

func (c *refusingConsumer) Fetch(n int, opts ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	if c.js.pages {
		return nil, errAway
	}
	return c.Consumer.Fetch(n, opts...)
}

// What cannot be read is an error, and not an empty list; a removal that cannot note
// the runs it removes, or see what it has to remove, removes nothing.
func TestRefusedReadsAndNotes(t *testing.T) {
	t.Parallel()
	js := &refusing{JetStream: connect(t, newServer(t, 0))}
	open(t, js.JetStream, store.Options{}) // makes the bucket
	s, err := kv.Open(t.Context(), js, bucket("S"), store.Options{HistoryLimit: 0})
	require.NoError(t, err)
	for n := range int64(3) {
		apply(t, s, storetest.Begin("s", "r"+string(rune('0'+n)), n))
	}
	before := keys(t, js.JetStream)

	js.pages = true
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, errAway)
	_, err = s.Count(t.Context())
	require.ErrorIs(t, err, errAway)
	_, err = s.Retired(t.Context(), "s")
	require.ErrorIs(t, err, errAway)
	_, err = s.Remove(t.Context(), "s")
	require.ErrorIs(t, err, errAway)
	js.pages, js.keys = false, "_.removed."
	_, err = s.Remove(t.Context(), "s")
	require.ErrorIs(t, err, errAway)
	require.Equal(t, before, keys(t, js.JetStream), "nothing was removed")
	js.keys = ""
	removed, err := s.Remove(t.Context(), "s")
	require.NoError(t, err)
	require.NotEmpty(t, removed)
	_, err = s.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}
