package kv

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
)

// subjectPrefix begins the subjects of a key-value bucket.
const subjectPrefix = "$KV."

// errMissed reports a walk through keys in which the server skipped some.
var errMissed = errors.New("incomplete walk through keys")

// message is the value of a key.
type message struct {
	key string
	// revision is the message's sequence in the bucket's stream, so revisions
	// of different keys are ordered; 0 for a key without one.
	revision uint64
	value    []byte // nil for a key that was deleted
	time     time.Time
}

// bucket is the stream of a key-value bucket. It is used as a stream because
// reads that decide something must be answered by the leader: a direct get may
// be answered by a replica that lags.
type bucket struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	config jetstream.KeyValueConfig
	name   string // of the stream
	prefix string // of subjects
}

// newBucket returns a bucket whose stream is not known yet.
func newBucket(js jetstream.JetStream, config jetstream.KeyValueConfig) *bucket {
	return &bucket{js: js, config: config, name: bus.BucketStream(config.Bucket), prefix: subjectPrefix + config.Bucket + "."}
}

// find returns the stream and creates it if it is missing. The handle is valid
// for every stream of that name.
func (b *bucket) find(ctx context.Context) (jetstream.Stream, error) {
	return kv.FindOrCreate(ctx,
		func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, b.name) },
		func(ctx context.Context) (jetstream.Stream, error) { return Create(ctx, b.js, b.config) })
}

// Create makes the stream of a bucket as CreateKeyValue does, but with a first
// sequence, which CreateKeyValue cannot set. Revisions begin at the current
// time, so that revisions remembered from a deleted bucket are never valid in
// its successor.
func Create(ctx context.Context, js jetstream.JetStream, config jetstream.KeyValueConfig) (jetstream.Stream, error) {
	orAny := func(n int64) int64 {
		if n == 0 {
			return -1
		}
		return n
	}
	return js.CreateStream(ctx, jetstream.StreamConfig{
		Name: bus.BucketStream(config.Bucket), Description: config.Description, Subjects: []string{subjectPrefix + config.Bucket + ".>"},
		MaxMsgsPerSubject: int64(max(config.History, 1)), MaxMsgs: -1, MaxConsumers: -1,
		MaxBytes: orAny(config.MaxBytes), MaxMsgSize: int32(orAny(int64(config.MaxValueSize))), //nolint:gosec // an int32 in the configuration
		MaxAge: config.TTL, Storage: config.Storage, Replicas: max(config.Replicas, 1), Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, AllowDirect: true,
		FirstSeq: uint64(time.Now().UnixMicro()), //nolint:gosec // not negative
	})
}

// Room that a message needs beside its value: the headers and, when it is read,
// base64 inside JSON.
const (
	headerBytes    = 1 << 10
	smallestValues = 512
)

// limit is the largest value that can be written, and read again where the
// same limit holds for what the server sends.
func (b *bucket) limit() int {
	most := b.js.Conn().MaxPayload()
	if size := int64(b.stream.CachedInfo().Config.MaxMsgSize); size > 0 {
		most = min(most, size)
	}
	return max(int(most-headerBytes)/4*3, smallestValues)
}

// get returns the value of a key.
func (b *bucket) get(ctx context.Context, key string) (message, error) {
	m, err := b.ask(ctx, map[string]any{"last_by_subj": b.prefix + key})
	m.key = key
	return m, err
}

// askTime bounds a request whose context has no deadline.
const askTime = 5 * time.Second

// ask gets a message from the leader of the stream; its revision is 0 if there
// is no such message.
func (b *bucket) ask(ctx context.Context, request map[string]any) (message, error) {
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		ctx = bounded
	}
	body, err := json.Marshal(request)
	if err != nil {
		return message{}, err
	}
	reply, err := b.js.Conn().RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+b.name, body)
	if err != nil {
		return message{}, err
	}
	var in struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &in); err != nil {
		return message{}, err
	}
	if in.Error != nil {
		if in.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return message{}, nil
		}
		return message{}, in.Error
	}
	if in.Message == nil {
		return message{}, jetstream.ErrInvalidJetStreamResponse
	}
	m := message{key: strings.TrimPrefix(in.Message.Subject, b.prefix), revision: in.Message.Seq, value: in.Message.Data, time: in.Message.Time}
	if m.value == nil {
		m.value = []byte{} // nil means deleted
	}
	if len(in.Message.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(in.Message.Header)
		if err != nil {
			return message{}, err
		}
		if isMarker(header) {
			m.value = nil
		}
	}
	return m, nil
}

// operation is the header of a marker.
const operation = "KV-Operation"

// isMarker reports whether a message is a tombstone: its key was deleted. This
// package replaces unreadable retired turns by markers; an operator's tools
// leave others.
func isMarker(header nats.Header) bool {
	return header.Get(operation) != "" || header.Get(jetstream.MarkerReasonHeader) != ""
}

