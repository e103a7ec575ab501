// Command distil measures how a cascade learns from the model that it asks: how many
// calls the local classifier saves once the model's answers are its examples,
// and how much accuracy that costs. It prints Markdown tables.
//
//	go -C tools run ./distil DATA_DIR
//
// The training part of a public set is the traffic, in a fixed random order. The
// catalogue begins with names alone. The simulated model is right on 95 of 100
// messages; otherwise it answers a random other intent. Its answers become
// examples, and the classifier is retrained whenever the examples have grown by
// a third, and at the end: a consumer does so some seconds after each example.
// Until there are three per intent, the model is asked about every message. The
// built-in encoder is used, as by default.
//
// HINT_LOCAL_ACCEPT is chosen for each set on its validation part, after all
// traffic: the value with the fewest calls among those with which the cascade is at
// least as accurate as the model alone. Only then is the test part used.
//
// DATA_DIR holds the sets, which are not part of this repository; see
// tools/accuracy. Of fewshot-splits it needs {banking77,hwu64}.valid.tsv. A set
// whose file is missing ends the command with exit code 1.
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"slices"
	"sync"

	"intenthint/tools/encoded"
)

func main() {
	if len(os.Args) != 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./distil DATA_DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	encoder, err := encoded.New()
	if err == nil {
		err = run(ctx, os.DirFS(os.Args[1]), sources(), encoder, accepts, os.Stdout)
	}
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "distil:", err)
		os.Exit(1)
	}
}

const seed = 1

var (
	// accepts are the values of HINT_LOCAL_ACCEPT to choose from.
	accepts = []float64{0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9}
	// marks are the numbers of messages after which a line of the table ends.
	marks = []int{500, 1000, 2000, 4000, 8000}
)

// trial is a learner that has seen the traffic of a set.
type trial struct {
	set      *set
	encoder  *encoded.Encoder
	accept   float64
	learner  *learner
	over     []window
	validate tally
	err      error
}

// window is the tally since the previous window.
type window struct {
	until int
	tally
}

// all returns the tally of all windows.
func (t *trial) all() (sum tally) {
	for i := range t.over {
		sum.add(t.over[i].tally)
	}
	return sum
}

func (t *trial) run(ctx context.Context) {
	t.learner = newLearner(newOracle(t.set), t.encoder, t.accept)
	t.err = t.learner.stream(ctx, t.set.traffic, marks, func(n int, since tally) { t.over = append(t.over, window{n, since}) })
	if t.err == nil {
		t.err = t.learner.train(ctx)
	}
	if t.err == nil {
		t.validate, t.err = t.learner.measure(ctx, t.set.validate)
	}
}

// run prints the tables. encoder is nil for words alone.
func run(ctx context.Context, data fs.FS, from []source, encoder *encoded.Encoder, accepts []float64, stdout io.Writer) error {
	sets := make([]*set, len(from))
	for i, src := range from {
		var err error
		if sets[i], err = src.read(data, seed); err != nil {
			return err
		}
	}
	trials, err := tried(ctx, sets, encoder, accepts)
	if err != nil {
		return err
	}
	best := choose(trials)
	printChoice(stdout, trials, accepts, best)
	printOverTime(stdout, best)
	return printTest(ctx, stdout, best)
}

// tried runs each value on each set: [value][set].
func tried(ctx context.Context, sets []*set, encoder *encoded.Encoder, accepts []float64) ([][]*trial, error) {
	out := make([][]*trial, len(accepts))
	for i, accept := range accepts {
		var group sync.WaitGroup
		for _, s := range sets {
			t := &trial{set: s, encoder: encoder, accept: accept}
			out[i] = append(out[i], t)
			group.Go(func() { t.run(ctx) })
		}
		group.Wait()
		for _, t := range out[i] {
			if t.err != nil {
				return nil, fmt.Errorf("%s: %w", t.set.name, t.err)
			}
		}
	}
	return out, ctx.Err()
}

// choose returns for each set the trial that saves the most calls on the
// validation part without losing accuracy; the last one if all lose some.
func choose(trials [][]*trial) []*trial {
	best := slices.Clone(trials[len(trials)-1])
	for i := range best {
		fewest := math.Inf(1)
		for _, sets := range trials {
			v := &sets[i].validate
			if loss, _ := v.loss(); loss <= 0 && v.per100() < fewest {
				best[i], fewest = sets[i], v.per100()
			}
		}
	}
	return best
}
