package classify

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"intenthint/model/provider"
)

const (
	// So many failures in a row open a model's breaker: those that were late
	// have cost their turns the whole budget, those that failed at once next
	// to nothing.
	breakerLates    = 5
	breakerFailures = 20
	// A model is left alone for breakerPause first, and for twice as long
	// after each probe that fails, up to breakerMaxPause.
	breakerPause    = time.Second
	breakerMaxPause = time.Minute
	// maxBreakers bounds the models that are watched: references come from
	// gateways too.
	maxBreakers = 256
	// fairTime is the least time after which a late model is to blame, and not
	// the caller who was in a hurry.
	fairTime = 250 * time.Millisecond
)

// ErrOpen is the error of a model that is not asked for a while because it
// failed again and again, or wanted to be left alone.
var ErrOpen = errors.New("the model is left alone for a while")

// BreakerObserver is told when a model begins to be left alone and when it
// answers again. It is called in that order, and must return soon.
type BreakerObserver interface {
	// BreakerOpened has the reference, how long the model is left alone before
	// it is probed, and the last failure.
	BreakerOpened(ref string, pause time.Duration, cause error)
	BreakerClosed(ref string)
}

// Breakers remember which models do not work, by reference, so that an outage
// costs a few slow turns and not every one: after five late answers or twenty
// failures in a row, or an answer 429 or 503 with Retry-After, a model is left
// alone for a while (1 s, growing to 60 s, or what Retry-After says, 60 s at
// most), then probed with one request at a time. They outlive chains: a new
// configuration has the same breakers. A nil *Breakers lets everything through.
type Breakers struct {
	observer BreakerObserver

	mu    sync.Mutex // held while the observer is told
	byRef map[string]*breaker
}

// breaker is the state of one model. The circuit breaker counts failures and
// lets one probe through; how long it stays open is kept here because that
// changes from time to time.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	under   int // calls under way

	open  bool
	until time.Time     // no probe before
	pause time.Duration // the last one
	// unresolved: the last failure was that of the configuration.
	unresolved bool
	// wait is what the failure that is being counted asks for; 0 for nothing.
	wait time.Duration
	// lates counts the failures of the present row that were late.
	lates int
}

// NewBreakers returns breakers that are all closed. The observer may be nil.
func NewBreakers(observer BreakerObserver) *Breakers {
	return &Breakers{observer: observer, byRef: make(map[string]*breaker)}
}

func newBreaker() *breaker {
	b := &breaker{}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     1, // until tells the time
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return b.wait > 0 || b.lates >= breakerLates || c.ConsecutiveFailures >= breakerFailures
		},
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return errors.Is(err, errUnwanted) },
	})
	return b
}

// changed follows the circuit; the lock of [Breakers] is held.
func (b *breaker) changed(_ string, from, to gobreaker.State) {
	switch {
	case to == gobreaker.StateClosed:
		b.open = false
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		b.open, b.pause = true, breakerPause
		b.rest(b.pause)
	case to == gobreaker.StateOpen:
		b.pause = min(2*b.pause, breakerMaxPause)
		b.rest(b.pause)
	}
}

// rest leaves the model alone for d, or for what it asked for.
func (b *breaker) rest(d time.Duration) {
	if b.wait > 0 {
		d = b.wait
	}
	b.until = time.Now().Add(d)
}

// idle says that nothing is lost when the breaker is forgotten.
func (b *breaker) idle() bool {
	return !b.open && b.under == 0 && b.circuit.Counts().ConsecutiveFailures == 0
}

// errLate is the failure of a model that did not answer in time.
var errLate = errors.New("the model was late")

// errUnwanted is the end of a call that says nothing about its model.
var errUnwanted = errors.New("the answer was not wanted any more")

// admit says whether a model may be asked now; resolved says that it can be.
// When it may, report has to be called with how that ended: nil, errUnwanted,
// or the failure. Otherwise the error is [ErrOpen].
func (bs *Breakers) admit(ref string, resolved bool) (report func(error), err error) {
	if bs == nil {
		return func(error) {}, nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(ref)
	if b == nil {
		return func(error) {}, nil
	}
	if b.unresolved && resolved {
		// The configuration has been put right; the model never failed.
		if b.open {
			bs.closed(ref)
		}
		b = newBreaker()
		bs.byRef[ref] = b
	}
	if b.open && time.Now().Before(b.until) {
		return nil, b.refusal("until " + b.until.Format(time.TimeOnly))
	}
	done, err := b.circuit.Allow()
	if err != nil {
		return nil, b.refusal("it is being probed")
	}
	b.under++
	return func(err error) { bs.report(ref, b, done, err) }, nil
}

// refusal says why the model is not asked. One that is known to be late is
// late.
func (b *breaker) refusal(why string) error {
	if b.lates >= breakerLates {
		return fmt.Errorf("%w: %w: %s", ErrOpen, errLate, why)
	}
	return fmt.Errorf("%w: %s", ErrOpen, why)
}

func (bs *Breakers) report(ref string, b *breaker, done func(error), err error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b.under--
	if bs.byRef[ref] != b {
		return
	}
	before := b.open
	b.wait = retryAfter(err)
	switch {
	case err == nil:
		b.lates = 0
	case errors.Is(err, errLate):
		b.lates++
	}
	if b.open && b.wait > 0 {
		// A call from before the breaker opened may know better; when it is
		// the probe, done says the same.
		if until := time.Now().Add(b.wait); until.After(b.until) {
			b.until = until
		}
	}
	if !errors.Is(err, errUnwanted) {
		b.unresolved = errors.Is(err, provider.ErrUnresolved)
	}
	done(err)
	switch {
	case b.open && !before && bs.observer != nil:
		bs.observer.BreakerOpened(ref, time.Until(b.until), err)
	case before && !b.open:
		bs.closed(ref)
	}
}

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
	if len(bs.byRef) >= maxBreakers && !bs.forget() {
		return nil
	}
	b := newBreaker()
	bs.byRef[ref] = b
	return b
}

// forget makes room.
func (bs *Breakers) forget() bool {
	for ref, b := range bs.byRef {
		if b.idle() {
			delete(bs.byRef, ref)
			return true
		}
	}
	return false
}

// retryAfter is how long the provider asks to be left alone, 60 s at most; 0
// when it does not.
func retryAfter(err error) time.Duration {
	status, ok := errors.AsType[*provider.StatusError](err)
	if !ok || status.Code != http.StatusTooManyRequests && status.Code != http.StatusServiceUnavailable {
		return 0
	}
	return min(status.RetryAfter, breakerMaxPause)
}
