package knowhub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"intenthint/payload"
	"intenthint/subjects"
)

// Extracted remembers, for all processes, the events from which experiences
// were extracted; [bucket.Turns] implements it.
type Extracted interface {
	Extracted(ctx context.Context, eventID string) (bool, error)
	SetExtracted(ctx context.Context, eventID string) error
}

// Fact is an event with the messages of a session, from which experiences are
// extracted.
type Fact struct {
	eventID  string
	turn     payload.Context
	from     Extraction // without its messages
	messages []payload.Message
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
	return cmp.Or(turn.Session(), env.ID), Fact{
		eventID: env.ID, turn: turn, messages: messages, from: Extraction{AgentID: turn.Agent(), SessionKey: turn.SessionKey},
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

// Apply extracts experiences from facts, each within [ExtractTime]. A
// redelivered fact is not extracted from again. The error is that of a model, a
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
	if !of(f.turn, k.Service.Settings().Serves) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ExtractTime)
	defer cancel()
	if err := k.Check(ctx); err != nil {
		return err // before a model is paid for what may be a duplicate
	}
	known, err := k.Extracted.Extracted(ctx, f.eventID)
	if err != nil || known {
		return err
	}
	_, err = k.Service.extract(ctx, f.from, f.messages)
	if errors.Is(err, errNoModel) {
		return nil // no model to ask
	}
	if err != nil {
		return err
	}
	return k.Extracted.SetExtracted(ctx, f.eventID)
}
