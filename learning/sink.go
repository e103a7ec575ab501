package learning

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"intenthint/intents"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/subjects"
)

// Fact is an event of a turn that may be a lesson: feedback on it, or a model's
// answer.
type Fact struct {
	Session, Run string
	// Chat identifies the chat, see [record.Lesson].
	Chat string
	// Key is the key of the feedback; the zero value for an answer.
	Key store.Key
}

// FromPerson reports whether the fact is feedback of a person.
func (f Fact) FromPerson() bool { return f.Key != store.Key{} }

// DecodeFact decodes an event. named is the hook that its subject names. The session is "" for an event to ignore. An
// event that cannot be decoded is ignored too: the sink of the sessions also
// gets it, and makes it a dead letter.
func DecodeFact(named, msgID string, data []byte) (session, hook string, f Fact, err error) {
	env, err := payload.DecodeEvent(named, msgID, data)
	if err != nil {
		return "", "", Fact{}, nil //nolint:nilerr // see above
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
	}
	session = ctx.Session()
	switch env.Hook {
	case subjects.HookFeedback:
		e, err := payload.DecodeFeedback(env.Event)
		if err != nil || e.Kind != payload.FeedbackHint {
			return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
		}
		return session, env.Hook, Fact{session, e.RunID, chatOf(ctx), store.Key{TS: env.TS, ID: env.ID}}, nil
	case subjects.HookTurnBegun:
		e, err := payload.DecodeTurnBegun(env.Event)
		if err != nil || !confident(e.Result) {
			return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
		}
		run := e.RunID
		if run == "" {
			run = ctx.RunID
		}
		if run == "" {
			return "", env.Hook, Fact{}, nil
		}
		return session, env.Hook, Fact{Session: session, Run: run, Chat: chatOf(ctx)}, nil
	}
	return "", env.Hook, Fact{}, nil
}

// chatBytes is the length of the hash that identifies a chat: enough for millions.
const chatBytes = 8

// chatOf returns a hash of the session key, which may hold a phone number.
func chatOf(ctx payload.Context) string {
	if ctx.SessionKey == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.ToLower(ctx.SessionKey)))
	return hex.EncodeToString(sum[:chatBytes])
}

// confident reports whether a model's answer is confident enough to be learnt.
func confident(r *payload.Classification) bool {
	return r != nil && payload.OfModel(r.Source) && r.Confidence >= record.LessonConfidence && r.Intent != intents.FallbackID
}

// Sink makes examples from facts. It is idempotent and independent of their
// order.
type Sink struct {
	Store    *Store
	Sessions store.Reader
	// MinConfidence returns the confidence below which no hint was given.
	MinConfidence func() float64
	// Suspect reports whether a text looks like a prompt injection. It is not stored.
	Suspect func(text string) bool
	// Refuses reports whether a lesson from a model is not worth storing.
	Refuses func(record.Lesson) bool
	// Applied returns the sequence of the stream up to which events are in the
	// sessions, and the stream's last sequence.
	Applied func(ctx context.Context) (applied, last uint64, err error)
	// Ending is closed when the process stops.
	Ending <-chan struct{}
	Log    *slog.Logger
}

// Pauses between attempts to find a turn that is not in the session store yet.
const (
	firstLook = 50 * time.Millisecond
	maxLook   = 2 * time.Second
)

// errEnding ends the wait for a turn; the event is redelivered to another
// process.
var errEnding = errors.New("stopping")

// Apply stores the lessons of the turns of facts.
func (s *Sink) Apply(ctx context.Context, facts []Fact) error {
	for _, f := range facts {
		turn, err := s.find(ctx, f)
		if err != nil {
			return err
		}
		if turn == nil {
			s.Log.Debug("nothing learnt, unknown run", "session", f.Session, "run", f.Run)
			continue
		}
		if err := s.learn(ctx, f, turn); err != nil {
			return store.Temporary(err)
		}
	}
	return nil
}

// learn stores the lesson of a turn, or retracts it if the turn is no longer a
// lesson.
func (s *Sink) learn(ctx context.Context, f Fact, turn *store.Turn) error {
	lesson, unfit := record.LessonOf(f.Session, turn, s.MinConfidence())
	if unfit == "" && s.Suspect(lesson.Text) {
		unfit = record.Suspicious
	}
	lesson.Chat = f.Chat
	switch {
	case unfit != "" && turn.Feedback != nil:
		return s.Store.Retract(ctx, f.Run, turn.Feedback.TS, turn.Feedback.ID)
	case unfit != "":
		s.Log.Debug("nothing learnt", "session", f.Session, "run", f.Run, "reason", string(unfit))
		return nil
	case !lesson.FromPerson() && s.Refuses(lesson):
		return nil
	}
	written, err := s.Store.Put(ctx, lesson)
	if !written {
		return err
	}
	level := slog.LevelDebug // most answers of a model
	if lesson.FromPerson() {
		level = slog.LevelInfo
	}
	s.Log.Log(ctx, level, "example learnt", "session", f.Session, "run", f.Run, "intent", lesson.Intent, "source", lesson.Source)
	return nil
}

// find returns the turn of a fact once the sessions include the fact, nil for
// an unknown run. Sessions are made from the same events and may lag behind:
// find waits until they have all events that are now in the stream. It waits for
// another sink, and nothing has failed: so the pauses are short, without jitter.
func (s *Sink) find(ctx context.Context, f Fact) (*store.Turn, error) {
	var until uint64
	caughtUp := false
	for pause := firstLook; ; pause = min(2*pause, maxLook) {
		turn, err := s.read(ctx, f)
		if err != nil || turn != nil && f.in(turn) || caughtUp {
			return turn, err
		}
		applied, last, err := s.Applied(ctx)
		if err != nil {
			return nil, store.Temporary(err)
		}
		if until == 0 {
			until = last
		}
		if caughtUp = applied >= until; caughtUp {
			continue // read once more: the sessions have changed since
		}
		select {
		case <-s.Ending:
			return nil, store.Temporary(errEnding)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// in reports whether a turn includes the fact, or a later one.
func (f Fact) in(turn *store.Turn) bool {
	if f.FromPerson() {
		return turn.Feedback != nil && turn.Feedback.Compare(f.Key) >= 0
	}
	return turn.Intent.Result != nil
}

// read returns the turn from the session store, nil if there is none.
func (s *Sink) read(ctx context.Context, f Fact) (found *store.Turn, err error) {
	err = record.Each(ctx, s.Sessions, f.Session, func(t *store.Turn) {
		if t.RunID == f.Run {
			found = t
		}
	})
	return found, err
}
