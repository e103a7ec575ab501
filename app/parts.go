package app

import (
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/config"
	"intenthint/hint"
	"intenthint/internal/bus"
	"intenthint/knowhub"
	"intenthint/learnt"
	"intenthint/part"
	"intenthint/store/kv"
	"intenthint/triage"
)

// need is what a part needs; on reports whether it is on.
type need struct {
	part.Needs
	on bool
}

// needs returns what the parts of the program need, in the order in which they start.
func needs(cfg *config.Config, l bus.Layout) []need {
	trigger := ""
	if cfg.KnowHub.Extract {
		trigger = cfg.KnowHub.Trigger
	}
	return []need{
		{hint.Needs(l), cfg.Classifier.AsksModels()},
		{learnt.Needs(l), cfg.Learn == config.LearnAuto},
		{triage.Needs(l), cfg.Triage.Enabled},
		{knowhub.Needs(l, trigger), cfg.KnowHub.Enabled},
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
