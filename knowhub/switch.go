package knowhub

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"intenthint/internal/bus"
	"intenthint/internal/retry"
	"intenthint/knowhub/bucket"
	"intenthint/part"
)

// switched takes the events of runs while the settings turn extraction on. It leaves out
// what was stored before that (contract §12); the bucket of turns holds since when, for
// all processes.
type switched struct {
	service *Service
	turns   *bucket.Turns
	durable bus.Durable
	log     *slog.Logger
	// take returns the sink of the events that were stored after since.
	take func(since time.Time) part.Sink
	// changes has an element after a change of the settings.
	changes chan struct{}

	stream part.Stream
	cancel context.CancelFunc
	ended  chan struct{}

	mu    sync.Mutex  // guards what follows
	sink  part.Taking // nil while extraction is off
	fault error
}

// changed makes the sink follow the settings.
func (x *switched) changed() {
	select {
	case x.changes <- struct{}{}:
	default:
	}
}

// start is a [part.Sink].
func (x *switched) start(ctx context.Context, s part.Stream) (part.Taking, error) {
	x.stream = s
	x.stream.Layout.More = slices.DeleteFunc(slices.Clone(s.Layout.More), func(d bus.Durable) bool { return d.Name == x.durable.Name })
	if err := x.follow(ctx); bus.Temporary(err) {
		return nil, err
	} else if err != nil {
		x.log.Warn("extraction not switched, will retry", "error", err)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x.cancel, x.ended = cancel, make(chan struct{})
	go x.run(own)
	return x, nil
}

// switchPauses are the pauses after failures.
var switchPauses = retry.Backoff{First: time.Second, Max: 30 * time.Second}

// noteTime is how often it is noted that extraction is still on: the bucket forgets what
// was not written for two weeks by default. One that forgets sooner has four notes in
// that time.
const (
	noteTime  = time.Hour
	notesEach = 4
)

// run follows the settings until ctx ends.
func (x *switched) run(ctx context.Context) {
	defer close(x.ended)
	every := noteTime
	if age := x.turns.Age(); age > 0 {
		every = min(every, age/notesEach)
	}
	note := time.NewTicker(max(every, time.Second))
	defer note.Stop()
	failures := 0
	for {
		if x.failed() == nil {
			failures = 0
			select {
			case <-ctx.Done():
				return
			case <-x.changes:
			case <-note.C:
			}
		} else if failures++; switchPauses.Wait(ctx, failures) != nil {
			return
		}
		if err := x.follow(ctx); err != nil && ctx.Err() == nil {
			x.log.Warn("extraction not switched, will retry", "error", err)
		}
	}
}

// follow starts or stops to take events, as the settings say.
func (x *switched) follow(ctx context.Context) (err error) {
	sink := x.taking()
	if x.service.Settings().Extract {
		sink, err = x.on(ctx, sink)
	} else {
		sink, err = x.off(ctx, sink)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sink, x.fault = sink, err
	return err
}

// on notes that extraction is on, and takes events unless sink does.
func (x *switched) on(ctx context.Context, sink part.Taking) (part.Taking, error) {
	if sink == nil {
		if _, err := bus.Provision(ctx, x.stream.JS, x.layout(true)); err != nil {
			return nil, err
		}
	}
	since, err := x.turns.SwitchOn(ctx)
	if err != nil || sink != nil {
		return sink, err
	}
	s := x.stream
	// A durable that is deleted meanwhile begins with the whole stream again: it lacks
	// what was stored since then.
	s.Layout = x.layout(false)
	if sink, err = x.take(since)(ctx, s); err != nil {
		return nil, err
	}
	x.log.Info("extracting experiences", "hook", x.durable.Hooks[0], "since", since)
	return sink, nil
}

// layout returns the system's layout with the durable, see [bus.Durable.FromNow].
func (x *switched) layout(fromNow bool) bus.Layout {
	l, d := x.stream.Layout, x.durable
	d.FromNow = fromNow
	l.More = append(slices.Clone(l.More), d)
	return l
}

// off stops sink, and notes that extraction is off.
func (x *switched) off(ctx context.Context, sink part.Taking) (part.Taking, error) {
	if sink != nil {
		if err := sink.Stop(ctx); err != nil {
			return sink, err
		}
		x.log.Info("no longer extracting experiences", "hook", x.durable.Hooks[0])
	}
	if err := x.turns.SwitchOff(ctx); err != nil {
		return nil, fmt.Errorf("extraction is off, but the next start may read what came meanwhile: %w", err)
	}
	return nil, nil
}

func (x *switched) taking() part.Taking {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sink
}

func (x *switched) failed() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fault
}

// Check implements [part.Taking].
func (x *switched) Check(ctx context.Context) error {
	if sink := x.taking(); sink != nil {
		return sink.Check(ctx)
	}
	return x.failed()
}

// CatchUp implements [part.Taking].
func (x *switched) CatchUp(ctx context.Context, most time.Duration) {
	if sink := x.taking(); sink != nil {
		sink.CatchUp(ctx, most)
	}
}

// Stop implements [part.Taking].
func (x *switched) Stop(ctx context.Context) error {
	x.cancel()
	select {
	case <-x.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if sink := x.taking(); sink != nil {
		return sink.Stop(ctx)
	}
	return nil
}
