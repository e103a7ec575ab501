package bus

import (
	"context"
	"errors"
	"fmt"
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
	flush, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return r, subscribed(flush, nc)
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

// learnedEvents is how many of the newest events a process that starts looks at
// when more turns than a quarter of that began in the last minutes: a turn has
// four events or five, and more runs are not remembered.
const learnedEvents = 4 * 8192

// LearnRuns calls learn with the turn_begun events of the last minutes that
// stand in the stream, oldest first; after a flood of them only with the newest.
func LearnRuns(ctx context.Context, js jetstream.JetStream, l Layout, now time.Time, learn func(data []byte)) error {
	from := now.Add(-recentRuns)
	config := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{l.Prefix.EventsOf(subjects.HookTurnBegun)},
		DeliverPolicy:  jetstream.DeliverByStartTimePolicy,
		OptStartTime:   &from,
	}
	learnAll := func(portion []jetstream.Msg) {
		for _, m := range portion {
			learn(m.Data())
		}
	}
	err := readStream(ctx, js, l, config, 0, func(portion []jetstream.Msg, total int) error {
		if total > learnedEvents/4 {
			return errTooMany
		}
		learnAll(portion)
		return nil
	})
	if !errors.Is(err, errTooMany) {
		return err
	}
	stream, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, l.Stream) })
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartSequencePolicy, nil
	config.OptStartSeq = 1
	if last := stream.CachedInfo().State.LastSeq; last > learnedEvents {
		config.OptStartSeq = last - learnedEvents + 1
	}
	return readStream(ctx, js, l, config, 0, func(portion []jetstream.Msg, _ int) error {
		learnAll(portion)
		return nil
	})
}

// errTooMany: there are more turns than are worth being read.
var errTooMany = errors.New("too many turns")

// Claims let one process of all classify a run with a model. A claim is a
// promise until a moment; a dead process's claim runs out.
type Claims struct {
	kv  jetstream.KeyValue
	log *slog.Logger
}

// claimWait bounds what a claim may cost a request. A model takes hundreds of
// milliseconds; without an answer in this time the request goes on unclaimed.
const claimWait = 100 * time.Millisecond

// OpenClaims makes or finds the bucket of claims.
func OpenClaims(ctx context.Context, js jetstream.JetStream, layout Layout, log *slog.Logger) (*Claims, error) {
	want := layout.Claims()
	find := func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, want.Bucket) }
	kv, err := Call(ctx, js.Conn(), find)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.KeyValue, error) { return js.CreateKeyValue(ctx, want) })
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = Call(ctx, js.Conn(), find)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", want.Bucket, err)
	}
	return &Claims{kv: kv, log: log}, nil
}

// Claim returns the zero time when this process may classify the run until the
// given moment, else the one until which another process has promised to. When
// the bucket cannot be asked in time it may: a second model call is better than
// no hint.
func (c *Claims) Claim(ctx context.Context, run string, now, until time.Time) (promised time.Time) {
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	key := subjects.Name(run)
	value := strconv.AppendInt(nil, until.UnixMilli(), 10)
	_, err := c.kv.Create(ctx, key, value)
	if err == nil {
		return time.Time{}
	}
	if !errors.Is(err, jetstream.ErrKeyExists) {
		c.log.Debug("a run could not be claimed", "error", err)
		return time.Time{}
	}
	entry, err := c.kv.Get(ctx, key)
	if err != nil {
		return time.Time{}
	}
	if ms, err := strconv.ParseInt(string(entry.Value()), 10, 64); err == nil && now.UnixMilli() <= ms {
		return time.UnixMilli(ms)
	}
	// The promise has run out: its process died or failed to say so.
	if _, err = c.kv.Update(ctx, key, value, entry.Revision()); errors.Is(err, jetstream.ErrKeyExists) {
		return now.Add(claimWait) // somebody else's, who knows until when
	}
	return time.Time{}
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
