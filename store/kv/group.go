package kv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// put is a value to be written to the bucket, and its result.
type put struct {
	ctx      context.Context //nolint:containedctx // the caller's, who waits for it
	key      string
	value    []byte
	over     uint64 // the revision that the key must have
	revision uint64
	err      error
	done     chan struct{}
}

const (
	// With crowd or more puts in flight the server is the bottleneck: the time
	// between crowdSamples acknowledgements measures its speed.
	crowd        = 32
	crowdSamples = 64
	// slowPut is the time per put above which batches are tried: a faster
	// server does not sync every write.
	slowPut = 100 * time.Microsecond
	// minGroup and maxGroup bound a batch, and maxGroupBytes its values.
	minGroup      = 16
	maxGroup      = 256
	maxGroupBytes = 4 << 20
	// Samples are capped at longSample: longer ones are outliers.
	longSample = 2 * time.Millisecond
	// A batch must take at most goodBatch of what its puts would take singly,
	// of trialBatches together; otherwise batches rest for badRest.
	goodBatch    = 0.8
	trialBatches = 8
	badRest      = time.Minute
	// After this many trials single puts are measured again.
	goodTrials = 64
	// A conflict of one put refuses its whole batch: batches then rest for this
	// long.
	conflictRest = time.Second
	// This many small groups in a row end batching: the load has dropped.
	smallGroups = 4
)

// errNoBatch reports a batch that was refused as a whole: nothing was written.
var errNoBatch = errors.New("batch refused")

// grouper decides which puts are sent together. Each put is sent alone and at
// once, unless many wait for a server that is slow because it syncs each: then
// all puts that arrive while one batch is in flight form the next, which the
// server syncs once. If batches are not faster, they are not tried again for a
// while.
type grouper struct {
	// one puts a single value.
	one func(*put)
	// many puts values in a batch. On success all are written, with an error of
	// kind errNoBatch none; with any other error it is unknown. It is nil for a
	// stream without atomic batches.
	many func([]*put) error

	mu       sync.Mutex // guards what follows
	inflight int        // single puts
	crowded  time.Time  // of the last acknowledgement while there was a crowd
	samples  int
	single   time.Duration // what the samples took; while batching, one of them
	resting  time.Time     // no batches before
	batching bool
	waiting  []*put
	sending  bool
	small    int
	trials   int
	batches  int           // of the trial
	together time.Duration // what they took
	values   int           // that were in them
}

// put puts a value and returns when its error and revision are known. The
// caller may then reuse the value. Once the value is in a batch, the end of its
// context has no effect.
func (g *grouper) put(p *put) {
	g.mu.Lock()
	if !g.batching {
		g.inflight++
		g.mu.Unlock()
		g.one(p)
		g.mu.Lock()
		g.acknowledged(time.Now())
		g.mu.Unlock()
		return
	}
	p.done = make(chan struct{})
	g.waiting = append(g.waiting, p)
	if !g.sending {
		g.sending = true
		go g.send()
	}
	g.mu.Unlock()
	select {
	case <-p.done:
		return
	case <-p.ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(g.waiting, p)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		p.err = p.ctx.Err()
	}
	g.mu.Unlock()
	if i < 0 {
		<-p.done
	}
}

// acknowledged records the end of a single put. The lock is held.
func (g *grouper) acknowledged(now time.Time) {
	crowded := g.inflight >= crowd
	g.inflight--
	last := g.crowded
	g.crowded = time.Time{}
	if !crowded || g.batching || g.many == nil {
		return
	}
	g.crowded = now
	if last.IsZero() {
		return
	}
	g.single += min(now.Sub(last), longSample)
	if g.samples++; g.samples < crowdSamples {
		return
	}
	mean := g.single / crowdSamples
	g.samples, g.single = 0, 0
	if mean >= slowPut && !now.Before(g.resting) {
		g.batching, g.single = true, mean
		g.small, g.trials, g.batches, g.together, g.values = 0, 0, 0, 0, 0
	}
}

// rest stops batching for a while. The lock is held.
func (g *grouper) rest(d time.Duration) {
	g.batching, g.samples, g.single, g.crowded = false, 0, 0, time.Time{}
	g.resting = time.Now().Add(d)
}

// send sends the waiting puts, group after group.
func (g *grouper) send() {
	for {
		g.mu.Lock()
		group := g.take()
		if len(group) == 0 {
			g.sending = false
			g.mu.Unlock()
			return
		}
		if g.batching && len(group) < minGroup {
			if g.small++; g.small == smallGroups {
				g.rest(0)
			}
		}
		together := g.batching && len(group) >= minGroup
		g.mu.Unlock()
		if !together || !g.sendBatch(group) {
			g.sendSingly(group)
		}
		for _, p := range group {
			close(p.done)
		}
	}
}

// take returns the next group to send. The lock is held.
func (g *grouper) take() []*put {
	n, size := 0, 0
	for n < len(g.waiting) && n < maxGroup && (n == 0 || size+len(g.waiting[n].value) <= maxGroupBytes) {
		size += len(g.waiting[n].value)
		n++
	}
	group := g.waiting[:n:n]
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	return group
}

func (g *grouper) sendSingly(group []*put) {
	var all sync.WaitGroup
	for _, p := range group {
		all.Go(func() { g.one(p) })
	}
	all.Wait()
}

// sendBatch reports whether the puts are done; false if they are to be sent
// singly.
func (g *grouper) sendBatch(group []*put) bool {
	began := time.Now()
	err := g.many(group)
	took := time.Since(began)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case errors.Is(err, errConflict):
		g.rest(conflictRest)
	case err != nil:
		g.rest(badRest)
	}
	if errors.Is(err, errNoBatch) {
		return false
	}
	if err != nil {
		for _, p := range group {
			p.err = err
		}
		return true
	}
	g.small = 0
	g.batches++
	g.together += took
	g.values += len(group)
	if g.batches == trialBatches {
		g.trials++
		switch {
		case float64(g.together) > goodBatch*float64(g.single)*float64(g.values):
			g.rest(badRest)
		case g.trials == goodTrials:
			g.rest(0)
		}
		g.batches, g.together, g.values = 0, 0, 0
	}
	return true
}
