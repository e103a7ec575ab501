package record

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

// Classifier answers a message as the running system does. It is called from many
// goroutines.
type Classifier interface {
	Classify(ctx context.Context, in classify.Input) (payload.Classification, error)
}

// ReplayOptions configure a replay. Catalog is required.
type ReplayOptions struct {
	// Catalog returns the catalogue of an agent: the one that the classifier was
	// trained on, or one narrowed from it.
	Catalog func(agent string) *intents.Catalog
	// ThenMinConfidence is the confidence, 0–1, below which no hint was given, and
	// MinConfidence the one below which none would be given now.
	ThenMinConfidence, MinConfidence float64

	// Words replaces the classifier for turns that words alone answered although
	// they were less sure than Accept: the embedding model was late, busy, not
	// ready, or does not know the language. It is nil without an embedding model.
	Words Classifier
	// Accept is a confidence, 0–1; 0 if the embedding model is always asked.
	Accept float64

	// Models compares turns that a language model answered, Unanswered those without
	// an answer, and Altered counts differences of altered records; otherwise
	// these are left out.
	Models, Unanswered, Altered bool

	// Workers is how many messages are classified concurrently; if it is not
	// positive, as many as there are processors.
	Workers int
	// Timeout is for each message; 0 for none.
	Timeout time.Duration
	// Location is the user's zone; UTC if nil.
	Location *time.Location
	// Progress, if not nil, receives the number of turns done. It is called by one
	// goroutine at a time.
	Progress func(done, of int)
}

// Replayed is the outcome of a replay.
type Replayed struct {
	Summary
	// Differences are the changed turns, in the order of the turns.
	Differences []Difference
	// Err is the error of the first turn that could not be classified; nil if all
	// could.
	Err error
}

// Replay classifies recorded turns again and returns the differences. Turns that
// the classifier fails on are left out and counted. Its error is that of ctx.
func Replay(ctx context.Context, turns []Turn, classifier Classifier, o ReplayOptions) (Replayed, error) {
	outcomes := make([]outcome, len(turns))
	err := o.each(ctx, len(turns), func(ctx context.Context, i int) { outcomes[i] = o.one(ctx, &turns[i], classifier) })
	if err != nil {
		return Replayed{}, err
	}
	return replayed(outcomes), nil
}

// replayed folds outcomes into a report.
func replayed(outcomes []outcome) Replayed {
	out := Replayed{Summary: Summary{Turns: len(outcomes)}}
	for i := range outcomes {
		o := &outcomes[i]
		switch o.leftOut {
		case compared:
			out.Compared++
		case byModel:
			out.LeftOut.Model++
		case unanswered:
			out.LeftOut.Unanswered++
		case altered:
			out.LeftOut.Altered++
		case blank:
			out.LeftOut.Blank++
		case failed:
			out.LeftOut.Failed++
			if out.Err == nil {
				out.Err = o.err
			}
		}
		if o.changed {
			out.fold(&o.difference)
			out.Differences = append(out.Differences, o.difference)
		}
	}
	out.Pairs = pairs(out.Differences)
	return out
}

// reason is why a turn is left out.
type reason uint8

const (
	compared reason = iota
	byModel
	unanswered
	altered
	blank
	failed
)

// outcome is the outcome of one turn.
type outcome struct {
	leftOut    reason
	changed    bool
	difference Difference
	err        error
}

// admit returns why a turn need not be classified.
func (o *ReplayOptions) admit(t *Turn) reason {
	switch {
	case t.Text == "":
		return blank
	case t.Confidence == nil && !o.Unanswered:
		return unanswered
	case payload.OfModel(t.Source) && !o.Models:
		return byModel
	}
	return compared
}

