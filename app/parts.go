package app

import (
	"context"
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/config"
	"intenthint/console"
	"intenthint/decide"
	"intenthint/hint"
	"intenthint/hint/repetition"
	"intenthint/internal/bus"
	"intenthint/knowhub"
	"intenthint/knowhub/safety"
	"intenthint/learning"
	"intenthint/model"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/store/kv"
	"intenthint/triage"
	"intenthint/triage/state"
)

// Parts returns the siblings of this program, in the order in which they start, to look
// at: they cannot be opened.
func Parts() []part.Part { return parts(&App{}) }

// parts returns the parts of a process. This is the one place that knows them.
func parts(a *App) []part.Part {
	return []part.Part{
		hint.Part(a.hints()),
		learning.Part(a.lessons()),
		triage.Part(func(shared *state.Store, mark func(context.Context, payload.Feedback) error) http.Handler {
			return console.Triage(shared, mark)
		}),
		decide.Part(func(d *decide.Desk) http.Handler { return console.Decisions(d) }),
		knowhub.Part(func(s *knowhub.Service) http.Handler { return console.Experiences(s) }),
	}
}

// Suspicious reports whether a text looks like a prompt injection. Such a text is not
// learnt.
func Suspicious(text string) bool { return len(safety.Marks(text)) > 0 }

// Objects returns the settings that the parts declare, with those of more parts.
func Objects(more ...part.Part) []part.Object {
	var out []part.Object
	for _, p := range append(Parts(), more...) {
		if p.Settings != nil {
			out = append(out, p.Settings)
		}
	}
	return out
}

// ProgramOf returns what a configuration gives the parts. o and breakers are as for
// [NewClassifier]; with the metrics of o, a model has its series from now on.
func ProgramOf(cfg *config.Config, o Observer, breakers *model.Breakers) part.Program {
	p := part.Program{
		Values: cfg.Parts, Model: cfg.Classifier.Model, PromptModel: cfg.Classifier.PromptModel(), DecideModel: cfg.Classifier.Decide, MaxInflight: cfg.Classifier.MaxInflight,
		Redact: cfg.Redact == config.RedactStrict, RepeatAfter: cfg.Repeat.After, Learn: cfg.Learn == config.LearnAuto, AsksModels: cfg.Classifier.AsksModels(),
		Serves: rules(cfg).Serves, Admits: rules(cfg).Admits,
		Chain: func(ref string) (*model.Chain, error) {
			if o.Metrics != nil {
				o.models.Expect(ref)
			}
			return chain(cfg.Classifier, o, breakers, ref)
		},
		Decider: func(ref string) (*model.Decider, error) { return decider(cfg.Classifier, o, breakers, ref) },
	}
	if cfg.Repeat.Repeat == repetition.Always {
		p.RepeatAfter = part.RepeatAlways
	}
	return p
}

// needs calls yield with what each part needs, and whether it is on.
func needs(cfg *config.Config, l bus.Layout, parts []part.Part, yield func(n part.Needs, on bool)) {
	program := ProgramOf(cfg, Observer{}, nil)
	for _, p := range parts {
		if p.Needs != nil {
			yield(p.Needs(l, program), p.IsOn(program))
		}
	}
}

// Buckets returns the buckets that a configuration needs.
func Buckets(cfg *config.Config) []bus.Bucket {
	layout := Layout(cfg)
	var out []bus.Bucket
	if cfg.Store.Kind == config.StoreKV {
		out = append(out, bus.Bucket{Config: sessionsBucket(layout), Followed: true, Create: kv.Create})
	}
	needs(cfg, layout, Parts(), func(n part.Needs, on bool) {
		if on {
			out = append(out, n.Buckets...)
		}
	})
	return out
}

// KeptBuckets returns the buckets that people keep, also without the event stream and
// with other settings.
func KeptBuckets(cfg *config.Config) []string {
	layout := Layout(cfg)
	out := []string{sessionsBucket(layout).Bucket}
	needs(cfg, layout, Parts(), func(n part.Needs, _ bool) {
		for _, b := range n.Buckets {
			if b.Kept {
				out = append(out, b.Config.Bucket)
			}
		}
	})
	return out
}

// sessionsBucket is the bucket of sessions with HINT_STORE=kv.
func sessionsBucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket(kv.Suffix, kv.Description)
}
