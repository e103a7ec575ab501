package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"intenthint/config"
	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// Errors of [Forgetter.Forget].
var (
	// ErrInUse reports a session that continued while it was being forgotten.
	ErrInUse = errors.New("session in use")
	// errRebuilding reports a store that another process rebuilds: it may bring a
	// session back.
	errRebuilding = errors.New("sessions are being rebuilt, try again later")
	// errNotNotified reports that the consumer processes could not be notified.
	errNotNotified = errors.New("session removed, but running consumers still remember its last messages until they restart")
)

// Forgetter forgets sessions for good.
type Forgetter struct {
	bus      *bus.Bus
	layout   bus.Layout
	sessions store.Store
	letters  *events.DeadLetters
	parts    []part.Forget
	rebuild  store.Rebuild
}

// Forgotten is what was removed of a session.
type Forgotten struct {
	// Stored are the files, or the keys in the bucket.
	Stored              []string
	Events, DeadLetters int
	// Parts are what the parts of the program have removed, by what it is.
	Parts map[string]int
	// Whole is set once nothing is left, also if an error says that something else could
	// not be done.
	Whole bool
}

// Nothing reports whether nothing was removed.
func (f Forgotten) Nothing() bool {
	return len(f.Stored) == 0 && f.Events == 0 && f.DeadLetters == 0 && len(f.Parts) == 0
}

// NewForgetter returns a forgetter for the store of a system. The store must come from
// [OpenSystemStore]: with any other store the events would be deleted while the
// documents stay elsewhere. No session is rebuilt until Close.
func NewForgetter(ctx context.Context, cfg *config.Config, b *bus.Bus, sessions store.Store) (*Forgetter, error) {
	f := &Forgetter{bus: b, layout: Layout(cfg), sessions: sessions}
	var err error
	if f.letters, err = events.OpenDeadLetters(ctx, b.JS, f.layout); err != nil {
		return nil, err
	}
	for _, p := range Parts() {
		if p.Forget == nil {
			continue
		}
		forget, err := p.Forget(ctx, f.layout, b.JS)
		if err != nil {
			return nil, err
		}
		if forget.Do != nil {
			f.parts = append(f.parts, forget)
		}
	}
	var ok bool
	if f.rebuild, ok, err = sessions.Rebuilding(ctx); err != nil {
		return nil, err
	} else if !ok {
		return nil, errRebuilding
	}
	return f, nil
}

// Close lets sessions be rebuilt again.
func (f *Forgetter) Close() { f.rebuild.Release() }

// trail returns what the streams hold of a session with this id, or key.
func (f *Forgetter) trail(session, key string) events.Trail {
	// An unanswered turn belongs to the session whatever the rules say.
	decoder := handlers.Decoder{Begin: func(payload.Context, payload.BeforePromptBuild) ([]payload.Turn, bool) { return nil, true }}
	return events.Trail{
		JS: f.bus.JS, Layout: f.layout, Session: session, Key: key,
		SessionOf: func(msgID string, data []byte) string {
			session, _, _, err := decoder.Fact("", msgID, data)
			if err != nil {
				return ""
			}
			return session
		},
	}
}

// Traces returns the number of events and dead letters of a session.
func (f *Forgetter) Traces(ctx context.Context, session string) (int, error) {
	trail := f.trail(session, "")
	n, _, err := trail.Count(ctx)
	if err != nil {
		return 0, err
	}
	letters, err := trail.Letters(ctx, f.letters)
	return n + len(letters), err
}

// maxRounds bounds how often the removal is repeated for a session that
// continues.
const maxRounds = 4

// Forget removes a session from the streams and the store. session is its id, or
// the key of one without an id; key, which may be "", is the key of one with an
// id.
//
// Its events are deleted only once the consumer processes have applied them, and
// the document after them. This is repeated until nothing is left: no event in
// flight can bring back a part of the session. The error is [ErrInUse] if
// events keep arriving, or are not applied. What parts keep of it goes before the
// document and once more at the end, so that after an error the session is still found.
func (f *Forgetter) Forget(ctx context.Context, session, key string) (out Forgotten, err error) {
	trail, token := f.trail(session, key), subjects.Name(session)
	if err := f.forgetParts(ctx, session, &out); err != nil {
		return out, err
	}
	var notRecorded error
	for round := 1; ; round++ {
		n, last, err := trail.Count(ctx)
		if err != nil {
			return out, err
		}
		settled := true
		if n > 0 {
			if !f.bus.Embedded() { // else there is no other process
				if settled, err = events.Settled(ctx, f.bus.JS, f.layout, last); err != nil {
					return out, err
				}
			}
			if err := trail.Erase(ctx, last); err != nil {
				return out, err
			}
			out.Events += n
		}
		stored, err := f.sessions.Remove(ctx, token)
		if len(out.Stored) == 0 {
			out.Stored = stored
		}
		if errors.Is(err, store.ErrNotRecorded) { // it is removed, and so must be the rest
			notRecorded, err = err, nil
		}
		switch {
		case err != nil:
			return out, errors.Join(notRecorded, err)
		case !settled:
			return out, errors.Join(notRecorded, fmt.Errorf("%w: a consumer has not applied all events, and may bring a part of %q back; remove it again", ErrInUse, session))
		case n == 0 && len(stored) == 0:
			notNotified := f.notify(session)
			err := f.removeLetters(ctx, trail, &out)
			if err == nil {
				err = f.forgetParts(ctx, session, &out)
			}
			out.Whole = err == nil
			return out, errors.Join(notRecorded, err, notNotified)
		case round == maxRounds:
			return out, errors.Join(notRecorded, fmt.Errorf("%w: events of %q keep arriving; remove it again when it has ended", ErrInUse, session))
		}
	}
}

// notify makes the consumer processes forget what the session's user said, and the
// answers to its runs. The error wraps errNotNotified.
func (f *Forgetter) notify(session string) error {
	before := f.bus.NC.LastError()
	var err error
	// Consumers of an earlier version, which may run during an upgrade, know
	// session_end only: it makes them forget messages and hints.
	for _, hook := range []string{subjects.HookSessionRemoved, subjects.HookSessionEnd} {
		signal := payload.EncodeSignal(hook, nuid.Next(), time.Now().UnixMilli(), payload.Context{SessionID: session})
		err = errors.Join(err, f.bus.NC.Publish(f.layout.Prefix.Runs(), signal))
	}
	if err == nil {
		err = f.bus.NC.Flush()
	}
	if err == nil {
		err = refusal(f.bus.NC, before)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotNotified, err)
	}
	return nil
}

// forgetParts removes what the parts of the program keep of a session.
func (f *Forgetter) forgetParts(ctx context.Context, session string, out *Forgotten) error {
	for _, p := range f.parts {
		n, err := p.Do(ctx, session)
		if n > 0 {
			if out.Parts == nil {
				out.Parts = map[string]int{}
			}
			out.Parts[p.What] += n
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Forgetter) removeLetters(ctx context.Context, trail events.Trail, out *Forgotten) error {
	letters, err := trail.Letters(ctx, f.letters)
	if err != nil {
		return err
	}
	for _, sequence := range letters {
		if err := f.letters.Remove(ctx, sequence); err != nil {
			return err
		}
		out.DeadLetters++
	}
	return nil
}
