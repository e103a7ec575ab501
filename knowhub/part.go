package knowhub

import (
	"intenthint/internal/bus"
	"intenthint/knowhub/bucket"
	"intenthint/part"
)

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
