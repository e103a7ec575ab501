package run

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// Claims let only one process ask a model about a run. A claim is an entry in
// a bucket, a promise to answer until a moment in Unix milliseconds; that of a
// dead process runs out.
type Claims struct {
	bucket jetstream.KeyValue
	log    *slog.Logger
}

// NewClaims returns claims in a bucket whose entries expire.
func NewClaims(bucket jetstream.KeyValue, log *slog.Logger) *Claims {
	return &Claims{bucket: bucket, log: log}
}

// claimTime bounds what a claim may cost a request. A model takes hundreds of
// milliseconds; without an answer in this time the request goes on unclaimed.
const claimTime = 100 * time.Millisecond

// Claim returns the zero time when this process may classify the run until the
// given moment, else the moment until which another process has promised to. It
// may as well when the bucket does not answer in time: a second model call is
// better than no hint.
func (c *Claims) Claim(ctx context.Context, key string, now, until time.Time) (promised time.Time) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	name := subjects.Name(key)
	value := strconv.AppendInt(nil, until.UnixMilli(), 10)
	_, err := c.bucket.Create(ctx, name, value)
	if err == nil {
		return time.Time{}
	}
	if !errors.Is(err, jetstream.ErrKeyExists) {
		c.log.Debug("claim failed, two processes may ask the model", "error", err)
		return time.Time{}
	}
	entry, err := c.bucket.Get(ctx, name)
	if err != nil {
		return time.Time{}
	}
	if ms, err := strconv.ParseInt(string(entry.Value()), 10, 64); err == nil && now.UnixMilli() <= ms {
		return time.UnixMilli(ms)
	}
	// The promise has run out: its process died, or failed to release it.
	if _, err = c.bucket.Update(ctx, name, value, entry.Revision()); errors.Is(err, jetstream.ErrKeyExists) {
		return now.Add(claimTime) // a third process was faster; its deadline is unknown
	}
	return time.Time{}
}

// Release gives a claim back after a failure, so that a retry is classified
// anew.
func (c *Claims) Release(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	if err := c.bucket.Purge(ctx, subjects.Name(key)); err != nil {
		c.log.Debug("claim not released", "error", err)
	}
}
