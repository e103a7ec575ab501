package bus

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// originHeader names the process that sent a message on the runs subject.
const originHeader = "Origin"

// Runs carries the answers of recent runs between consumer processes: each
// answer is broadcast when it is given, a process that starts reads those of
// the last minutes from the stream.
type Runs struct {
	nc     *nats.Conn
	layout Layout
	origin string
	sub    *nats.Subscription
	// learned counts the messages that were dealt with.
	learned atomic.Int64
}

// recentRuns is how far back a process that starts reads: no gateway retries a
// run for longer.
const recentRuns = 15 * time.Minute

// StartRuns calls learn with the body of every turn_begun that another process
// publishes. learn must not block.
func StartRuns(nc *nats.Conn, layout Layout, origin string, learn func(data []byte)) (*Runs, error) {
	r := &Runs{nc: nc, layout: layout, origin: origin}
	sub, err := nc.Subscribe(layout.Prefix.Runs(), func(m *nats.Msg) {
		defer r.learned.Add(1)
		if m.Header.Get(originHeader) != origin {
			learn(m.Data)
		}
	})
	if err != nil {
		return nil, err
	}
	r.sub = sub
	return r, nil
}

// Broadcast tells the other processes. It costs a buffered write.
func (r *Runs) Broadcast(body []byte) error {
	m := &nats.Msg{Subject: r.layout.Prefix.Runs(), Data: body, Header: nats.Header{}}
	m.Header.Set(originHeader, r.origin)
	return r.nc.PublishMsg(m)
}

// Settle returns once everything that the connection had received for this
// subscription when it was called has been learned. The server sends the answer
// of a run before a request that follows it, but the two subscriptions have
// goroutines of their own: without this the request may overtake the answer.
func (r *Runs) Settle(ctx context.Context) {
	waiting, _, err := r.sub.Pending() // with the one that learn works on
	if err != nil || waiting == 0 {
		return
	}
	all := r.learned.Load() + int64(waiting)
	for r.learned.Load() < all && ctx.Err() == nil {
		if waiting, _, err = r.sub.Pending(); err != nil || waiting == 0 {
			return
		}
		runtime.Gosched()
	}
}

// Replay calls learn with the turn_begun events of the last minutes that stand
// in the stream, oldest first.
func Replay(ctx context.Context, js jetstream.JetStream, layout Layout, now time.Time, learn func(data []byte)) error {
	stream, err := js.Stream(ctx, layout.Stream)
	if err != nil {
		return err
	}
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	from := now.Add(-recentRuns)
	ordered, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{layout.Prefix.EventsOf(subjects.HookTurnBegun)},
		DeliverPolicy:  jetstream.DeliverByStartTimePolicy,
		OptStartTime:   &from,
	})
	if err != nil {
		return err
	}
	info, err := ordered.Info(ctx)
	if err != nil {
		return err
	}
	for pending := info.NumPending; pending > 0; {
		// Not more than there are: a fetch waits for all it asked for.
		batch, err := ordered.Fetch(int(min(pending, 500)), jetstream.FetchMaxWait(2*time.Second))
		if err != nil {
			return err
		}
		got := uint64(0)
		for m := range batch.Messages() {
			got++
			learn(m.Data())
			if meta, err := m.Metadata(); err == nil {
				pending = meta.NumPending
			}
		}
		switch {
		case batch.Error() != nil:
			return batch.Error()
		case ctx.Err() != nil:
			return ctx.Err()
		case got == 0:
			return nil // what was pending is gone
		}
	}
	return nil
}

// Claims let one process of all classify a run with a model. A claim is a
// promise until a moment; a dead process's claim runs out.
type Claims struct {
	kv     jetstream.KeyValue
	origin string
	log    *slog.Logger
}

// claimWait bounds what a claim may cost a request. A model takes hundreds of
// milliseconds; without an answer in this time the request goes on unclaimed.
const claimWait = 100 * time.Millisecond

// OpenClaims makes or finds the bucket of claims. It is on disk, so that a
// restart of the server does not take it away; the write costs little beside
// the model call that follows.
func OpenClaims(ctx context.Context, js jetstream.JetStream, layout Layout, origin string, log *slog.Logger) (*Claims, error) {
	bucket := layout.Stream + "_CLAIMS"
	kv, err := js.KeyValue(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:      bucket,
			Description: "Runs that an intenthint process is classifying with a model",
			TTL:         recentRuns,
			Storage:     jetstream.FileStorage,
			MaxBytes:    16 << 20,
			History:     1,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = js.KeyValue(ctx, bucket)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Claims{kv: kv, origin: origin, log: log}, nil
}

// Claim reports whether this process may classify the run until the given
// moment; false means that another one is at it or has done it. When the bucket
// cannot be asked in time the answer is true: a second model call is better
// than no hint.
func (c *Claims) Claim(ctx context.Context, run string, now, until time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	key := subjects.Name(run)
	value := strconv.AppendInt(nil, until.UnixMilli(), 10)
	_, err := c.kv.Create(ctx, key, value)
	if err == nil {
		return true
	}
	if !errors.Is(err, jetstream.ErrKeyExists) {
		c.log.Debug("a run could not be claimed", "error", err)
		return true
	}
	entry, err := c.kv.Get(ctx, key)
	if err != nil {
		return true
	}
	promised, err := strconv.ParseInt(string(entry.Value()), 10, 64)
	if err == nil && now.UnixMilli() <= promised {
		return false
	}
	// The promise has run out: its process died or failed to say so.
	_, err = c.kv.Update(ctx, key, value, entry.Revision())
	return !errors.Is(err, jetstream.ErrKeyExists)
}

// Release gives a claim back after a failure, so that a retry is classified
// anew.
func (c *Claims) Release(ctx context.Context, run string) {
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	if err := c.kv.Purge(ctx, subjects.Name(run)); err != nil {
		c.log.Debug("a claim could not be given back", "error", err)
	}
}
