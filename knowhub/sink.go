package knowhub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/extract"
	"intenthint/model/provider"
	"intenthint/payload"
	"intenthint/subjects"
)

// Extracted remembers, for all processes, the turns from which experiences were
// extracted, by their key, and their events, by their id; [bucket.Turns] implements it.
type Extracted interface {
	Extracted(ctx context.Context, id string) (bool, error)
	SetExtracted(ctx context.Context, id string) error
}

// Fact is an event with the messages of a session, from which experiences are
// extracted.
type Fact struct {
	eventID  string
	hook     string
	session  string
	ts       int64 // of the event
	since    int64 // turns before it are not read, by the clock of ts; 0 for all
	turn     payload.Context
	from     Extraction // without its messages
	messages []payload.Message
}

// Since returns a fact whose event was stored at a time, if that was after since;
// otherwise ok is false. Of its turns those from before since are not read. since and
// stored are by the server's clock, and the gateway's counts as set by the event's ts.
func (f Fact) Since(since, stored time.Time) (_ Fact, ok bool) {
	f.since = f.ts - stored.Sub(since).Milliseconds()
	return f, stored.After(since)
}

// turns returns the turns that the model may read. A run that ended is one turn,
// however much of its session the event holds. Turns of an unknown time are read.
func (f Fact) turns() []extract.Turn {
	turns := extract.Turns(f.messages)
	if f.hook == subjects.HookAgentEnd {
		return extract.Ended(turns)
	}
	return slices.DeleteFunc(turns, func(t extract.Turn) bool { return t.At > 0 && t.At < f.since })
}

// DecodeFact decodes an event. The session is "" for an event to ignore: of a hook
// other than trigger, of a run that no person began, or without messages. Events of
// another hook arrive if the system's durable was set up for that hook. An event that
// cannot be decoded is ignored too where the sink of the sessions makes it a dead
// letter; that sink does not read before_compaction, so there it is an error.
func DecodeFact(trigger, named, msgID string, data []byte) (session, hook string, f Fact, err error) {
	env, err := payload.DecodeEvent(named, msgID, data)
	if err != nil && named == subjects.HookBeforeCompaction && trigger == named {
		return "", named, Fact{}, err
	}
	if err != nil || env.Hook != trigger {
		return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
	}
	session, f, err = factOf(env)
	if env.Hook != subjects.HookBeforeCompaction {
		err = nil
	}
	return session, env.Hook, f, err
}

// factOf decodes an event's parts. The session is "" for an event to ignore, also
// with an error.
func factOf(env payload.Envelope) (session string, f Fact, err error) {
	turn, err := payload.DecodeContext(env.Ctx)
	if err != nil || !turn.OfPerson() {
		return "", Fact{}, err
	}
	var event struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(env.Event, &event); err != nil || len(event.Messages) == 0 || string(event.Messages) == "null" {
		return "", Fact{}, err
	}
	messages, err := messagesOf(event.Messages)
	if err != nil {
		return "", Fact{}, err
	}
	session = cmp.Or(turn.Session(), env.ID)
	return session, Fact{
		eventID: env.ID, hook: env.Hook, session: session, ts: env.TS, turn: turn, messages: messages, from: Extraction{AgentID: turn.Agent(), SessionKey: turn.SessionKey},
	}, nil
}

// Sink extracts experiences from facts. It is idempotent and independent of
// their order.
type Sink struct {
	Service   *Service
	Extracted Extracted
}

// Check returns why repeated experiences cannot be recognised at present, or nil.
func (k *Sink) Check(context.Context) error {
	if !k.Service.Copy.Ready() {
		return errIncomplete
	}
	return nil
}

// Apply extracts experiences from facts, each within [ExtractTime]. A turn that was
// extracted from before is not extracted from again. The error is that of a model, a
// bucket or the index. Without a model nothing is extracted, and there is no error.
func (k *Sink) Apply(ctx context.Context, facts []Fact) error {
	for _, f := range facts {
		if err := k.apply(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (k *Sink) apply(ctx context.Context, f Fact) error {
	ctx, cancel := context.WithTimeout(ctx, ExtractTime)
	defer cancel()
	if err := k.Check(ctx); err != nil {
		return err // before a model is paid for what may be a duplicate
	}
	unread, ok, err := k.Unread(ctx, f)
	if err != nil || !ok {
		return err
	}
	_, err = k.Extract(ctx, unread)
	if errors.Is(err, errNoModel) {
		return nil // no model to ask
	}
	return err
}

// Unread is what the model was not asked yet of a fact.
type Unread struct {
	// Turns is how many turns it is, Bytes the size of the prompt.
	Turns, Bytes int

	request provider.Request
	from    Extraction
	keys    []string // of the turns, and the event's id
}

// Unread returns the turns of a fact that the model has not read; ok is false if there
// are none, or none that the rules about agents and chats let through.
func (k *Sink) Unread(ctx context.Context, f Fact) (u Unread, ok bool, err error) {
	if !of(f.turn, k.Service.Settings().Serves) {
		return Unread{}, false, nil
	}
	known, err := k.Extracted.Extracted(ctx, f.eventID)
	if err != nil || known {
		return Unread{}, false, err
	}
	var messages []payload.Message
	for _, turn := range f.turns() {
		key := turn.Key(f.session)
		known, err := k.Extracted.Extracted(ctx, key)
		if err != nil {
			return Unread{}, false, err
		}
		if !known {
			u.keys, messages = append(u.keys, key), append(messages, turn.Messages...)
		}
	}
	u.request, ok = k.Service.question(messages)
	u.from, u.Turns, u.Bytes = f.from, len(u.keys), len(u.request.System)+len(u.request.User)
	u.keys = append(u.keys, f.eventID)
	return u, ok, nil
}

// Extract asks the model, stores what it found, and notes the turns as extracted.
func (k *Sink) Extract(ctx context.Context, u Unread) ([]experience.Experience, error) {
	found, err := k.Service.ask(ctx, u.from, u.request)
	if err != nil {
		return found, err
	}
	for _, key := range u.keys {
		if err := k.Extracted.SetExtracted(ctx, key); err != nil {
			return found, err
		}
	}
	return found, nil
}
