package model

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"intenthint/model/provider"
)

const (
	// This many failures in a row open a model's breaker: a late failure costs the
	// caller the whole budget, an immediate one hardly any time.
	breakerLates    = 5
	breakerFailures = 20
	// An open breaker lets a probe through after breakerPause, and after twice as
	// long each time a probe fails, up to breakerMaxPause.
	breakerPause    = time.Second
	breakerMaxPause = time.Minute
	// maxBreakers bounds the models that are watched: references come from
	// gateways too.
	maxBreakers = 256
)

// BreakerObserver is told when a model's circuit breaker opens and when it
// closes. The calls are made in order and must return soon.
type BreakerObserver interface {
	// BreakerOpened gets the reference, the time until the first probe, and the
	// last failure.
	BreakerOpened(ref string, pause time.Duration, cause error)
	BreakerClosed(ref string)
}

// Breakers are circuit breakers by model, so that an outage slows down a few
// answers, not all of them: after five late answers or twenty failures in a
// row, or a 429 or 503 with Retry-After, a model is not asked for a while (1 s,
// doubling to 60 s, or what Retry-After says, 60 s at most), then probed with
// one request at a time. They outlive chains: a new configuration keeps them. A
// nil *Breakers lets everything through.
//
// The states are the usual ones of a circuit breaker. No library is used
// because the pause grows, and Retry-After sets it.
type Breakers struct {
	observer BreakerObserver

	mu    sync.Mutex // held while the observer is told
	byRef map[string]*breaker
}

// breaker is the state of one model.
type breaker struct {
	calls int // in progress
	// row counts the openings and closings: the result of a call that began before
	// the last one is ignored.
	row int
	// failures counts consecutive failures, lates the late ones among them.
	failures, lates int

	// pause is the last one, 0 when the breaker is closed. While it is open, the
	// model is probed from until on, by one call at a time.
	pause   time.Duration
	until   time.Time
	probing bool
}

// NewBreakers returns breakers that are all closed. The observer may be nil.
func NewBreakers(observer BreakerObserver) *Breakers {
	return &Breakers{observer: observer, byRef: make(map[string]*breaker)}
}

// admit reports whether a model may be asked now. If so, done must be called
// with the result: nil, errUnwanted, or the failure. Otherwise the error is
// [ErrOpen].
func (bs *Breakers) admit(ref string) (done func(error), err error) {
	if bs == nil {
		return func(error) {}, nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(ref)
	if b == nil {
		return func(error) {}, nil
	}
	if b.open() {
		switch {
		case time.Now().Before(b.until):
			return nil, b.refusal("until " + b.until.Format(time.TimeOnly))
		case b.probing:
			return nil, b.refusal("probe in progress")
		}
		b.probing = true
	}
	b.calls++
	row := b.row
	return func(err error) { bs.report(ref, b, row, err) }, nil
}

// refusal returns the error of an open breaker. It counts as late if the last
// failures were late.
func (b *breaker) refusal(why string) error {
	if b.lates >= breakerLates {
		return fmt.Errorf("%w: %w: %s", ErrOpen, errLate, why)
	}
	return fmt.Errorf("%w: %s", ErrOpen, why)
}

func (bs *Breakers) report(ref string, b *breaker, row int, err error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b.calls--
	wait := retryAfter(err)
	probe := b.open()
	switch {
	case row != b.row:
		// Retry-After of a call from before the breaker opened counts too.
		if until := time.Now().Add(wait); probe && until.After(b.until) {
			b.until = until
		}
	case errors.Is(err, errUnwanted):
		b.probing = false
	case err == nil:
		b.failures, b.lates = 0, 0
		if probe {
			b.row, b.pause, b.probing = b.row+1, 0, false
			bs.closed(ref)
		}
	default:
		b.failures++
		if errors.Is(err, errLate) {
			b.lates++
		}
		if !probe && wait == 0 && b.lates < breakerLates && b.failures < breakerFailures {
			return
		}
		b.row, b.probing = b.row+1, false
		b.pause = min(max(2*b.pause, breakerPause), breakerMaxPause)
		b.until = time.Now().Add(cmp.Or(wait, b.pause))
		if !probe && bs.observer != nil {
			bs.observer.BreakerOpened(ref, time.Until(b.until), err)
		}
	}
}

func (b *breaker) open() bool { return b.pause > 0 }

func (bs *Breakers) closed(ref string) {
	if bs.observer != nil {
		bs.observer.BreakerClosed(ref)
	}
}

// of returns the breaker of a model, or nil when there is no room for it.
func (bs *Breakers) of(ref string) *breaker {
	if b, ok := bs.byRef[ref]; ok {
		return b
	}
	for old, b := range bs.byRef {
		if len(bs.byRef) < maxBreakers {
			break
		}
		if !b.open() && b.calls == 0 && b.failures == 0 {
			delete(bs.byRef, old) // closed, without state
		}
	}
	if len(bs.byRef) >= maxBreakers {
		return nil
	}
	b := &breaker{}
	bs.byRef[ref] = b
	return b
}

// retryAfter returns how long the provider asks to wait, at most 60 s; 0 if it
// does not ask.
func retryAfter(err error) time.Duration {
	status, ok := errors.AsType[*provider.StatusError](err)
	if !ok || status.Code != http.StatusTooManyRequests && status.Code != http.StatusServiceUnavailable {
		return 0
	}
	return min(status.RetryAfter, breakerMaxPause)
}
