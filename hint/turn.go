package hint

import (
	"cmp"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/conversation"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/hint/run"
	"intenthint/intents"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/subjects"
)

// begin publishes the turn_begun event, and broadcasts it to the other processes.
// A turn with neither a session id nor a key is not tracked. The broadcast goes
// out right before the reply, on the same connection: other processes know of
// the turn before a retry can arrive, and one socket write takes both.
func (h *Hinter) begin(t turn, a run.Answer, asked *model.Use) {
	session := t.req.Context.Session()
	if session == "" {
		return
	}
	ts := t.began()
	last, kept := h.given(t, a, ts)
	id := nuid.Next()
	h.Answers.Earlier.Add(session, cmp.Or(t.req.Context.RunID, id), ts, t.latest)
	message := conversation.Beside(t.event)
	begun := payload.TurnBegun{
		RunID: t.req.Context.RunID, Prompt: conversation.Stored(t.event.Prompt, false), Message: conversation.Stored(message, false),
		Conversation: t.set.stored(t.in.Conversation), Earlier: len(t.in.Earlier),
		Result: a.Result, Hint: a.Hint, Skills: a.Skills, Skip: string(a.Skip), Last: last, Kept: kept,
		HeldOut: t.set.Holdout.of(session), ModelUse: useOf(asked),
	}
	body := h.encode(t, begun, ts, id)
	m := &nats.Msg{Subject: h.Prefix.Event(subjects.HookTurnBegun, t.agent, session), Data: body, Header: nats.Header{}}
	if t.set.Redact {
		// The broadcast is not redacted: it is not stored, and every process must
		// give a retry the same hint.
		said := append([]payload.Turn{{Text: begun.Prompt}, {Text: begun.Message}, {Text: t.latest}}, t.in.Earlier...)
		begun.Prompt, begun.Message = conversation.Stored(t.event.Prompt, true), conversation.Stored(message, true)
		begun.Conversation = t.set.recorded(t.event.Message(), t.latest, t.event.Messages)
		m.Data = h.encode(t, redacted(begun, t.set.stored(t.in.Conversation), said), ts, id)
	}
	m.Header.Set(subjects.HeaderMsgID, id)
	if t.req.Traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, t.req.Traceparent)
	}
	h.Publisher.Publish(m) // which owns the message from now on
	h.Answers.Tell(body)
}

// given records the hint of a turn that begins at ts. It returns the session's last
// hint after that, and what its conversation holds then, nil without a hint and where
// the gateway keeps none.
func (h *Hinter) given(t turn, a run.Answer, ts int64) (*payload.LastHint, *payload.KeptHints) {
	session := t.req.Context.Session()
	if a.Hint == "" {
		return h.Answers.Sessions.Begin(session, ts, nil), nil
	}
	now := t.lastHint(*a.Result)
	// A brief hint is all that there is to say, unless a compaction came after it was
	// made.
	now.Full = a.Full || now.Full && h.briefly(t, now)
	if !t.req.Context.KeepsHints {
		return h.Answers.Sessions.Begin(session, ts, &now), nil
	}
	now.Bytes = len(a.Hint)
	last := h.Answers.Sessions.Begin(session, ts, &now)
	kept := h.Answers.Sessions.Keep(session, *last, a.Full)
	return last, &kept
}

// amend tells all processes the hint that a retry was given and that the session
// did not know: the run's first request got none, or it was lost since. The stored
// event of the turn does not change. The prompt is left out, because that of a
// retry says nothing about the message.
func (h *Hinter) amend(t turn, a run.Answer) {
	ts := t.began()
	last, kept := h.given(t, a, ts)
	begun := payload.TurnBegun{RunID: t.req.Context.RunID, Result: a.Result, Hint: a.Hint, Skills: a.Skills, Last: last, Kept: kept}
	h.Answers.Amend(run.Key(t.req.Context), a)
	h.Answers.Tell(h.encode(t, begun, ts, nuid.Next()))
}

// useOf returns what a turn asked of models, nil if it asked none.
func useOf(asked *model.Use) *payload.ModelUse {
	calls, failed, usage := asked.Total()
	if calls == 0 {
		return nil
	}
	return &payload.ModelUse{Calls: calls, Failed: failed, Tokens: payload.Tokens{In: usage.InputTokens, Out: usage.OutputTokens}}
}

// lastHint returns the turn's hint as it is remembered.
func (t *turn) lastHint(c payload.Classification) payload.LastHint {
	last := repetition.Of(c, t.intent(c))
	last.Full = t.set.Style.Form != render.Brief && !t.ownHint()
	return last
}

// ownHint reports whether the hint is a keyword's own hint instead of the
// intent's prompt.
func (t *turn) ownHint() bool {
	return t.keyword != nil && t.keyword.Fastpath.Hint != ""
}

// intent returns the intent of a classification.
func (t *turn) intent(c payload.Classification) intents.Intent {
	if in, ok := t.catalog.Lookup(c.Intent); ok {
		return in
	}
	return t.catalog.Fallback()
}

// encode makes the message of a turn_begun, within the server's max_payload.
func (h *Hinter) encode(t turn, begun payload.TurnBegun, ts int64, id string) []byte {
	limit := 0
	if h.MaxPayload > 0 {
		limit = int(h.MaxPayload) - headerRoom
	}
	return payload.EncodeTurnBegun(id, ts, t.req.Context, begun, limit)
}

const (
	// headerRoom is the part of the server's max_payload reserved for headers, in
	// bytes.
	headerRoom = 1024
	// hintRoom is the part reserved for what a reply or a turn_begun event holds
	// besides the hint, the classification and the context, in bytes.
	hintRoom = 4 << 10
	// smallTurn is a generous size of a classification and a context, in bytes.
	smallTurn = 64 << 10
	// maxEscaped is how many bytes JSON takes for one byte, at most.
	maxEscaped = len(`\u0000`)
)

// fits reports whether the server takes an answer, both in a reply and in the event
// of its turn.
func (h *Hinter) fits(t turn, a run.Answer) bool {
	most := int(h.MaxPayload) - hintRoom
	if h.MaxPayload <= 0 || maxEscaped*len(a.Hint)+smallTurn <= most {
		return true
	}
	begun := payload.TurnBegun{RunID: t.req.Context.RunID, Result: a.Result, Hint: a.Hint, Skills: a.Skills}
	return len(payload.EncodeTurnBegun("", 0, t.req.Context, begun, 0)) <= most
}
