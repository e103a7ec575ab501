package knowhub

import (
	"intenthint/knowhub/experience"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/redact"
)

// Settings are how experiences are stored and recalled (HINT_KNOWHUB). They are
// immutable: a change of the configuration makes new settings.
type Settings struct {
	// Chain extracts experiences, within Limit; nil without a model.
	Chain *model.Chain
	Limit *model.Limit

	// SubmittedBy is used for experiences whose sender does not name one.
	SubmittedBy string
	// RemindAtStart puts the reminder in front of the first prompt of a session,
	// RemindEvery in front of every n-th; 0 means never.
	RemindAtStart bool
	RemindEvery   int
	// Recall is how many experiences are put in front of a prompt. None is
	// repeated within RepeatAfter turns of a session; 0 means never,
	// [RepeatAlways] means no such rule.
	Recall, RepeatAfter int
	// Strict redacts everything that is stored or sent to a model, with IPs also IP
	// addresses.
	Strict, IPs bool
	// MinConfidence is the least confidence of an extracted experience, 0–1.
	MinConfidence float64
	// Approval makes every experience wait for a person.
	Approval bool
	// Serves reports whether agent and chat of a turn are among those that experiences
	// are extracted from and reminders are for; nil means all are.
	Serves func(payload.Context) bool
	// Shared lets every agent find all experiences; otherwise an agent finds only
	// its own.
	Shared bool
}

// RepeatAlways is the [Settings.RepeatAfter] with which an experience may be
// put in front of every matching prompt.
const RepeatAlways = -1

// serves reports whether the chat of a person's turn is served.
func (s *Settings) serves(ctx payload.Context) bool {
	return ctx.OfPerson() && (s.Serves == nil || s.Serves(ctx))
}

// redacted returns an experience as it may be stored. The session key and the
// agent's id are addresses, and are kept.
func (s *Settings) redacted(e experience.Experience) experience.Experience {
	e.Task, e.Resource, e.Result = s.clean(e.Task), s.clean(e.Resource), s.clean(e.Result)
	e.SubmittedBy, e.DecidedBy = s.clean(e.SubmittedBy), s.clean(e.DecidedBy)
	return e
}

// clean returns a text as it may be stored or sent.
func (s *Settings) clean(text string) string {
	if s.Strict {
		text = redact.Text(text)
	}
	if s.Strict && s.IPs {
		text = redact.Addresses(text)
	}
	return text
}

// status returns the status of a new experience.
func (s *Settings) status(e experience.Experience) experience.Status {
	if s.Approval || len(e.Flags) > 0 {
		return experience.Pending
	}
	return experience.Approved
}
