package kv_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// meanwhile is a JetStream that calls a function, once, when the next page of a
// walk has been read.
type meanwhile struct {
	jetstream.JetStream
	then atomic.Pointer[func()]
}

func (m *meanwhile) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := m.JetStream.Stream(ctx, name)
	return &meanwhileStream{s, m}, err
}

type meanwhileStream struct {
	jetstream.Stream
	js *meanwhile
}

func (s *meanwhileStream) CreateConsumer(ctx context.Context, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	c, err := s.Stream.CreateConsumer(ctx, config)
	return &meanwhileConsumer{c, s.js}, err
}

type meanwhileConsumer struct {
	jetstream.Consumer
	js *meanwhile
}

// page is the messages of a fetch that has ended.
type page struct {
	jetstream.MessageBatch
	messages chan jetstream.Msg
}

func (p *page) Messages() <-chan jetstream.Msg { return p.messages }

func (c *meanwhileConsumer) Fetch(n int, opts ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	batch, err := c.Consumer.Fetch(n, opts...)
	if err != nil {
		return nil, err
	}
	p := &page{batch, make(chan jetstream.Msg, n)}
	for m := range batch.Messages() {
		p.messages <- m
	}
	close(p.messages)
	if then := c.js.then.Swap(nil); then != nil {
		(*then)()
	}
	return p, nil
}

// A session that is removed while a page of it is read, its chunks with it, is
// left out.
func TestSessionsPurgedWhileAPageIsRead(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 8<<10))
	opts := store.Options{HistoryLimit: 0}
	writer := open(t, js, opts)
	slow := &meanwhile{JetStream: js}
	log := &lockedBuffer{mu: new(sync.Mutex), b: new(bytes.Buffer)}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	s, err := kv.Open(t.Context(), slow, bucket("S"), opts)
	require.NoError(t, err)
	write := func() {
		t.Helper()
		for _, session := range []string{"gone", "kept"} {
			for n := range int64(4) { // each is several chunks, the last is the document
				apply(t, writer, long(session, n, 20_000)...)
			}
		}
	}
	remove := func() {
		_, err := writer.Remove(context.WithoutCancel(t.Context()), "gone")
		require.NoError(t, err)
	}
	for _, row := range []struct {
		name string
		read func(t *testing.T)
	}{
		{"retired turns", func(t *testing.T) {
			turns, err := s.Retired(t.Context(), "gone")
			require.NoError(t, err)
			require.LessOrEqual(t, len(turns), 1, "the turn that stood beside the document may have been read")
		}},
		{"the list", func(t *testing.T) {
			summaries, err := s.List(t.Context())
			require.NoError(t, err)
			require.Len(t, summaries, 1)
			require.Equal(t, "kept", summaries[0].Token)
		}},
		{"a fact about a time long ago", func(t *testing.T) {
			// It looks for the turn before, in an index of retired turns.
			late := storetest.Call("gone", "", 1500)
			require.NoError(t, s.Apply(t.Context(), []store.Fact{late}))
			_, err := s.Get(t.Context(), "gone")
			require.ErrorIs(t, err, store.ErrNotFound)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			write()
			called := false
			then := func() { called = true; remove() }
			slow.then.Store(&then)
			row.read(t)
			require.True(t, called)
			turns, err := s.Retired(t.Context(), "kept")
			require.NoError(t, err)
			require.Len(t, turns, 3)
			require.Empty(t, log.b.String(), "what is removed is not corrupt")
		})
	}
}
