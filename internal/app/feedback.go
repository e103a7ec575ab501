package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"intenthint/internal/bus"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// FeedbackContext is the context of feedback on a run of a session; agent, unless
// "", is the agent's name in place of the session's.
func FeedbackContext(session store.Summary, run, agent string) payload.Context {
	return payload.Context{
		RunID: run, AgentID: cmp.Or(agent, session.AgentID, payload.Context{SessionKey: session.SessionKey}.Agent()),
		SessionID: session.SessionID, SessionKey: session.SessionKey,
	}
}

// PublishFeedback publishes a feedback event (contract §11), and waits until the
// stream has it. The error wraps [nats.ErrPermissionViolation] if the user may not
// publish it.
func PublishFeedback(ctx context.Context, js jetstream.JetStream, l bus.Layout, about payload.Context, said payload.Feedback) error {
	event, err := json.Marshal(said)
	if err != nil {
		return err
	}
	id := nuid.Next()
	body, err := json.Marshal(payload.Envelope{
		Hook: subjects.HookFeedback, Event: event, Ctx: about.Append(nil), TS: time.Now().UnixMilli(), ID: id,
	})
	if err != nil {
		return err
	}
	subject := l.Prefix.Event(subjects.HookFeedback, about.Agent(), about.Session())
	before := js.Conn().LastError()
	_, err = js.Publish(ctx, subject, body, jetstream.WithMsgID(id), jetstream.WithExpectStream(l.Stream))
	if err == nil {
		return nil
	}
	switch denied := js.Conn().LastError(); {
	case denied != before && errors.Is(denied, nats.ErrPermissionViolation): //nolint:errorlint // another one than before
		err = denied // the server drops what a user may not send
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		err = fmt.Errorf("no stream takes %s (consumer stream plan)", subject)
	}
	return fmt.Errorf("feedback not published: %w", err)
}
