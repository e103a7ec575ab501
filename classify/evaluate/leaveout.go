package evaluate

import (
	"context"
	"slices"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
)

// Parts is how [LeaveOut] divides the examples of a catalogue. A part costs a
// training on all the others, whose time grows with the catalogue.
type Parts struct {
	// Of is the number of parts.
	Of int
	// Tested is how many of them are left out in turn.
	Tested int
}

// Bounds of [Thorough] and [Sample]. The work is the number of examples, in all
// trainings together.
const (
	mostParts, leastParts   = 50, 10
	thoroughWork            = 250_000
	sampleParts, leastTests = 10, 2
	sampleWork              = 50_000
)

// Thorough leaves out every example once: 2 % at a time, so that each trained model
// is nearly as large as the shipped one, and of large catalogues up to 10 %.
func Thorough(catalog *intents.Catalog) Parts {
	n := max(leastParts, min(mostParts, thoroughWork/max(1, examples(catalog))))
	return Parts{Of: n, Tested: n}
}

// Sample leaves out 10 % of the examples at a time, and not all examples of a large
// catalogue, but at least a fifth. It is meant for a comparison before and after a
// change: the same Parts leave out the same examples, apart from those of an intent
// that follow one that was removed from it.
func Sample(catalog *intents.Catalog) Parts {
	return Parts{Of: sampleParts, Tested: max(leastTests, min(sampleParts, sampleWork/max(1, examples(catalog))))}
}

// examples returns the number of examples of a catalogue.
func examples(catalog *intents.Catalog) (n int) {
	for _, in := range append(slices.Clone(catalog.Enabled()), catalog.Fallback()) {
		n += len(in.Examples)
	}
	return n
}

// LeaveOut takes a part of the examples out of a catalogue, trains the local
// classifier on the rest, and classifies the part as new messages, for each
// tested part in turn. Outcomes are in the order of the catalogue, the
// fallback's last. done, which may be nil, is called after each part. The only
// error is that of ctx.
func LeaveOut(ctx context.Context, catalog *intents.Catalog, parts Parts, done func(part, parts int)) ([]Outcome, error) {
	all := append(slices.Clone(catalog.Enabled()), catalog.Fallback())
	of, alone := parts.Of, examples(catalog) <= parts.Of
	if alone { // one at a time
		of = examples(catalog)
	}
	tested := min(parts.Tested, of)
	byPart := make([][]Outcome, tested)
	for part := range tested {
		rest, held := leaveOut(all, part, of, alone)
		model := local.Train(rest)
		r := Run{
			Catalog:    rest,
			Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
			Predict: func(_ string, in classify.Input) local.Prediction {
				return model.PredictInput(in, nil)
			},
		}
		var err error
		if byPart[part], err = r.Classify(ctx, held); err != nil {
			return nil, err
		}
		if done != nil {
			done(part+1, tested)
		}
	}
	outcomes := slices.Concat(byPart...)
	slices.SortStableFunc(outcomes, func(a, b Outcome) int { return a.Line - b.Line })
	return outcomes, nil
}

// leaveOut returns the catalogue without a part of the examples, and that part as
// lines, numbered through the whole catalogue. Neighbouring examples are in
// different parts, and so are the first ones of the intents. An example that is added
// at the end of an intent moves no other into another part, unless each is a part of
// its own.
func leaveOut(all []intents.Intent, part, parts int, alone bool) (rest *intents.Catalog, held []Line) {
	out := make([]intents.Intent, len(all))
	number := 0
	for c, in := range all {
		examples := in.Examples
		in.Examples = nil
		for i, e := range examples {
			of := (c + i) % parts
			if alone {
				of = number
			}
			if of == part {
				held = append(held, Line{Text: e, Intent: in.ID, Number: number})
			} else {
				in.Examples = append(in.Examples, e)
			}
			number++
		}
		out[c] = in
	}
	return intents.NewCatalog(out), held
}
