package app

import (
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/config"
	"intenthint/hint"
	"intenthint/hint/said"
	"intenthint/internal/bus"
	"intenthint/knowhub"
	"intenthint/learnt"
	"intenthint/model"
	"intenthint/part"
	"intenthint/store/kv"
	"intenthint/triage"
)

// Objects are the settings that the parts declare.
func Objects() []part.Object { return []part.Object{triage.Declared, knowhub.Declared} }

// ProgramOf returns what a configuration gives the parts. o and breakers are as for
// [NewClassifier]; with the metrics of o, a model has its series from now on.
func ProgramOf(cfg *config.Config, o Observer, breakers *model.Breakers) part.Program {
	p := part.Program{
		Values: cfg.Parts, Model: cfg.Classifier.Model, MaxInflight: cfg.Classifier.MaxInflight,
		Redact: cfg.Redact == config.RedactStrict, RepeatAfter: cfg.Repeat.After,
		Serves: rules(cfg).Serves, Admits: rules(cfg).Admits,
		Chain: func(ref string) (*model.Chain, error) {
			if o.Metrics != nil {
				o.models.Expect(ref)
			}
			return chain(cfg.Classifier, o, breakers, ref)
		},
	}
	if cfg.Repeat.Repeat == said.Always {
		p.RepeatAfter = part.RepeatAlways
	}
	return p
}

// need is what a part needs; on reports whether it is on.
type need struct {
	part.Needs
	on bool
}

// needs returns what the parts of the program need, in the order in which they start.
func needs(cfg *config.Config, l bus.Layout) []need {
	trigger := ""
	hub := knowhub.Declared.In(cfg.Parts)
	if hub.Extract {
		trigger = hub.Trigger
	}
	return []need{
		{hint.Needs(l), cfg.Classifier.AsksModels()},
		{learnt.Needs(l), cfg.Learn == config.LearnAuto},
		{triage.Needs(l), triage.Declared.In(cfg.Parts).Enabled},
		{knowhub.Needs(l, trigger), hub.Enabled},
	}
}

// Buckets returns the buckets that a configuration needs.
func Buckets(cfg *config.Config) []bus.Bucket {
	layout := Layout(cfg)
	var out []bus.Bucket
	if cfg.Store.Kind == config.StoreKV {
		out = append(out, bus.Bucket{Config: sessionsBucket(layout), Create: kv.Create})
	}
	for _, n := range needs(cfg, layout) {
		if n.on {
			out = append(out, n.Buckets...)
		}
	}
	return out
}

// KeptBuckets returns the buckets that people keep, also without the event stream and
// with other settings.
func KeptBuckets(cfg *config.Config) []string {
	layout := Layout(cfg)
	out := []string{sessionsBucket(layout).Bucket}
	for _, n := range needs(cfg, layout) {
		for _, b := range n.Buckets {
			if b.Kept {
				out = append(out, b.Config.Bucket)
			}
		}
	}
	return out
}

// sessionsBucket is the bucket of sessions with HINT_STORE=kv.
func sessionsBucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket(kv.Suffix, kv.Description)
}
