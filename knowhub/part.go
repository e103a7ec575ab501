package knowhub

import (
	"cmp"

	"intenthint/internal/bus"
	"intenthint/knowhub/bucket"
	"intenthint/model"
	"intenthint/part"
)

// extractions is how many extractions a process asks models for at once. They
// take long, and most are not waited for.
const extractions = 4

// Make returns the settings of a program.
func Make(p part.Program) (*Settings, error) {
	s := *Declared.In(p.Values)
	s.Limit, s.RepeatAfter, s.Serves, s.Admits = model.NewLimit(extractions), p.RepeatAfter, p.Serves, p.Admits
	var err error
	if ref := cmp.Or(s.Model, p.Model); ref != "" {
		s.Chain, err = p.Chain(ref)
	}
	return &s, err
}

// Needs returns the buckets of KnowHub and, with the hook whose events experiences are
// extracted from, the durable of these events. trigger is "" if none are.
func Needs(l bus.Layout, trigger string) part.Needs {
	n := part.Needs{Buckets: []bus.Bucket{{Config: bucket.ExperiencesIn(l), Kept: true}, {Config: bucket.TurnsIn(l)}}}
	if trigger != "" {
		n.Durables = []bus.Durable{Durable(l, trigger)}
	}
	return n
}

// Durable is the durable of the events from which experiences are extracted, those
// of one hook.
func Durable(l bus.Layout, hook string) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-knowhub",
		Hooks:       []string{hook},
		Description: "Messages of ended runs, from which intenthint extracts experiences",
	}
}
