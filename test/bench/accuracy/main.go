// Command accuracy says how right the local classifier is on public sets, as a
// Markdown table.
//
//	go run ./test/bench/accuracy DATA_DIR
//
// DATA_DIR holds the sets, which are not part of this repository:
//
//	clinc150/data_full.json.gz               clinc/oos-eval, gzipped
//	banking77/{train,test}.csv               PolyAI-LDN/task-specific-datasets
//	hwu64/{train,test}.tsv                   label, text of fold 1 of xliuhw/NLU-Evaluation-Data
//	fewshot-splits/SET.train_{5,10}.tsv      label, text; SET is clinc150, banking77 or hwu64;
//	                                         jianguoz/Few-Shot-Intent-Detection
//
// A set whose file is missing is named and left out; the exit code is then 1.
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
)

func main() {
	if len(os.Args) != 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go run ./test/bench/accuracy DATA_DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.DirFS(os.Args[1]), sources(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const heading = `| set | training examples | forced choice, % | accuracy, % | out-of-scope recall, % | precision, % | ECE | p50, µs | training, ms |
|---|---|---|---|---|---|---|---|---|
`

const note = `
One intent a label: the label in words is its trigger, the training texts are its examples. Tried on the test parts. The fallback is the built-in one; "oos_train known" gives it the 100 oos_train texts as examples, as an operator would.
`

// run prints the table of the sets in data and returns the exit code.
func run(ctx context.Context, data fs.FS, from []source, stdout, stderr io.Writer) int {
	code := 0
	var table strings.Builder
	for _, src := range from {
		s, err := src.read(data)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "%s is left out: %v\n", src.name, err)
			code = 1
			continue
		}
		s.name = src.name
		line, err := row(ctx, s)
		if err != nil {
			_, _ = fmt.Fprintln(stderr, err)
			return 1
		}
		table.WriteString(line)
	}
	if table.Len() > 0 {
		_, _ = io.WriteString(stdout, heading+table.String()+note)
	}
	return code
}

// row trains on a set, tries it, and returns a line of the table.
func row(ctx context.Context, s *set) (string, error) {
	catalog := s.catalog()
	began := time.Now()
	model := local.Train(catalog)
	trained := time.Since(began)
	test, unknown := evaluate.Resolve(s.test, catalog)
	if len(unknown) > 0 {
		return "", fmt.Errorf("%s: %d labels of the test part have no training text, the first is %q", s.name, len(unknown), unknown[0].Intent)
	}
	trial := evaluate.Run{
		Catalog:    catalog,
		Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
		Forced:     func(_ string, in classify.Input) string { return model.Predict(in.Latest, nil, nil).Intent },
	}
	outcomes, err := trial.Classify(ctx, test)
	if err != nil {
		return "", err
	}
	m := evaluate.Measure(outcomes)
	recall, precision := "–", "–"
	if m.NOOS > 0 {
		recall, precision = fmt.Sprintf("%.1f", 100*m.OOSRecall), fmt.Sprintf("%.1f", 100*m.OOSPrecision)
	}
	return fmt.Sprintf("| %s | %d | %.1f | %.1f | %s | %s | %.3f | %.0f | %d |\n",
		s.name, len(s.train), 100*m.AccuracyForced, 100*m.Accuracy, recall, precision, m.ECE, m.P50Us, trained.Milliseconds()), nil
}
