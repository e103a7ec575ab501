package handlers

import (
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// factOf turns the event of one hook into a fact. The fields from the envelope
// are already set.
type factOf func(env payload.Envelope, ctx payload.Context, f *store.Fact) error

// observations are the hooks whose events become part of a session.
var observations = map[string]factOf{
	subjects.HookTurnBegun:     turnBegun,
	subjects.HookAfterToolCall: afterToolCall,
	subjects.HookAgentEnd:      agentEnd,
	subjects.HookSessionEnd:    sessionEnd,
}

// Fact decodes an event. The session is "" when the event is not kept: no
// handler observes its hook, or it belongs to no session. An error wraps
// [payload.ErrInvalid] and is final.
func Fact(msgID string, data []byte) (session, hook string, fact store.Fact, err error) {
	env, err := payload.DecodeEvent(data, msgID)
	if err != nil {
		return "", "", store.Fact{}, err
	}
	fill, ok := observations[env.Hook]
	if !ok {
		return "", env.Hook, store.Fact{}, nil
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		return "", env.Hook, store.Fact{}, err
	}
	fact = store.Fact{
		ID: env.ID, TS: env.TS,
		RunID: ctx.RunID, SessionID: ctx.SessionID, SessionKey: ctx.SessionKey, AgentID: ctx.Agent(),
	}
	if err := fill(env, ctx, &fact); err != nil {
		return "", env.Hook, store.Fact{}, err
	}
	return fact.Session(), env.Hook, fact, nil
}
