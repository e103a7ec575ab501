package hint

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/hint/run"
	"intenthint/payload"
	"intenthint/subjects"
)

// begin publishes the turn_begun event, and broadcasts it to the other processes.
// A turn with neither a session id nor a key is not tracked. The broadcast goes
// out right before the reply, on the same connection: other processes know of
// the turn before a retry can arrive, and one socket write takes both.
func (h *Hinter) begin(t turn, a run.Answer) {
	session := t.req.Context.Session()
	if session == "" {
		return
	}
	ts := t.req.Envelope.TS
	if ts <= 0 {
		ts = t.req.Received.UnixMilli() // a turn begins when its hint is asked for
	}
	id := nuid.Next()
	m := &nats.Msg{Subject: h.Prefix.Event(subjects.HookTurnBegun, t.agent, session), Data: h.encode(t, a, ts, id), Header: nats.Header{}}
	m.Header.Set(subjects.HeaderMsgID, id)
	if t.req.Traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, t.req.Traceparent)
	}
	body := m.Data // the publisher owns the message from now on
	h.Publisher.Publish(m)
	h.Answers.Tell(body)
}

// encode makes the message of a turn_begun, within the server's max_payload.
func (h *Hinter) encode(t turn, a run.Answer, ts int64, id string) []byte {
	limit := 0
	if h.MaxPayload > 0 {
		limit = int(h.MaxPayload) - headerRoom
	}
	return payload.EncodeTurnBegun(id, ts, t.req.Context, payload.TurnBegun{
		RunID: t.req.Context.RunID, Prompt: t.event.Prompt, Conversation: t.in.Conversation,
		Result: a.Result, Hint: a.Hint, Skip: string(a.Skip),
	}, limit)
}

// headerRoom is kept of the server's max_payload for headers, in bytes.
const headerRoom = 1024
