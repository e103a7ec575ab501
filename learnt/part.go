package learnt

import (
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/part"
	"intenthint/subjects"
)

// Needs returns the bucket of examples, and the durable of the events from which they
// are learnt.
func Needs(l bus.Layout) part.Needs {
	return part.Needs{Buckets: []bus.Bucket{{Config: Bucket(l), Kept: true}}, Durables: []bus.Durable{Durable(l)}}
}

// Bucket is the bucket of the examples. An example is kept until it is removed, or
// newer ones take its place.
func Bucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket("_LEARNT", "Examples that the local classifiers of intenthint learnt from use")
}

// Durable is the durable of the events from which examples are learnt.
func Durable(l bus.Layout) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-learn",
		Hooks:       []string{subjects.HookFeedback, subjects.HookTurnBegun},
		Description: "Feedback and answered turns, from which intenthint learns examples",
	}
}

// Of returns the examples of a system without touching their bucket, see
// [Store.Open].
func Of(l bus.Layout, js jetstream.JetStream) *Store { return New(js, Bucket(l)) }
