package knowhub

import (
	"intenthint/knowhub/experience"
	"intenthint/model"
	"intenthint/redact"
)

// Settings are how experiences are kept and given (HINT_KNOWHUB). They are
// immutable: a change of the configuration makes others.
type Settings struct {
	// Chain extracts experiences, within Limit; nil without a model.
	Chain *model.Chain
	Limit model.Limit

	// SubmittedBy stands in experiences whose sender does not say.
	SubmittedBy string
	// RemindAtStart puts the reminder in front of the first prompt of a session,
	// RemindEvery of every n-th one; 0 for none.
	RemindAtStart bool
	RemindEvery   int
	// Recall is how many experiences are put in front of a prompt. None is again
	// within RepeatAfter turns of a session; 0 for never again, [RepeatAlways] for
	// no such rule.
	Recall, RepeatAfter int
	// Strict redacts what is stored or sent to a model.
	Strict bool
	// MinConfidence is the least of an extracted experience, 0–1.
	MinConfidence float64
	// Approval makes every experience wait for a person.
	Approval bool
	// Shared lets every agent find all experiences, else an agent finds its own.
	Shared bool
}

// RepeatAlways is the [Settings.RepeatAfter] with which an experience may be in
// front of every prompt that it fits.
const RepeatAlways = -1

// redacted returns an experience as it may be stored. The session key and the
// agent's id are addresses, and stay.
func (s *Settings) redacted(e experience.Experience) experience.Experience {
	if s.Strict {
		e.Task, e.Resource, e.Result = redact.Text(e.Task), redact.Text(e.Resource), redact.Text(e.Result)
		e.SubmittedBy = redact.Text(e.SubmittedBy)
	}
	return e
}

// status is that of a new experience.
func (s *Settings) status(e experience.Experience) experience.Status {
	if s.Approval || len(e.Flags) > 0 {
		return experience.Pending
	}
	return experience.Approved
}
