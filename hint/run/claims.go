package run

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/subjects"
)

const (
	// recentRuns is how long claims are kept: no gateway retries a run for longer.
	recentRuns = 15 * time.Minute
	// claimBytes bounds the bucket of claims.
	claimBytes = 16 << 20
)

// Bucket is the bucket of claims. It is on disk to survive a restart of the server;
// the write costs little beside the model call that follows.
func Bucket(l bus.Layout) jetstream.KeyValueConfig {
	c := l.Bucket("_CLAIMS", "Runs that an intenthint process is classifying with a model")
	c.TTL, c.MaxBytes = recentRuns, claimBytes
	return c
}

// Claims let only one process ask a model about a run. A claim is an entry in
// a bucket: a promise to answer by a time in Unix milliseconds. The claim of a
// dead process expires.
type Claims struct {
	bucket jetstream.KeyValue
	log    *slog.Logger
}

// NewClaims returns claims in a bucket whose entries expire.
func NewClaims(bucket jetstream.KeyValue, log *slog.Logger) *Claims {
	return &Claims{bucket: bucket, log: log}
}

// claimTime bounds how long a request waits for a claim; after that it
// continues unclaimed. A model takes hundreds of milliseconds.
const claimTime = 100 * time.Millisecond

// Claim returns the zero time if this process may classify the run until the
// given time, else the time by which another process has promised to answer. It
// also returns the zero time if the bucket does not answer in time: a second
// model call is better than no hint.
func (c *Claims) Claim(ctx context.Context, key string, now, until time.Time) (promised time.Time) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	name := subjects.Name(key)
	value := strconv.AppendInt(nil, until.UnixMilli(), 10)
	_, err := c.bucket.Create(ctx, name, value)
	if err == nil {
		return time.Time{}
	}
	var entry jetstream.KeyValueEntry
	if errors.Is(err, jetstream.ErrKeyExists) {
		entry, err = c.bucket.Get(ctx, name)
	}
	if err != nil {
		// Without the claim, two processes may ask the model.
		c.log.Debug("claim failed", "error", err)
		return time.Time{}
	}
	if ms, err := strconv.ParseInt(string(entry.Value()), 10, 64); err == nil && now.UnixMilli() <= ms {
		return time.UnixMilli(ms)
	}
	// The promise has expired: its process died, or failed to release it.
	if _, err = c.bucket.Update(ctx, name, value, entry.Revision()); errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return now.Add(claimTime) // a third process was faster; its deadline is unknown
	}
	return time.Time{}
}

// Release releases a claim after a failure, so that a retry is classified anew.
func (c *Claims) Release(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	if err := c.bucket.Purge(ctx, subjects.Name(key)); err != nil {
		c.log.Debug("claim not released", "error", err)
	}
}
