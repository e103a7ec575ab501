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
		Hook: subjects.HookFeedback, Event: event, Ctx: payload.JSON(about), TS: time.Now().UnixMilli(), ID: id,
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
	switch denied := refusal(js.Conn(), before); {
	case denied != nil:
		err = denied
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		err = fmt.Errorf("no stream takes %s (consumer stream plan)", subject)
	}
	return fmt.Errorf("feedback not published: %w", err)
}

// refusal returns the last error of a connection if it means that the server
// dropped a message for lack of permission, else nil: the server gives no other
// answer. before is the last error of the connection before the message was
// sent.
func refusal(nc *nats.Conn, before error) error {
	last := nc.LastError()
	if last == before || !errors.Is(last, nats.ErrPermissionViolation) { //nolint:errorlint // not the same error as before
		return nil
	}
	return last
}
