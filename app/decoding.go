package app

import (
	"cmp"
	"slices"

	"intenthint/handlers"
	"intenthint/hint"
	"intenthint/hint/repetition"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/store"
)

// EventHandler decodes events into facts and applies them to sessions. settings
// returns the settings in force; it is called for every event.
func EventHandler(sessions store.Applier, settings func() *hint.Settings) events.Handler[store.Fact] {
	return events.Handler[store.Fact]{
		Decode: func(named, msgID string, data []byte) (events.Event[store.Fact], error) {
			session, hook, fact, err := decoder(settings()).Fact(named, msgID, data)
			return events.Event[store.Fact]{Session: session, Hook: hook, Fact: fact}, err
		},
		Apply: sessions.Apply,
		Check: sessions.Check,
	}
}

// decoder returns the decoder of events under the given settings.
func decoder(s *hint.Settings) handlers.Decoder {
	return handlers.Decoder{Begin: s.Begin, Redact: s.Redact}
}

// decode is the Decode of an [events.Handler].
type decode = func(named, msgID string, data []byte) (events.Event[store.Fact], error)

// noticing tells all processes of events after which a session is given its
// hint again: each event is delivered to only one process.
func (a *App) noticing(next decode) decode {
	return func(named, msgID string, data []byte) (events.Event[store.Fact], error) {
		ev, err := next(named, msgID, data)
		if err == nil && slices.Contains(repetition.Signals, ev.Hook) {
			a.notice(msgID, data, ev.Fact.Begin)
		}
		return ev, err
	}
}

// countingSkills counts the skills that turns read and that their hints named.
func (a *App) countingSkills(next decode) decode {
	return func(named, msgID string, data []byte) (events.Event[store.Fact], error) {
		ev, err := next(named, msgID, data)
		if err != nil || ev.Fact.Call == nil || ev.Fact.Call.Skill == nil {
			return ev, err
		}
		ctx := payload.Context{RunID: ev.Fact.RunID, SessionID: ev.Fact.SessionID, SessionKey: ev.Fact.SessionKey}
		if a.answers.UseSkill(ctx, payload.Skill{Name: ev.Fact.Call.Skill.Name, Path: ev.Fact.Call.Skill.Path}) {
			a.metrics.hints.SkillUsed()
		}
		return ev, nil
	}
}

// namingUnknown logs marks that name an unknown intent. A person who marks in a
// chat gets no error, as the gateway does not know the catalogue. The mark is
// kept, since the intent may be added later, but nothing is learnt from it.
func (a *App) namingUnknown(next decode) decode {
	return func(named, msgID string, data []byte) (events.Event[store.Fact], error) {
		ev, err := next(named, msgID, data)
		if err != nil || ev.Fact.Feedback == nil || ev.Fact.Feedback.Intent == "" {
			return ev, err
		}
		if catalog := a.live.intentsInForce(); catalog != nil {
			if _, ok := catalog.Lookup(ev.Fact.Feedback.Intent); !ok {
				a.lines.Warn(a.log, "mark names unknown intent", "intent", ev.Fact.Feedback.Intent, "run", ev.Fact.RunID)
			}
		}
		return ev, nil
	}
}

// notice tells all processes of an event. begun is the turn that the event begins, or
// nil.
func (a *App) notice(msgID string, data []byte, begun *store.Begin) {
	env, err := payload.DecodeEvent("", msgID, data)
	if err != nil {
		return
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	if err != nil || ctx.Session() == "" {
		return
	}
	session := payload.Context{SessionID: ctx.SessionID, SessionKey: ctx.SessionKey}
	signal := payload.EncodeSignal(env.Hook, env.ID, env.TS, session)
	if begun != nil {
		session.RunID = ctx.RunID
		signal = payload.EncodeUnanswered(env.Hook, env.ID, env.TS, session, cmp.Or(begun.Message, begun.Input))
		if a.answers.Sessions.Lost(ctx.Session(), env.TS) {
			a.metrics.hints.Late()
		}
	}
	a.answers.Learn(signal)
	a.answers.Tell(signal)
}
