package workbench

import (
	"errors"
	"fmt"

	"intenthint/cmd/consumer/cli"
	"intenthint/record"
	"intenthint/store"
)

// Sample is `consumer sample`.
type Sample struct {
	N     int       `name:"n" default:"10" help:"The number of turns."`
	Since cli.Since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time. Default: all stored turns."`
	JSONL bool      `name:"jsonl" help:"Print lines that consumer eval reads."`
}

// Help is the longer text of `consumer sample --help`.
func (Sample) Help() string {
	return `Draws classified turns at random, without regard to their confidence, for marking. The draw depends on the turns alone, so it is the same on every host.

  consumer sample --since 24h
  consumer feedback RUN right
  consumer feedback RUN wrong --intent ID

Mark all of them, also those that are easy: "consumer stats" shows how many of the marked ones are right, with the 95 % interval, and that is the accuracy only if none was left out for being hard. --jsonl prints the lines of "consumer sessions turns --jsonl".`
}

// Validate rejects a number below 1.
func (c *Sample) Validate() error {
	if c.N < 1 {
		return errors.New("--n must be at least 1")
	}
	return nil
}

// Run is called by kong.
func (c *Sample) Run(inv *cli.Invocation) error {
	filter := record.Filter{Since: c.Since.Time}
	var entries []record.Entry
	turns, err := turnsToClassify(inv, filter, func(s store.Summary, turn *store.Turn) {
		entries = append(entries, record.Entry{Session: s, Turn: record.NewTurn(s, turn, inv.Config.Classifier.MinConfidence)})
	})
	if err != nil {
		return err
	}
	type name struct{ session, run string }
	drawn := map[name]bool{}
	for _, e := range record.Draw(entries, c.N) {
		drawn[name{e.Turn.Session, e.RunID}] = true
	}
	var chosen []record.Turn
	for _, t := range turns {
		if drawn[name{t.Session, t.RunID}] {
			chosen = append(chosen, t)
		}
	}
	if c.JSONL {
		return printTurnLines(inv, chosen)
	}
	if err := printTurns(inv, chosen); err != nil || len(chosen) == 0 {
		return err
	}
	_, err = fmt.Fprintln(inv.Stderr, "mark each: consumer feedback RUN right, or wrong --intent ID; consumer stats shows the accuracy")
	return err
}
