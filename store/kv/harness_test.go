package kv_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// newServer starts a server on a free port; a maxPayload of 0 is the default.
func newServer(t testing.TB, maxPayload int32) *server.Server {
	t.Helper()
	return natstest.Start(t, &server.Options{JetStream: true, MaxPayload: maxPayload})
}

// connect returns JetStream over a connection of its own.
func connect(t testing.TB, ns *server.Server) jetstream.JetStream {
	t.Helper()
	return natstest.JetStream(t, ns)
}

// bucket is the configuration of a bucket of tests.
func bucket(name string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: name, History: 1, Storage: jetstream.FileStorage}
}

func open(t testing.TB, js jetstream.JetStream, opts store.Options) *kv.Store {
	t.Helper()
	s, err := kv.Open(t.Context(), js, bucket("S"), opts)
	require.NoError(t, err)
	return s
}

func apply(t testing.TB, s store.Applier, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

func document(t testing.TB, s store.Reader, session string) string {
	t.Helper()
	raw, err := s.Get(t.Context(), session)
	require.NoError(t, err)
	return string(raw)
}

// keys returns all keys of the bucket, chunks included.
func keys(t testing.TB, js jetstream.JetStream) []string {
	t.Helper()
	s, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$KV.S.>"))
	require.NoError(t, err)
	out := []string{}
	for subject := range info.State.Subjects {
		out = append(out, strings.TrimPrefix(subject, "$KV.S."))
	}
	slices.Sort(out)
	return out
}

// archived returns the retired turns by run, without those that are back in the
// document.
func archived(t *testing.T, s interface {
	store.Reader
	Retired(ctx context.Context, session string) ([]json.RawMessage, error)
}, session string,
) map[string]string {
	t.Helper()
	turns, err := s.Retired(t.Context(), session)
	require.NoError(t, err)
	out := map[string]string{}
	for _, raw := range turns {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		out[turn.RunID] = string(raw)
	}
	doc := storetest.Show(t, s, session)
	for _, turn := range doc.History {
		delete(out, turn.RunID)
	}
	if doc.Current != nil {
		delete(out, doc.Current.RunID)
	}
	return out
}

// interrupted is a JetStream that calls functions before the first write and
// the first purge.
type interrupted struct {
	jetstream.JetStream
	before, beforePurge func()
	once, oncePurge     sync.Once
}

func (i *interrupted) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := i.JetStream.Stream(ctx, name)
	return &interruptedStream{s, i}, err
}

type interruptedStream struct {
	jetstream.Stream
	js *interrupted
}

func (s *interruptedStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	s.js.oncePurge.Do(s.js.beforePurge)
	return s.Stream.Purge(ctx, opts...)
}

func (i *interrupted) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	i.once.Do(i.before)
	return i.JetStream.PublishMsg(ctx, m, opts...)
}

// behind is a JetStream at a server that does not know a new stream yet.
type behind struct {
	jetstream.JetStream
	unknown int
}

func (b *behind) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if b.unknown > 0 {
		b.unknown--
		return nil, jetstream.ErrStreamNotFound
	}
	return b.JetStream.Stream(ctx, name)
}

// deleting is a JetStream whose server is still deleting a bucket's files.
type deleting struct {
	jetstream.JetStream
	left int
}

func (d *deleting) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if d.left--; d.left >= 0 {
		return nil, &jetstream.APIError{Code: 500, ErrorCode: 10049, Description: "error creating store for stream"}
	}
	return d.JetStream.CreateStream(ctx, cfg)
}

type lockedBuffer struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