// put writes a value over the given revision, 0 for a new key. The error for another
// revision is a conflict, see [kv.IsConflict].
func (b *bucket) put(ctx context.Context, key string, value []byte, over uint64) (revision uint64, err error) {
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Data: value}, jetstream.WithExpectLastSequencePerSubject(over))
}

// remove replaces a value by a marker.
func (b *bucket) remove(ctx context.Context, key string, over uint64) error {
	marker := &nats.Msg{Subject: b.prefix + key, Header: nats.Header{operation: {"DEL"}}}
	_, err := b.publish(ctx, marker, jetstream.WithExpectLastSequencePerSubject(over))
	return err
}

// putRetries is how often, a quarter of a second apart, to retry writing to a
// stream that not all servers of a cluster know yet.
const putRetries = 8

// putWhile writes a value over any revision while another key has a given one.
func (b *bucket) putWhile(ctx context.Context, key string, value []byte, other string, at uint64) (revision uint64, err error) {
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Data: value}, jetstream.WithExpectLastSequenceForSubject(at, b.prefix+other))
}

func (b *bucket) publish(ctx context.Context, m *nats.Msg, expect jetstream.PublishOpt) (revision uint64, err error) {
	ack, err := b.js.PublishMsg(ctx, m, expect, jetstream.WithRetryAttempts(putRetries))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// purge removes the values below a revision whose keys match the filter,
// without leaving markers.
func (b *bucket) purge(ctx context.Context, filter string, below uint64) error {
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.prefix+filter), jetstream.WithPurgeSequence(below))
}

// Values fetched at once, with and without their bodies.
const (
	fetchBodies  = 32
	fetchHeaders = 512
)

// maxTail bounds what each asks the leader for beyond the number of keys, for a
// bucket that is written faster than it is read.
const maxTail = 1 << 10

// each calls fn with the values whose keys fit the filter, in the order of
// their revisions; without their bodies when only the keys matter. A key that
// is written meanwhile may come once more. Most values come from whichever
// replica serves the walk; it may be behind, so the leader is asked for the
// rest.
func (b *bucket) each(ctx context.Context, filter string, bodies bool, fn func(message) error) error {
	var last, count uint64
	err := b.walk(ctx, filter, bodies, func(m message) error {
		last = m.revision
		count++
		return fn(m)
	})
	if err != nil {
		return err
	}
	return b.follow(ctx, filter, last, count+maxTail, fn)
}

// follow calls fn with at most most values whose keys fit the filter and
// that were written after a revision. They come one by one from the leader.
func (b *bucket) follow(ctx context.Context, filter string, after, most uint64, fn func(message) error) error {
	for range most {
		m, err := b.ask(ctx, map[string]any{"seq": after + 1, "next_by_subj": b.prefix + filter})
		if err != nil || m.revision == 0 {
			return err
		}
		after = m.revision
		if m.value == nil {
			continue
		}
		if err := fn(m); err != nil {
			return err
		}
	}
	return nil
}

// walk calls fn with the values that a replica has.
func (b *bucket) walk(ctx context.Context, filter string, bodies bool, fn func(message) error) error {
	// Not an ordered consumer: that is created anew for every fetch, and the
	// server looks through all keys each time.
	consumer, err := b.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     b.prefix + filter,
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		HeadersOnly:       !bodies,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	defer func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = b.stream.DeleteConsumer(done, info.Name) // it would expire by itself
	}()
	size := uint64(fetchHeaders)
	if bodies {
		size = fetchBodies
	}
	var seen uint64
	unreached := 0
	for pending := info.NumPending; pending > 0; {
		// Not more than there are: a fetch waits for all it asked for.
		batch, err := consumer.Fetch(int(min(pending, size)), jetstream.FetchMaxWait(2*time.Second))
		if err != nil {
			return err
		}
		got := false
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			if seen++; meta.Sequence.Consumer != seen {
				return errMissed
			}
			got, pending = true, meta.NumPending
			if isMarker(m.Headers()) {
				continue
			}
			err = fn(message{key: strings.TrimPrefix(m.Subject(), b.prefix), revision: meta.Sequence.Stream, value: m.Data(), time: meta.Timestamp})
			if err != nil {
				return err
			}
		}
		switch {
		case errors.Is(batch.Error(), nats.ErrNoResponders) && unreached < kv.CreateRetry.Attempts:
			// The servers of a cluster learn of a new consumer one by one.
			unreached++
			if err := kv.CreateRetry.Wait(ctx, unreached); err != nil {
				return err
			}
			continue
		case batch.Error() != nil:
			return batch.Error()
		case ctx.Err() != nil:
			return ctx.Err()
		case got:
			continue
		}
		// The pending messages were purged, or they are late.
		now, err := consumer.Info(ctx)
		if err != nil {
			return err
		}
		if now.NumPending >= pending {
			return errMissed
		}
		pending = now.NumPending
	}
	return nil
}
