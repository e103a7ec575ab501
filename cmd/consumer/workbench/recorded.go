package workbench

import (
	"slices"

	"intenthint/cmd/consumer/cli"
	"intenthint/record"
	"intenthint/store"
)

// eachTurn calls yield with every recorded turn, and shows its progress.
func eachTurn(inv *cli.Invocation, yield func(store.Summary, *store.Turn)) error {
	sessions, closeStore, err := cli.SessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "sessions"
	defer bar.Clear()
	return record.All(inv.Ctx, sessions, bar.Show, yield)
}

// turnsToClassify returns the recorded turns that a filter selects, oldest first,
// with all that their classifier was given. It calls yield, which may be nil, with
// each of them, in another order.
func turnsToClassify(inv *cli.Invocation, filter record.Filter, yield func(store.Summary, *store.Turn)) ([]record.Turn, error) {
	var turns []record.Turn
	err := eachTurn(inv, func(s store.Summary, turn *store.Turn) {
		t := record.NewTurn(s, turn, inv.Config.Classifier.MinConfidence)
		switch {
		case !filter.Selects(&t):
			t.History = nil // others may have been given its message, nothing else of it
		case yield != nil:
			yield(s, turn)
		}
		turns = append(turns, t)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(turns, func(a, b record.Turn) int { return a.Compare(&b) })
	record.Recall(turns)
	return slices.DeleteFunc(turns, func(t record.Turn) bool { return !filter.Selects(&t) }), nil
}
