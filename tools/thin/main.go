// Command thin finds again what the confidence of catalogues with few examples starts
// from (classify/local/thin.go), on catalogues simulated of public sets, and prints it
// beside what the code has.
//
//	go -C tools run ./thin DATA_DIR
//
// DATA_DIR is that of ./accuracy; only the training parts are read. A catalogue is of
// three to eight labels of a set, with none to five examples each. Its messages are
// other texts of these labels, and as many of other labels of the set and of the other
// sets, which fit none of its intents.
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"

	"intenthint/classify/local"
	"intenthint/tools/encoded"
)

func main() {
	if len(os.Args) != 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./thin DATA_DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.DirFS(os.Args[1]), rounds, os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "thin:", err)
		os.Exit(1)
	}
}

const (
	// rounds is the number of catalogues of each set and number of examples. With 40
	// the numbers change in the second decimal.
	rounds = 10
	// strangeShare is the assumed share of messages that fit no intent: who has a few
	// intents has users who want other things as well.
	strangeShare = 0.25
	// floor is the default HINT_MIN_CONFIDENCE.
	floor = 0.6
)

// kinds are the four pairs of regressions.
var kinds = []struct {
	name          string
	bare, vectors bool
}{
	{"few examples, words", false, false},
	{"few examples, vectors", false, true},
	{"names alone, words", true, false},
	{"names alone, vectors", true, true},
}

func run(ctx context.Context, data fs.FS, rounds int, out io.Writer) error {
	sets, err := readSets(data)
	if err != nil {
		return err
	}
	embedder, err := encoded.New()
	if err != nil {
		return err
	}
	s := &simulation{sets: sets, embedder: embedder, rounds: rounds}
	trials, err := s.run(ctx)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		var of []trial
		for _, t := range trials {
			if t.bare == k.bare && t.observed.Vectors == k.vectors {
				of = append(of, t)
			}
		}
		report(out, k.name, local.ThinConfidence(k.bare, k.vectors), of)
	}
	return nil
}

// report prints the regressions of the code, those that fit all trials, and how many
// hints each gives; of the latter also fitted to the other sets.
func report(out io.Writer, name string, code local.Confidence, trials []trial) {
	fitted := local.FitConfidence(observed(trials, ""), strangeShare)
	_, _ = fmt.Fprintf(out, "%s: %d messages\n  in scope, code    %.2f\n  in scope, fitted  %.2f\n  correct, code     %.2f\n  correct, fitted   %.2f\n",
		name, len(trials), code.InScope, fitted.InScope, code.Correct, fitted.Correct)
	here := func(trial) local.Confidence { return code }
	_, _ = fmt.Fprintln(out, "  hints, code                    ", countHints(trials, here))
	here = func(trial) local.Confidence { return fitted }
	_, _ = fmt.Fprintln(out, "  hints, fitted                  ", countHints(trials, here))
	bySet := map[string]local.Confidence{}
	for _, t := range trials {
		if _, ok := bySet[t.set]; !ok {
			bySet[t.set] = local.FitConfidence(observed(trials, t.set), strangeShare)
		}
	}
	here = func(t trial) local.Confidence { return bySet[t.set] }
	_, _ = fmt.Fprintln(out, "  hints, fitted to the other sets", countHints(trials, here))
}

// observed returns the observations of the trials but for those of a set.
func observed(trials []trial, without string) (out []local.Observed) {
	for _, t := range trials {
		if t.set != without {
			out = append(out, t.observed)
		}
	}
	return out
}

// hints counts hints.
type hints struct{ fit, right, wrong, strange, misled int }

func (h hints) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return fmt.Sprintf("right %.1f %%, wrong %.1f %% of those that fit; %.1f %% of those that fit none misled", share(h.right, h.fit), share(h.wrong, h.fit), share(h.misled, h.strange))
}

func countHints(trials []trial, confidence func(trial) local.Confidence) (h hints) {
	for i := range trials {
		t := &trials[i]
		c := confidence(*t)
		hinted := c.Of(&t.observed) >= floor
		switch {
		case t.observed.Strange():
			h.strange++
			if hinted {
				h.misled++
			}
		default:
			h.fit++
			switch {
			case hinted && t.observed.Right():
				h.right++
			case hinted:
				h.wrong++
			}
		}
	}
	return h
}
