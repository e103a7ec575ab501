package evaluate

import (
	"context"
	"slices"
	"time"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
)

// Classifier is a classifier to evaluate.
type Classifier interface {
	Classify(ctx context.Context, in classify.Input) (payload.Classification, error)
}

// Run is an evaluation of a classifier on a catalogue.
type Run struct {
	Catalog    *intents.Catalog
	Classifier Classifier
	// Predict returns the prediction of the classifier in this process, using
	// embeddings if source is embedding. It provides the runner-up, and the forced
	// choice if the answer is its own. A language model that answers the fallback
	// offers no other intent.
	Predict func(source string, in classify.Input) local.Prediction
	// Nearest returns the example of an intent that is nearest to a message, and
	// its similarity; it may be nil.
	Nearest func(intent, message string) (example string, similarity float64)
	// Timeout is for each message; 0 means no timeout.
	Timeout time.Duration
	// Location is the user's zone, UTC when nil.
	Location *time.Location
	// QueryMode and Window are what the classifier sees of a history.
	QueryMode conversation.QueryMode
	Window    conversation.Window
	// Done is called after each message; it may be nil. If it returns an error,
	// the run ends.
	Done func(line *Line, o *Outcome) error
}

// Classify classifies the lines one after another. A failure counts as the
// fallback with confidence 0. Its errors are those of ctx and of Done.
func (r *Run) Classify(ctx context.Context, lines []Line) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(lines))
	for i := range lines {
		o := r.one(ctx, &lines[i])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
		if r.Done == nil {
			continue
		}
		if err := r.Done(&lines[i], &o); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

func (r *Run) one(ctx context.Context, line *Line) Outcome {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	location := r.Location
	if location == nil {
		location = time.UTC
	}
	in := classify.Input{Catalog: r.Catalog, Latest: conversation.Latest(line.Text), Paste: conversation.Pasted(line.Text), Now: time.Now().In(location)}
	in.Conversation, in.Said = r.history(line, in.Latest)
	in.Earlier = r.earlier(line, in.Conversation)
	began := time.Now()
	answer, err := r.Classifier.Classify(ctx, in)
	o := Outcome{Text: line.Text, Line: line.Number, Want: line.Intent, Took: time.Since(began)}
	if len(line.Intents) > 1 {
		o.Also = line.Intents[1:]
	}
	if err != nil {
		o.Got, o.Err = intents.FallbackID, err
		return o
	}
	o.Got, o.Confidence, o.Source, o.Complexity = answer.Intent, answer.Confidence, answer.Source, answer.Complexity
	p := r.Predict(answer.Source, in)
	switch {
	case answer.Source == payload.SourceLocal || answer.Source == payload.SourceEmbedding:
		o.Forced = p.Intent
	case answer.Intent != intents.FallbackID:
		o.Forced = answer.Intent
	}
	if i := slices.IndexFunc(p.Ranked, func(s local.Score) bool { return s.Intent != o.Got }); i >= 0 {
		o.RunnerUp, o.RunnerUpConfidence = p.Ranked[i].Intent, p.Ranked[i].Probability
	}
	if !o.Right() {
		o.Misled, o.Similarity = r.misled(&o, &p, in.Latest)
	}
	return o
}

// misled returns the example of the wrong answer that is nearest to the message.
// If the answer is the prediction's own, the prediction has it, and also takes
// the earlier messages into account.
func (r *Run) misled(o *Outcome, p *local.Prediction, latest string) (example string, similarity float64) {
	switch {
	case o.Got == p.Intent && p.Nearest != "" && p.Similarity > 0:
		return p.Nearest, p.Similarity
	case r.Nearest != nil:
		return r.Nearest(o.Got, latest)
	}
	return "", 0
}

// history returns what the classifier sees of the line's history, and what the
// assistant said last (contract §5).
func (r *Run) history(line *Line, latest string) (turns []payload.Turn, said string) {
	if len(line.History) == 0 {
		return nil, ""
	}
	messages := make([]payload.Message, len(line.History))
	for i, t := range line.History {
		messages[i] = payload.Message{Role: t.Role, Content: payload.ContentOf(t.Text)}
	}
	messages = conversation.Before(latest, messages)
	return conversation.History(messages, r.QueryMode, r.Window), conversation.Said(messages, r.QueryMode, r.Window)
}

// earlier returns the recorded messages that the classifier gets if the conversation
// has no message of the user, else nil (contract §5).
func (r *Run) earlier(line *Line, conversed []payload.Turn) []payload.Turn {
	if slices.ContainsFunc(conversed, func(before payload.Turn) bool { return before.Role == payload.RoleUser }) {
		return nil
	}
	limit := conversation.EarlierTurns(r.QueryMode, r.Window)
	return line.Earlier[max(0, len(line.Earlier)-limit):]
}
