package evaluate

import (
	"context"
	"slices"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
)

// LeaveOutParts is the number of parts of a catalogue's examples that
// [LeaveOut] leaves out in turn: 2 % at a time, so that each trained model is
// nearly as large as the shipped one.
const LeaveOutParts = 50

// LeaveOut takes a part of the examples out of a catalogue, trains the local
// classifier on the rest, and classifies the part as new messages, for each of
// parts parts in turn. Outcomes are in the order of the catalogue, the
// fallback's last. done, which may be nil, is called after each part. The only
// error is that of ctx.
func LeaveOut(ctx context.Context, catalog *intents.Catalog, parts int, done func(part, parts int)) ([]Outcome, error) {
	all := append(slices.Clone(catalog.Enabled()), catalog.Fallback())
	total := 0
	for _, in := range all {
		total += len(in.Examples)
	}
	parts = min(parts, total)
	byPart := make([][]Outcome, parts)
	for part := range parts {
		rest, held := leaveOut(all, part, parts)
		model := local.Train(rest)
		r := Run{
			Catalog:    rest,
			Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
			Predict: func(_ string, in classify.Input) local.Prediction {
				return model.Predict(in.Latest, in.Conversation, nil)
			},
		}
		var err error
		if byPart[part], err = r.Classify(ctx, held); err != nil {
			return nil, err
		}
		if done != nil {
			done(part+1, parts)
		}
	}
	outcomes := slices.Concat(byPart...)
	slices.SortStableFunc(outcomes, func(a, b Outcome) int { return a.Line - b.Line })
	return outcomes, nil
}

// leaveOut returns the catalogue without a part of the examples, and that part as
// lines, numbered through the whole catalogue. Neighbouring examples are in
// different parts, and so are the first ones of the intents.
func leaveOut(all []intents.Intent, part, parts int) (rest *intents.Catalog, held []Line) {
	out := make([]intents.Intent, len(all))
	number := 0
	for c, in := range all {
		examples := in.Examples
		in.Examples = nil
		for _, e := range examples {
			if number%parts == part {
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
