package httpserver

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"intenthint/internal/panics"
)

// Check returns an error if something is wrong. It has [CheckTimeout]; a check
// that takes longer counts as failed until it returns.
type Check func(ctx context.Context) error

const (
	// CheckTimeout bounds a check.
	CheckTimeout = time.Second
	// A result is cached for this long, so that many callers cost no more than
	// one. Recovery is noticed sooner.
	goodFor = time.Second
	badFor  = 100 * time.Millisecond
)

// Report is the body of /healthz and /readyz.
type Report struct {
	// Status is "ok" if all checks are ok, else "failed".
	Status string            `json:"status"`
	Checks map[string]Result `json:"checks"`
}

// Result is the state of one check.
type Result struct {
	OK bool `json:"ok"`
	// Reason describes the fault; "" means none.
	Reason string `json:"reason,omitempty"`
}

// Checks are named checks. The zero value is empty and ready to use.
type Checks struct {
	mu     sync.Mutex
	byName map[string]*cachedCheck
}

// Add adds a check, or replaces the one with that name.
func (c *Checks) Add(name string, check Check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]*cachedCheck)
	}
	c.byName[name] = &cachedCheck{check: check}
}

// Run runs all checks concurrently and reports their states. It does not wait
// much longer than [CheckTimeout].
func (c *Checks) Run(ctx context.Context) Report {
	c.mu.Lock()
	checks := maps.Clone(c.byName)
	c.mu.Unlock()

	type named struct {
		name string
		err  error
	}
	results := make(chan named, len(checks))
	for name, check := range checks {
		go func() { results <- named{name, check.state(ctx)} }()
	}
	report := Report{Status: "ok", Checks: make(map[string]Result, len(checks))}
	for range checks {
		r := <-results
		if r.err != nil {
			report.Status = "failed"
			report.Checks[r.name] = Result{Reason: r.err.Error()}
			continue
		}
		report.Checks[r.name] = Result{OK: true}
	}
	return report
}

// cachedCheck runs a check at most once at a time.
type cachedCheck struct {
	check Check

	mu      sync.Mutex
	err     error
	at      time.Time     // when err was found; zero before the first time
	started time.Time     // when the running check began
	running chan struct{} // closed when the running check returns; nil if none is running
}

func (c *cachedCheck) state(ctx context.Context) error {
	c.mu.Lock()
	life := goodFor
	if c.err != nil {
		life = badFor
	}
	if !c.at.IsZero() && time.Since(c.at) < life {
		defer c.mu.Unlock()
		return c.err
	}
	if c.running == nil {
		c.running, c.started = make(chan struct{}), time.Now()
		// Other callers may wait for the check, so it does not end with this one.
		go c.run(context.WithoutCancel(ctx))
	}
	running, started := c.running, c.started
	c.mu.Unlock()

	// The remaining time of the check, and a little more for a check that ends
	// with its context.
	wait := time.NewTimer(CheckTimeout + badFor - time.Since(started))
	defer wait.Stop()
	select {
	case <-running:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("not finished: %w", context.Cause(ctx))
	case <-wait.C:
		return fmt.Errorf("still running after %s", time.Since(started).Round(time.Millisecond))
	}
}

func (c *cachedCheck) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	err := panics.Catch(func() error { return c.check(ctx) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.at = err, time.Now()
	close(c.running)
	c.running = nil
}
