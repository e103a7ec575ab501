package evaluate

import (
	"context"
	"time"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/intents"
	"intenthint/payload"
)

// Classifier is what is evaluated.
type Classifier interface {
	Classify(ctx context.Context, in classify.Input) (payload.Classification, error)
}

// Run is an evaluation of a classifier on a catalogue.
type Run struct {
	Catalog    *intents.Catalog
	Classifier Classifier
	// Forced names the intent that the classifier of the given source, local or
	// embedding, gives when the fallback is no answer. A model that answers the
	// fallback has no other intent to offer.
	Forced func(source string, in classify.Input) string
	// Timeout is for each message; none when it is 0.
	Timeout time.Duration
	// Location is the user's zone, UTC when nil.
	Location *time.Location
	// Progress is told how many messages are done; it may be nil.
	Progress func(done int)
}

// Classify classifies the lines one after another, each as a message without a
// history. A classifier that fails has answered the fallback with confidence 0.
// The only error is that of ctx.
func (r *Run) Classify(ctx context.Context, lines []Line) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(lines))
	for _, line := range lines {
		o := r.one(ctx, line)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
		if r.Progress != nil {
			r.Progress(len(outcomes))
		}
	}
	return outcomes, nil
}

func (r *Run) one(ctx context.Context, line Line) Outcome {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	location := r.Location
	if location == nil {
		location = time.UTC
	}
	in := classify.Input{Catalog: r.Catalog, Latest: conversation.Latest(line.Text), Now: time.Now().In(location)}
	began := time.Now()
	answer, err := r.Classifier.Classify(ctx, in)
	o := Outcome{Text: line.Text, Want: line.Intent, Took: time.Since(began)}
	switch {
	case err != nil:
		o.Got, o.Err = intents.FallbackID, err
		return o
	case answer.Source == payload.SourceLocal || answer.Source == payload.SourceEmbedding:
		o.Forced = r.Forced(answer.Source, in)
	case answer.Intent != intents.FallbackID:
		o.Forced = answer.Intent
	}
	o.Got, o.Confidence = answer.Intent, answer.Confidence
	return o
}
