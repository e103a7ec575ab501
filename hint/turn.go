package hint

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/hint/conversation"
	"intenthint/hint/run"
	"intenthint/payload"
	"intenthint/subjects"
)

// begin publishes that the turn began, and tells the other processes. What has
// neither a session id nor a key is not tracked. A retry that follows the reply
// finds the other processes told: the broadcast is on the connection of the
// reply, right before it, so that one write to the socket takes both.
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
	body := m.Data // the message is the publisher's from now on
	h.Publisher.Publish(m)
	h.Answers.Tell(body)
}

// encode makes the message of a turn_begun, the conversation at its end. It
// leaves out the oldest of one that is too long for the server, as gateways do
// with theirs, and then the end of the prompt.
func (h *Hinter) encode(t turn, a run.Answer, ts int64, id string) []byte {
	begun := payload.TurnBegun{RunID: t.req.Context.RunID, Prompt: t.event.Prompt, Result: a.Result, Hint: a.Hint, Skip: string(a.Skip)}
	body := payload.AppendTurnBegun(make([]byte, 0, 4096), subjects.HookTurnBegun, id, ts, t.req.Context, begun)
	turns, size := t.conversation, len(body)+envelopeRoom
	for _, turn := range turns {
		size += len(turn) + 1
	}
	for h.MaxPayload > 0 && int64(size) > h.MaxPayload {
		if len(turns) == 0 {
			begun.Prompt = cut(begun.Prompt, size-int(h.MaxPayload))
			body = payload.AppendTurnBegun(body[:0], subjects.HookTurnBegun, id, ts, t.req.Context, begun)
			break
		}
		size -= len(turns[0]) + 1
		turns = turns[1:]
	}
	body = slices.Grow(bytes.TrimSuffix(body, []byte("}}")), size)
	body = append(body, `,"conversation":[`...)
	for i, turn := range turns {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, turn...)
	}
	return append(body, "]}}"...)
}

// cut shortens a text so that it takes at least so many bytes less in JSON, or
// is all but empty. Only its end is looked at: no byte takes less than one.
func cut(text string, bytes int) string {
	bytes += len(conversation.Truncated)
	from := max(0, len(text)-bytes)
	n := sort.Search(len(text)-from, func(n int) bool { return len(payload.AppendString(nil, text[from+n:]))-len(`""`) < bytes })
	return strings.ToValidUTF8(text[:from+max(n-1, 0)], "") + conversation.Truncated
}

// envelopeRoom is kept of the server's max_payload for headers, in bytes.
const envelopeRoom = 1024
