package main

import (
	"context"
	"math"
	"strings"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/tools/encoded"
)

const (
	// warmUp is how many examples per intent the model makes, on average, before
	// the local classifier is asked at all: with fewer its confidence means
	// little.
	warmUp = 3
	// growth is the factor by which the examples must grow before the classifier
	// is retrained: by a third, so that all trainings together take four times as
	// long as the last.
	growth = 4.0 / 3
)

// learner answers in cascade and makes examples of the model's answers.
type learner struct {
	ids      []string
	model    *oracle
	encoder  *encoded.Encoder // nil: words alone
	accept   float64
	examples map[string][]string // by intent
	known    map[string]bool     // texts among them
	trainAt  int
	trained  int // trainings

	catalog    *intents.Catalog
	classifier *classify.Classifier
}

func newLearner(model *oracle, encoder *encoded.Encoder, accept float64) *learner {
	l := &learner{ids: model.ids, model: model, encoder: encoder, accept: accept, examples: map[string][]string{}, known: map[string]bool{}, trainAt: warmUp * len(model.ids)}
	l.catalog = catalog(l.ids, l.examples)
	l.classifier = classify.New(classify.ModeLLM, nil, l.model, classify.Options{})
	return l
}

func (l *learner) train(ctx context.Context) error {
	l.trained++
	l.catalog = catalog(l.ids, l.examples)
	words, options := local.Train(l.catalog), classify.Options{}
	if l.encoder != nil {
		tier, _, err := l.encoder.Train(ctx, l.catalog, words)
		if err != nil {
			return err
		}
		if tier != nil {
			options = encoded.Options(tier)
		}
	}
	options.LocalAccept = l.accept
	l.classifier = classify.New(classify.ModeCascade, words, l.model, options)
	l.trainAt = int(float64(len(l.known)) * growth)
	return nil
}

// learn makes an example of a model's answer.
func (l *learner) learn(ctx context.Context, text, intent string) error {
	if l.known[text] {
		return nil
	}
	l.known[text] = true
	l.examples[intent] = append(l.examples[intent], text)
	if len(l.known) >= l.trainAt {
		return l.train(ctx)
	}
	return nil
}

// tally counts answers.
type tally struct {
	n, calls   int
	right      int // of the cascade
	modelRight int // had the model been asked about every message
	apart      int // exactly one of both is right
	localRight int // of those that the model was not asked about
}

func (t *tally) add(o tally) {
	t.n += o.n
	t.calls += o.calls
	t.right += o.right
	t.modelRight += o.modelRight
	t.apart += o.apart
	t.localRight += o.localRight
}

func (t *tally) per100() float64        { return share(t.calls, t.n) }
func (t *tally) accuracy() float64      { return share(t.right, t.n) }
func (t *tally) modelAccuracy() float64 { return share(t.modelRight, t.n) }

// loss returns the accuracy lost against the model alone, and its standard
// error, in points. Both answered the same messages, so only those that exactly
// one of them got right count.
func (t *tally) loss() (points, standardError float64) {
	points = t.modelAccuracy() - t.accuracy()
	variance := share(t.apart, t.n)/100 - points*points/1e4
	return points, 100 * math.Sqrt(max(variance, 0)/float64(max(t.n, 1)))
}

func share(of, n int) float64 { return 100 * float64(of) / float64(max(n, 1)) }

// ask answers a message, and returns the answer.
func (l *learner) ask(ctx context.Context, line *evaluate.Line) (payload.Classification, tally, error) {
	c, err := l.classifier.Classify(ctx, classify.Input{Catalog: l.catalog, Latest: line.Text})
	if err != nil {
		return c, tally{}, err
	}
	t := tally{n: 1}
	is := func(intent string) int {
		if strings.EqualFold(intent, line.Intent) {
			return 1
		}
		return 0
	}
	t.right, t.modelRight = is(c.Intent), is(l.model.answer(line.Text))
	if t.right != t.modelRight {
		t.apart = 1
	}
	if c.Source == payload.SourceLLM {
		t.calls = 1
	} else {
		t.localRight = t.right
	}
	return c, t, nil
}

// stream answers traffic and learns from it. after is called with the tally since
// its last call whenever one of the numbers of messages is reached, and at the end.
func (l *learner) stream(ctx context.Context, traffic []evaluate.Line, marks []int, after func(n int, t tally)) error {
	var t tally
	for i := range traffic {
		c, one, err := l.ask(ctx, &traffic[i])
		if err != nil {
			return err
		}
		t.add(one)
		if c.Source == payload.SourceLLM {
			if err := l.learn(ctx, traffic[i].Text, c.Intent); err != nil {
				return err
			}
		}
		if n := i + 1; n == len(traffic) || len(marks) > 0 && n == marks[0] {
			if len(marks) > 0 && n == marks[0] {
				marks = marks[1:]
			}
			after(n, t)
			t = tally{}
		}
	}
	return nil
}

// measure answers messages without learning.
func (l *learner) measure(ctx context.Context, lines []evaluate.Line) (tally, error) {
	var t tally
	for i := range lines {
		_, one, err := l.ask(ctx, &lines[i])
		if err != nil {
			return t, err
		}
		t.add(one)
	}
	return t, nil
}
