package triage

import (
	"cmp"

	"intenthint/internal/bus"
	"intenthint/model"
	"intenthint/part"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// Make returns the settings of a program, without the trained gate.
func Make(p part.Program) (*Settings, error) {
	s := *Declared.In(p.Values)
	s.Limit, s.Redact = model.NewLimit(p.MaxInflight), p.Redact
	var err error
	if ref := cmp.Or(s.Model, p.Model); ref != "" {
		s.Chain, err = p.Chain(ref)
	}
	return &s, err
}

// Needs returns the buckets of the gates, and the durable of the events that they
// use.
func Needs(l bus.Layout) part.Needs {
	b := state.BucketsOf(l)
	return part.Needs{
		Buckets:  []bus.Bucket{{Config: b.Decisions}, {Config: b.Recent}, {Config: b.Marks, Kept: true}},
		Durables: []bus.Durable{Durable(l)},
	}
}

// Durable returns the durable of the events that the gates use.
func Durable(l bus.Layout) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-triage",
		Hooks:       []string{subjects.HookFeedback, subjects.HookMessageSent, subjects.HookBeforePromptBuild},
		Description: "Feedback, sent messages and unanswered turns, for the triage gate of intenthint",
	}
}
