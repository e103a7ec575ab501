package handlers

import (
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// Decoder decodes events into facts.
type Decoder struct {
	// Begin returns the conversation of the turn that a before_prompt_build
	// begins; ok is false for a turn that the rules of contract §4 exclude. If
	// Begin is nil, all are excluded.
	Begin func(ctx payload.Context, e payload.BeforePromptBuild) (conversation []payload.Turn, ok bool)
	// Redact takes personal data and secrets out of the texts of facts
	// (HINT_REDACT).
	Redact bool
}

// factOf turns the event of one hook into a fact. The fields from the envelope
// are already set. A fact that stays empty is not kept.
type factOf func(d Decoder, env payload.Envelope, ctx payload.Context, f *store.Fact) error

// observations are the hooks whose events become part of a session.
var observations = map[string]factOf{
	subjects.HookTurnBegun:         turnBegun,
	subjects.HookBeforePromptBuild: unansweredTurn,
	subjects.HookAfterToolCall:     afterToolCall,
	subjects.HookAgentEnd:          agentEnd,
	subjects.HookFeedback:          feedback,
	subjects.HookLLMOutput:         llmOutput,
	subjects.HookModelCallEnded:    modelCallEnded,
	subjects.HookSessionEnd:        sessionEnd,
}

// Fact decodes an event. named is the hook that its subject names, "" to take that of
// the body. The session is "" when the event is not kept: no
// handler observes its hook, the rules exclude it, or it belongs to no session.
// An error wraps [payload.ErrInvalid] and is final.
func (d Decoder) Fact(named, msgID string, data []byte) (session, hook string, fact store.Fact, err error) {
	env, err := payload.DecodeEvent(named, msgID, data)
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
	if err := fill(d, env, ctx, &fact); err != nil {
		return "", env.Hook, store.Fact{}, err
	}
	if d.Redact {
		redactFact(&fact)
	}
	if fact.Begin == nil && fact.Call == nil && fact.End == nil && fact.Feedback == nil && fact.Use == nil && fact.Close == nil {
		return "", env.Hook, store.Fact{}, nil
	}
	return fact.Session(), env.Hook, fact, nil
}
