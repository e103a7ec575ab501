package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"

	"intenthint/classify"
	"intenthint/payload"
)

// right is how often the simulated model is right.
const right = 0.95

// oracle is a simulated model: it answers the label, or for the remaining share
// of messages a random other intent. The answer depends only on the message, so
// that all runs are compared with the same model.
type oracle struct {
	ids   []string
	label map[string]string
	calls atomic.Int64
}

func newOracle(s *set) *oracle {
	o := &oracle{ids: s.ids(), label: map[string]string{}}
	for _, line := range s.traffic {
		o.label[line.Text] = line.Intent
	}
	for _, line := range s.validate {
		o.label[line.Text] = line.Intent
	}
	for _, line := range s.test {
		o.label[line.Text] = line.Intent
	}
	return o
}

// answer returns the model's answer to a message.
func (o *oracle) answer(text string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text))
	draw := rand.New(rand.NewPCG(seed, hash.Sum64())) //nolint:gosec // the same answer in every run
	label := o.label[text]
	if draw.Float64() < right {
		return label
	}
	for {
		if other := o.ids[draw.IntN(len(o.ids))]; other != label {
			return other
		}
	}
}

// Classify implements [classify.Model].
func (o *oracle) Classify(_ context.Context, in classify.Input) (payload.Classification, error) {
	o.calls.Add(1)
	return payload.Classification{Intent: o.answer(in.Latest), Confidence: right, Source: payload.SourceLLM}, nil
}
