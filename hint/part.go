package hint

import (
	"context"
	"sync"
	"time"

	"intenthint/hint/earlier"
	"intenthint/hint/repetition"
	"intenthint/hint/run"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/internal/kv"
	"intenthint/internal/retry"
	"intenthint/part"
	"intenthint/subjects"
)

// Core is what hints are made of beside what every part gets.
type Core struct {
	Answers *run.Answers
	Metrics *Metrics
	Events  *events.Metrics
	// Open receives what makes hints, which needs settings before the first request.
	Open func(*Hinter)
	// Lost receives the number of events that could not be published at the end.
	Lost func(events int)
}

// Part returns the hints as a part of the program.
func Part(c Core) part.Part {
	return part.Part{
		Name: "hint",
		Needs: func(l bus.Layout, p part.Program) (n part.Needs) {
			if p.AsksModels {
				n.Buckets = []bus.Bucket{{Config: run.Bucket(l)}}
			}
			return n
		},
		Open: c.open,
	}
}

// Hook is the hook that hints are made at.
func Hook(h *Hinter) hook.Hook {
	return hook.Hook{Name: subjects.HookBeforePromptBuild, Handlers: []hook.Handler{h.Handler()}, Unasked: h.Unasked}
}

// open opens the publisher of turns and the channel to other processes.
func (c Core) open(ctx context.Context, env part.Env) (*part.Running, error) {
	publisher, err := events.NewPublisher(env.Requests.NC, c.Events, env.Log)
	if err != nil {
		return nil, err
	}
	stop := func(ctx context.Context) error {
		c.Lost(publisher.Stop(ctx))
		return nil
	}
	if err := c.join(ctx, env); err != nil {
		_ = stop(ctx)
		return nil, err
	}
	claim := sync.OnceFunc(func() { c.openClaims(ctx, env) })
	if env.AsksModels {
		claim()
	}
	h := New(Options{
		Answers: c.Answers, Publisher: publisher, Prefix: env.Layout.Prefix, MaxPayload: env.Requests.NC.MaxPayload(),
		Metrics: c.Metrics, Log: env.Log,
	})
	c.Open(h)
	return &part.Running{
		Use: func(p part.Program) (swap func(), err error) {
			if p.AsksModels {
				claim()
			}
			return func() {}, nil
		},
		Hooks:  []part.Hook{{Hook: Hook(h)}},
		Checks: []part.Step{{Name: "publisher", Do: publisher.Check}},
		Stop:   []part.Step{{Name: "publisher", Do: stop}},
	}, nil
}

// join listens to the answers of other processes, and reads the recent ones.
func (c Core) join(ctx context.Context, env part.Env) error {
	peers, err := run.Listen(env.Requests.NC, env.Layout.Prefix.Runs(), c.Answers.Learn)
	if err != nil {
		return err
	}
	if err := env.Retry(ctx, env.Requests.Subscribed); err != nil {
		return err
	}
	c.Answers.Join(peers)
	c.learnRecent(ctx, env)
	return nil
}

// learnTime bounds learnRecent: the start does not wait for a stream that
// cannot be read.
const learnTime = 10 * time.Second

// learnRecent reads the recent answers of earlier processes from the stream.
func (c Core) learnRecent(ctx context.Context, env part.Env) {
	ctx, cancel := context.WithTimeout(ctx, learnTime)
	defer cancel()
	// Runs are retried for minutes; topics last for hours.
	since := time.Now().Add(-earlier.MaxAge)
	for _, hook := range append([]string{subjects.HookTurnBegun}, repetition.Signals...) {
		if err := bus.RecentEvents(ctx, env.Requests.JS, env.Layout, since, hook, c.Answers.Learn); err != nil {
			env.Log.Warn("recent events not read", "hook", hook, "error", err)
			return
		}
	}
}

// claimRetry bounds the pauses between attempts to open the bucket of claims. Until it
// is open, two processes may ask a model about one run.
var claimRetry = retry.Backoff{First: time.Second, Max: 30 * time.Second}

// openClaims opens the bucket of claims, which is needed only when models are
// asked. After a failure it retries in the background.
func (c Core) openClaims(ctx context.Context, env part.Env) {
	open := func(ctx context.Context) error {
		bucket, err := kv.Open(ctx, env.Requests.JS, run.Bucket(env.Layout))
		if err == nil {
			c.Answers.Claim(run.NewClaims(bucket, env.Log))
		}
		return err
	}
	if err := open(ctx); err != nil {
		env.Log.Warn("claims bucket unavailable", "error", err)
		env.Go(func(ctx context.Context) { _ = retry.Policy{Backoff: claimRetry}.Do(ctx, open) })
	}
}
