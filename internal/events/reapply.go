package events

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
)

// Range is a part of the event stream. The zero value is the whole stream.
type Range struct {
	// After is the sequence before the first; 0 means the first one of the stream.
	After uint64
	// Until is the last sequence; 0 means the current last sequence.
	Until uint64
	// Session, a session id or key, restricts the range to one session.
	Session string
}

// Place is where a stream ends, and how far a durable has got.
type Place struct {
	// Created distinguishes the stream from an earlier one of the same name.
	Created time.Time
	// First and Last are the sequences of the oldest and the newest event.
	First, Last uint64
	// Applied is the sequence up to which every event was applied by some
	// process, Delivered the sequence up to which events were delivered.
	Applied, Delivered uint64
	// Taken reports whether some process takes or holds events at present.
	Taken bool
}

// End returns the sequence that the stream has reached. A leader that has just been
// elected may not have read all of its own copy.
func (p Place) End() uint64 { return max(p.Last, p.Delivered) }

// Where returns the place of the durable with the name of the queue group.
func Where(ctx context.Context, js jetstream.JetStream, l bus.Layout) (Place, error) {
	stream, err := bus.FindStream(ctx, js, l.Stream)
	if err != nil {
		return Place{}, fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	durable, err := bus.FindConsumer(ctx, js, l.Stream, l.QueueGroup)
	if err != nil {
		return Place{}, fmt.Errorf("durable %s: %w", l.QueueGroup, err)
	}
	s, d := stream.CachedInfo(), durable.CachedInfo()
	if err := cmp.Or(bus.RequireLeader(s.Cluster), bus.RequireLeader(d.Cluster)); err != nil {
		return Place{}, fmt.Errorf("stream %s, durable %s: %w", l.Stream, l.QueueGroup, err)
	}
	return Place{
		Created: s.Created, First: s.State.FirstSeq, Last: s.State.LastSeq,
		Applied: d.AckFloor.Stream, Delivered: d.Delivered.Stream,
		Taken: d.NumWaiting > 0 || d.NumAckPending > 0,
	}, nil
}

// Reapplied counts what [Reapply] did.
type Reapplied struct {
	// Events were read, of which Unreadable could not be decoded.
	Events, Unreadable int
	// Failed counts the events that could not be applied, Sessions names their
	// sessions.
	Failed   int
	Sessions []string
}

// ReapplyOptions describe which events are applied again, and how.
type ReapplyOptions[F any] struct {
	JS      jetstream.JetStream
	Layout  bus.Layout
	Range   Range
	Handler Handler[F]
	// Progress, which may be nil, receives the number of events done and the
	// total.
	Progress func(done, total int)
	Log      *slog.Logger
}

// Reapply reads events of the stream and applies them, whether or not they were
// applied before. The durables are not affected. It may run concurrently with
// sinks that apply the same events.
//
// The error is that of the stream, or of a store that is not available. Events
// that fail on their own are logged and counted.
func Reapply[F any](ctx context.Context, o ReapplyOptions[F]) (Reapplied, error) {
	if err := o.Handler.validate(); err != nil {
		return Reapplied{}, fmt.Errorf("reapplying events: %w", err)
	}
	var config jetstream.OrderedConsumerConfig
	if o.Range.Session != "" {
		config.FilterSubjects = []string{o.Layout.Prefix.EventsOfSession(o.Range.Session)}
	}
	if o.Range.After > 0 {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, o.Range.After+1
	}
	var out Reapplied
	err := bus.ReadStream(ctx, o.JS, o.Layout, config, o.Range.Until, func(portion []jetstream.Msg, total int) error {
		sessions := make(map[string][]F)
		for _, m := range portion {
			ev, err := o.Handler.decode(o.Layout.Prefix, m)
			if err != nil {
				out.Unreadable++ // a dead letter since its first delivery
				continue
			}
			if ev.Session != "" {
				sessions[ev.Session] = append(sessions[ev.Session], ev.Fact)
			}
		}
		failed, names, err := applySessions(ctx, o.Handler, sessions, o.Log)
		out.Events += len(portion)
		out.Failed += failed
		out.Sessions = append(out.Sessions, names...)
		if err == nil && o.Progress != nil {
			o.Progress(out.Events, max(total, out.Events))
		}
		return err
	})
	return out, err
}

func applySessions[F any](
	ctx context.Context, handler Handler[F], sessions map[string][]F, log *slog.Logger,
) (failed int, names []string, err error) {
	var (
		mu       sync.Mutex
		failures = make(map[string]error)
		work     errgroup.Group
	)
	work.SetLimit(appliers)
	for session, facts := range sessions {
		work.Go(func() error {
			if err := panics.Catch(func() error { return handler.Apply(ctx, facts) }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures[session] = err
			}
			return nil
		})
	}
	_ = work.Wait()
	for session, err := range failures {
		if fault := cmp.Or(handler.Check(ctx), temporary(err)); fault != nil {
			return failed, names, fmt.Errorf("events cannot be applied: %w", fault)
		}
		failed += len(sessions[session])
		names = append(names, session)
		log.WarnContext(ctx, "events of session not reapplied", "session", session, "events", len(sessions[session]), "error", err)
	}
	return failed, names, nil
}
