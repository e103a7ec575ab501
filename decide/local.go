package decide

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/part"
)

// Example is a text and the position of the label that is right for it.
type Example struct {
	Text  string
	Label int
}

// classifier answers one question from texts: from labels, descriptions and examples.
// It is the local classifier of intents, with a label as an intent; what that keeps for
// "none of them" is shared out, as a question has no such answer.
type classifier struct {
	labels  []string
	words   *local.Model
	vectors *local.Embedded // nil without an encoder, and where no text is English
	encoder part.Encoder
}

// learnFrom trains a classifier, which may take seconds. enc may be nil. The error is
// that of ctx.
func learnFrom(ctx context.Context, q *Question, examples []Example, enc part.Encoder) (*classifier, error) {
	catalog := catalogOf(q, examples)
	c := &classifier{labels: q.Labels, words: local.Train(catalog)}
	if enc == nil {
		return c, ctx.Err()
	}
	fit := local.FewTextsOf(catalog, encoder.MaxTexts, enc.Fits)
	found := vectors.Among(local.TextsOf(catalog), vectors.Bundled(slices.Concat(fit, c.words.Background())))
	missing := slices.DeleteFunc(fit, func(text string) bool { return found[text] != nil })
	made, _, err := enc.Embed(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, text := range missing {
		found[text] = made[i]
	}
	if trained, err := local.TrainEmbedded(c.words, found); err == nil { // else no text is English
		c.vectors, c.encoder = trained, enc
	}
	return c, nil
}

// catalogOf makes an intent of each label. Ids begin with the position, so that their
// order is that of the labels.
func catalogOf(q *Question, examples []Example) *intents.Catalog {
	list := make([]intents.Intent, len(q.Labels))
	for i, label := range q.Labels {
		list[i] = intents.Intent{ID: labelID(i), Name: words(label), Triggers: []string{words(label)}}
		description, given := described(q.Criteria[i])
		list[i].Triggers = append(list[i].Triggers, description...)
		list[i].Examples = given
	}
	for _, e := range examples {
		list[e.Label].Examples = append(list[e.Label].Examples, e.Text)
	}
	return intents.NewCatalog(list)
}

const idPrefix = "I"

func labelID(i int) string { return fmt.Sprintf("%s%03d", idPrefix, i) }

// words returns the words of a label such as "card_arrival" or "cardArrival".
func words(label string) string {
	var b strings.Builder
	lower := false
	for _, r := range label {
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/':
			r = ' '
		case lower && 'A' <= r && r <= 'Z':
			b.WriteByte(' ')
		}
		lower = 'a' <= r && r <= 'z'
		b.WriteRune(r)
	}
	return text.Fold(b.String())
}

// described returns the texts of a criterion, and the examples in it: {"what": "…",
// "examples": ["…"]} is how rubrics of the wire give some.
func described(criterion []byte) (descriptions, examples []string) {
	var walk func(v gjson.Result, into *[]string)
	walk = func(v gjson.Result, into *[]string) {
		if v.Type == gjson.String && !text.Blank(v.Str) {
			*into = append(*into, text.Fold(v.Str))
		}
		if !v.IsObject() && !v.IsArray() {
			return
		}
		v.ForEach(func(key, inner gjson.Result) bool {
			switch {
			case v.IsObject() && key.Str == "examples":
				walk(inner, &examples)
			case v.IsObject() && key.Str == "not_for": // what it is not says nothing of it
			default:
				walk(inner, into)
			}
			return true
		})
	}
	walk(gjson.ParseBytes(criterion), &descriptions)
	return descriptions, examples
}

// answer returns the probabilities of a question's labels for a text. The question is
// the one that was learnt, with its labels in any order. If ctx ends before the encoder
// has read the text, the words alone answer.
func (c *classifier) answer(ctx context.Context, q *Question, said string) []float64 {
	shares := c.shares(c.predict(ctx, said))
	out := make([]float64, len(q.Labels))
	for i, label := range q.Labels {
		out[i] = shares[label]
	}
	if !normalize(out) {
		for i := range out {
			out[i] = 1 / float64(len(out))
		}
	}
	return out
}

func (c *classifier) predict(ctx context.Context, said string) local.Prediction {
	in := classify.Input{Latest: said, Whole: true}
	if c.vectors == nil {
		return c.words.PredictInput(in, nil)
	}
	var found map[string][]float32
	if texts := slices.DeleteFunc(c.vectors.Texts(in), func(text string) bool { return !c.encoder.Fits(text) }); len(texts) > 0 {
		found, _ = c.encoder.Vectors(ctx, texts) // nil: by the words
	}
	return c.vectors.PredictVectors(in, nil, found)
}

// shares returns the probabilities of the labels without that of the fallback.
func (c *classifier) shares(p local.Prediction) map[string]float64 {
	out := make(map[string]float64, len(c.labels))
	for _, s := range p.Ranked {
		digits, ok := strings.CutPrefix(s.Intent, idPrefix)
		if i, err := strconv.Atoi(digits); ok && err == nil && i < len(c.labels) { // else the fallback
			out[c.labels[i]] = s.Probability
		}
	}
	return out
}
