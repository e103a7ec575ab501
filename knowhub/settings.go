package knowhub

import (
	"errors"
	"math"
	"net"

	"intenthint/internal/netaddr"
	"intenthint/knowhub/experience"
	"intenthint/model"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/subjects"
)

// Settings are how experiences are stored and recalled (HINT_KNOWHUB). They are
// immutable: a change of the configuration makes new settings.
type Settings struct {
	Enabled bool
	// Listen is host:port of the HTTP API, Token required by every request; "" for none.
	Listen, Token string
	// SubmittedBy is used for experiences whose sender does not name one.
	SubmittedBy string
	// RemindAtStart puts the reminder in front of the first prompt of a session,
	// RemindEvery in front of every n-th; 0 means never.
	RemindAtStart bool
	RemindEvery   int
	// Recall is how many experiences are put in front of a prompt.
	Recall int
	// Extract extracts experiences from the events of the hook Trigger.
	Extract bool
	Trigger string
	// Strict redacts everything that is stored or sent to a model, with IPs also IP
	// addresses.
	Strict, IPs bool
	// MinConfidence is the least confidence of an extracted experience, 0–1.
	MinConfidence float64
	// Approval makes every experience wait for a person.
	Approval bool
	// Model is provider/model; "" means HINT_MODEL.
	Model string
	// Shared lets every agent find all experiences; otherwise an agent finds only
	// its own.
	Shared bool

	// What follows is set by [Make].

	// Chain extracts experiences, within Limit; nil without a model. Gate, if not nil, is
	// asked first whether there are any.
	Chain *model.Chain
	Gate  *model.Decider
	Limit *model.Limit
	// RepeatAfter is the number of turns of a session within which no experience is
	// repeated; 0 means never, [part.RepeatAlways] means no such rule.
	RepeatAfter int
	// Serves reports whether experiences are extracted from a turn of this agent and
	// chat, Admits whether it is reminded; nil means all are.
	Serves, Admits func(payload.Context) bool
}

// Declared are the fields of HINT_KNOWHUB (contract §12).
var Declared = part.Declare("knowhub", "experiences that agents submit and find",
	part.Set("enabled", func(s *Settings) *bool { return &s.Enabled }, false, part.Flag, "Switches experiences on.").AtStart().Showing(false),
	part.Set("listen", func(s *Settings) *string { return &s.Listen }, "127.0.0.1:8000", part.Address, "Address of the HTTP API.").AtStart(),
	part.Set("token", func(s *Settings) *string { return &s.Token }, "", part.Token, "Token that every HTTP request needs.").AtStart(),
	part.Set("submittedBy", func(s *Settings) *string { return &s.SubmittedBy }, "", part.Text, "Who submitted what comes without a name."),
	part.Set("remindAtStart", func(s *Settings) *bool { return &s.RemindAtStart }, true, part.Flag, "Reminds the agent of experiences in front of the first prompt of a session."),
	part.Set("remindEvery", func(s *Settings) *int { return &s.RemindEvery }, 3, part.Whole(0, math.MaxInt32), "Reminds again every so many turns; 0: never."),
	part.Set("recall", func(s *Settings) *int { return &s.Recall }, 0, part.Whole(0, math.MaxInt32), "Approved experiences that fit a prompt and are put in front of it; 0: none."),
	part.Set("enableServerExtraction", func(s *Settings) *bool { return &s.Extract }, false, part.Flag, "Reads new turns for experiences with a model; the gateway then publishes the texts of finished runs."),
	part.Set("extractionTrigger", func(s *Settings) *string { return &s.Trigger }, subjects.HookAgentEnd, part.OneOf(subjects.HookAgentEnd, subjects.HookBeforeCompaction), "When new turns are read for experiences.").AtStart(),
	part.Set("privacyMode", func(s *Settings) *bool { return &s.Strict }, true, privacy, "With strict, personal data and secrets are redacted before anything is stored or leaves the process."),
	part.Set("redactIPs", func(s *Settings) *bool { return &s.IPs }, false, part.Flag, "With strict, IP addresses are redacted too."),
	part.Set("minConfidence", func(s *Settings) *float64 { return &s.MinConfidence }, 0.7, part.Number(0, 1), "Extracted experiences below this confidence are dropped."),
	part.Set("requireApproval", func(s *Settings) *bool { return &s.Approval }, true, part.Flag, "New experiences wait for a person."),
	part.Set("model", func(s *Settings) *string { return &s.Model }, "", part.Model, "Model of the extraction; empty: model. A model that answers typed questions is asked first whether there is anything to extract."),
	part.Set("shareExperiences", func(s *Settings) *bool { return &s.Shared }, true, part.Flag, "Agents find the experiences of other agents."),
).Checked(func(s *Settings) error {
	if host, _, err := net.SplitHostPort(s.Listen); s.Enabled && s.Token == "" && (err != nil || !netaddr.IsLoopback(host)) {
		return errOpen
	}
	return nil
}).Doubted(func(s *Settings, model string) (field, message string) {
	if s.Enabled && s.Extract && s.Model == "" && model == "" {
		return "enableServerExtraction", " has no effect: there is no model, neither its own nor HINT_MODEL"
	}
	return "", ""
})

// errOpen reports an API to which anybody could write.
var errOpen = errors.New("listen is not a loopback address, so token must be set")

// privacy is strict or relaxed.
var privacy = part.Rule[bool]{
	Allowed: words.Allowed,
	Parse: func(value any) (strict, ok bool) {
		word, ok := words.Parse(value)
		return word == privacyStrict, ok
	},
	Show: func(strict bool) any {
		if strict {
			return privacyStrict
		}
		return privacyRelaxed
	},
}

var words = part.OneOf(privacyStrict, privacyRelaxed)

// Values of privacyMode.
const (
	privacyStrict  = "strict"  // redacted, see package redact
	privacyRelaxed = "relaxed" // left unchanged
)

// of reports whether a person began a turn and a rule about agents and chats, which may
// be nil, admits it.
func of(ctx payload.Context, admits func(payload.Context) bool) bool {
	return ctx.OfPerson() && (admits == nil || admits(ctx))
}

// redacted returns an experience as it may be stored. The session key, the
// agent's id and who submitted it are addresses, and are kept (contract §12).
func (s *Settings) redacted(e experience.Experience) experience.Experience {
	e.Task, e.Resource, e.Result = s.clean(e.Task), s.clean(e.Resource), s.clean(e.Result)
	e.DecidedBy = s.clean(e.DecidedBy)
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