func (o *ReplayOptions) one(ctx context.Context, t *Turn, classifier Classifier) outcome {
	if r := o.admit(t); r != compared {
		return outcome{leftOut: r}
	}
	then, ok := t.Then(o.ThenMinConfidence)
	if !ok {
		then = Answer{Intent: intents.FallbackID, Chosen: intents.FallbackID}
	}
	if o.wordsAlone(then) {
		classifier = o.Words
	}
	now, err := o.answer(ctx, t, classifier)
	if err != nil {
		return outcome{leftOut: failed, err: err}
	}
	d, changed := compare(t, then, now)
	if changed && !o.Altered && t.Altered() {
		return outcome{leftOut: altered}
	}
	return outcome{changed: changed, difference: d}
}

// wordsAlone reports whether words alone answered although the embedding model
// would be asked.
func (o *ReplayOptions) wordsAlone(then Answer) bool {
	return o.Words != nil && then.Source == payload.SourceLocal && (o.Accept == 0 || then.Confidence < o.Accept)
}

// answer returns the new answer to a turn.
func (o *ReplayOptions) answer(ctx context.Context, t *Turn, classifier Classifier) (Answer, error) {
	in := o.input(t)
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	c, err := classifier.Classify(ctx, in)
	return answerOf(c, o.MinConfidence), err
}

// input returns the classifier's input for a turn.
func (o *ReplayOptions) input(t *Turn) classify.Input {
	location := o.Location
	if location == nil {
		location = time.UTC
	}
	return classify.Input{
		Catalog: o.Catalog(t.Agent), Conversation: t.History, Earlier: t.Earlier, Latest: t.Text, Paste: t.paste, Now: time.Now().In(location),
	}
}

// Calls counts the messages of turns about which a replay would call a model, and
// the bytes of their prompts. size returns the bytes of a prompt, 0 for a message
// that needs no call; it is called from many goroutines. The error is that of ctx.
func Calls(ctx context.Context, turns []Turn, o ReplayOptions, size func(classify.Input) int) (calls int, bytes int64, err error) {
	sizes := make([]int, len(turns))
	err = o.each(ctx, len(turns), func(_ context.Context, i int) {
		t := &turns[i]
		if o.admit(t) != compared {
			return
		}
		in := o.input(t)
		if _, keyword := in.Catalog.Keyword(in.Latest); !keyword {
			sizes[i] = size(in)
		}
	})
	for _, n := range sizes {
		if n > 0 {
			calls++
			bytes += int64(n)
		}
	}
	return calls, bytes, err
}

// Answers returns the new answer to each of the turns, the zero Answer for a
// turn without text or on which the classifier fails. Its error is that of ctx.
func Answers(ctx context.Context, turns []Turn, classifier Classifier, o ReplayOptions) ([]Answer, error) {
	out := make([]Answer, len(turns))
	err := o.each(ctx, len(turns), func(ctx context.Context, i int) {
		if turns[i].Text == "" {
			return
		}
		if a, err := o.answer(ctx, &turns[i], classifier); err == nil {
			out[i] = a
		}
	})
	return out, err
}

// Between compares two lists of answers to the same turns, as [Replay] compares
// old with new answers. Turns without both answers are left out.
func Between(turns []Turn, before, after []Answer) Replayed {
	outcomes := make([]outcome, len(turns))
	for i := range turns {
		o := &outcomes[i]
		switch {
		case turns[i].Text == "":
			o.leftOut = blank
		case before[i] == (Answer{}) || after[i] == (Answer{}):
			o.leftOut = unanswered
		default:
			o.difference, o.changed = compare(&turns[i], before[i], after[i])
		}
	}
	return replayed(outcomes)
}

// each calls f for 0 to n-1 from the workers, until ctx ends.
func (o *ReplayOptions) each(ctx context.Context, n int, f func(ctx context.Context, i int)) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		group sync.WaitGroup
		next  atomic.Int64
		mu    sync.Mutex
		done  int
	)
	for range min(workers, n) {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(ctx, i)
				if o.Progress != nil {
					mu.Lock()
					done++
					o.Progress(done, n)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
