package triage

import (
	"cmp"
	"context"
	"time"

	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// Fact is an event for the gate: a mark, a message that the agent sent, or a
// turn whose request got no answer. Exactly one of them is set.
type Fact struct {
	Mark       *state.Mark
	Sent       *Sent
	Unanswered *state.Turn
}

// Sent is a message of the agent in a group.
type Sent struct {
	Group   string
	Message state.RecentMessage
}

// maxID bounds the ids of groups and messages, in bytes: they are stored.
const maxID = 4096

// DecodeFact decodes an event. named is the hook that its subject names. The group is "" for an event to ignore. An event
// that cannot be decoded is ignored too where the sink of the sessions makes it a
// dead letter; that sink does not read message_sent, so there it is an error.
func DecodeFact(named, msgID string, data []byte) (group, hook string, f Fact, err error) {
	env, err := payload.DecodeEvent(named, msgID, data)
	if err != nil {
		if named != subjects.HookMessageSent {
			err = nil
		}
		return "", named, Fact{}, err
	}
	switch env.Hook {
	case subjects.HookFeedback:
		e, err := payload.DecodeFeedback(env.Event)
		if err != nil || e.Kind != payload.FeedbackTriage || len(e.Group) > maxID || len(e.MessageID) > maxID {
			return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
		}
		return e.Group, env.Hook, Fact{Mark: &state.Mark{
			Group: e.Group, MessageID: e.MessageID, Verdict: e.Verdict, By: text.Cut(e.By, maxSender), At: env.TS, ID: env.ID,
		}}, nil
	case subjects.HookMessageSent:
		e, err := payload.DecodeMessageSent(env.Event, env.Ctx)
		if err != nil {
			return "", env.Hook, Fact{}, err
		}
		if e.Failed || e.Text == "" || len(e.SessionKey) > maxID || len(e.MessageID) > maxID {
			return "", env.Hook, Fact{}, nil
		}
		return e.SessionKey, env.Hook, Fact{Sent: &Sent{e.SessionKey, state.RecentMessage{
			ID: cmp.Or(e.MessageID, env.ID), At: env.TS, Text: text.Cut(e.Text, maxContent), Bot: true,
		}}}, nil
	case subjects.HookBeforePromptBuild:
		ctx, err := payload.DecodeContext(env.Ctx)
		if err != nil || ctx.RunID == "" {
			return "", env.Hook, Fact{}, nil //nolint:nilerr // see above
		}
		return ctx.SessionKey, env.Hook, Fact{Unanswered: &state.Turn{Group: ctx.SessionKey, Run: ctx.RunID, Request: env.ID}}, nil
	}
	return "", env.Hook, Fact{}, nil
}

// SinkState stores facts.
type SinkState interface {
	Decision(ctx context.Context, group, messageID string) (d state.Decision, ok bool, err error)
	Mark(ctx context.Context, m state.Mark) error
	Complete(ctx context.Context, d state.Decision) error
	Remember(ctx context.Context, group string, m state.RecentMessage, k state.Keep) (before []state.RecentMessage, err error)
	PutBack(ctx context.Context, turn state.Turn) error
}

// Sink applies facts. It is idempotent and independent of their order.
type Sink struct {
	State SinkState
	// Settings returns the settings in force.
	Settings func() *Settings
}

// Apply stores people's marks, with the text of the decision, and the agent's
// messages if any setting needs them. Skipped messages told to a turn that did
// not get them are told to the next turn.
func (s Sink) Apply(ctx context.Context, facts []Fact) error {
	for _, f := range facts {
		var err error
		switch {
		case f.Mark != nil:
			err = s.mark(ctx, *f.Mark)
		case f.Sent != nil:
			err = s.sent(ctx, *f.Sent)
		case f.Unanswered != nil:
			err = s.State.PutBack(ctx, *f.Unanswered)
		}
		if err != nil {
			return away{err}
		}
	}
	return nil
}

func (s Sink) mark(ctx context.Context, m state.Mark) error {
	d, _, err := s.State.Decision(ctx, m.Group, m.MessageID)
	if err != nil {
		return err
	}
	m.Text = d.Text
	if err := s.State.Mark(ctx, m); err != nil {
		return err
	}
	if d.Text == "" {
		// A gate that did not know the mark may have decided meanwhile; later the gate
		// completes the mark.
		if d, _, err = s.State.Decision(ctx, m.Group, m.MessageID); err != nil || d.Text == "" {
			return err
		}
	}
	// When the event comes again after a failure, Mark changes nothing: the mark may
	// have been stored without the text.
	return s.State.Complete(ctx, d)
}

func (s Sink) sent(ctx context.Context, sent Sent) error {
	set := s.Settings()
	k := set.keep()
	_, outside := set.Outside(Message{Group: sent.Group})
	if k.Texts == 0 || outside || time.Since(time.UnixMilli(sent.Message.At)) > state.Forgotten {
		return nil
	}
	if set.Redact {
		sent.Message.Text = redact.Text(sent.Message.Text)
	}
	sent.Message.Sender, sent.Message.Text = agentSender, line(sent.Message.Text, maxLine)
	_, err := s.State.Remember(ctx, sent.Group, sent.Message, k)
	return err
}

// agentSender is the sender of the agent's own messages.
const agentSender = "assistant"

// away is the error of an unavailable store. It is not the fault of the facts.
type away struct{ error }

// Temporary makes the sink retry the events without limit.
func (away) Temporary() bool { return true }

// Unwrap returns the cause.
func (a away) Unwrap() error { return a.error }
