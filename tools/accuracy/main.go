// Command accuracy measures the accuracy of the local classifier on public
// sets, by words alone and with the built-in encoder, and prints a Markdown
// table.
//
//	go -C tools run ./accuracy DATA_DIR [NAME]
//
// With a NAME only the sets are measured whose names hold it: "0 an intent".
//
// DATA_DIR holds the sets, which are not part of this repository:
//
//	clinc150/data_full.json.gz               clinc/oos-eval, gzipped
//	banking77/{train,test}.csv               PolyAI-LDN/task-specific-datasets
//	hwu64/{train,test}.tsv                   label, text of fold 1 of xliuhw/NLU-Evaluation-Data
//	fewshot-splits/SET.train_{5,10}.tsv      label, text; SET is clinc150, banking77 or hwu64;
//	                                         jianguoz/Few-Shot-Intent-Detection
//
// A set whose file is missing is reported and skipped; the exit code is then 1.
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/payload"
	"intenthint/tools/encoded"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./accuracy DATA_DIR [NAME]")
		os.Exit(2)
	}
	from := sources()
	if len(os.Args) == 3 {
		from = slices.DeleteFunc(from, func(s source) bool { return !strings.Contains(s.name, os.Args[2]) })
	}
	embedder, err := encoded.New()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.DirFS(os.Args[1]), from, embedder, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const heading = `| set | by | training examples | forced choice, % | accuracy, % | out-of-scope recall, % | precision, % | ECE | p50, µs | training, ms |
|---|---|---|---|---|---|---|---|---|---|
`

const note = `
By *words*: the local classifier alone; *encoder*: with the built-in encoder, which is waited for, as HINT_EMBEDDING_MODEL=builtin is set by default. Its training includes the vectors of the examples.

One intent a label: the label in words is its trigger, the training texts are its examples; with 3, 1 and 0 an intent, the first of the five. Tested on the test parts. The fallback is the built-in one; "oos_train known" gives it the 100 oos_train texts as examples, as an operator would.
`

// run prints the table of the sets in data and returns the exit code. embedder is
// nil for a table of words alone.
func run(ctx context.Context, data fs.FS, from []source, embedder *encoded.Encoder, stdout, stderr io.Writer) int {
	code := 0
	var table strings.Builder
	for _, src := range from {
		s, err := src.read(data)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "%s skipped: %v\n", src.name, err)
			code = 1
			continue
		}
		line, err := rows(ctx, s, embedder)
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

// rows trains on a set, tests it, and returns the lines of the table: by words, and
// with the encoder.
func rows(ctx context.Context, s *set, embedder *encoded.Encoder) (string, error) {
	catalog := s.catalog()
	began := time.Now()
	model := local.Train(catalog)
	trained := time.Since(began)
	test, unknown := evaluate.Resolve(s.test, catalog)
	if len(unknown) > 0 {
		return "", fmt.Errorf("%s: %d labels of the test part have no training text, the first is %q", s.name, len(unknown), unknown[0].Name)
	}
	evaluation := evaluate.Run{
		Catalog:    catalog,
		Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
		Predict: func(_ string, in classify.Input) local.Prediction {
			return model.PredictInput(in, nil)
		},
	}
	words, err := row(ctx, s, "words", test, &evaluation, trained)
	if err != nil || embedder == nil {
		return words, err
	}
	began = time.Now()
	tier, embedded, err := embedder.Train(ctx, catalog, model)
	if err != nil {
		return "", err
	}
	if tier == nil {
		return words, nil
	}
	trained += time.Since(began)
	evaluation.Classifier = classify.New(classify.ModeLocal, model, nil, encoded.Options(tier))
	evaluation.Predict = func(source string, in classify.Input) local.Prediction {
		if source == payload.SourceEmbedding {
			if vectors, err := tier.Vectors(ctx, in); err == nil {
				return embedded.PredictVectors(in, nil, vectors)
			}
		}
		return model.PredictInput(in, nil)
	}
	both, err := row(ctx, s, "encoder", test, &evaluation, trained)
	return words + both, err
}

// row runs an evaluation and returns its line of the table.
func row(ctx context.Context, s *set, by string, test []evaluate.Line, evaluation *evaluate.Run, trained time.Duration) (string, error) {
	outcomes, err := evaluation.Classify(ctx, test)
	if err != nil {
		return "", err
	}
	m := evaluate.Measure(outcomes)
	recall, precision := "–", "–"
	if m.NOOS > 0 {
		recall, precision = fmt.Sprintf("%.1f", 100*m.OOSRecall), fmt.Sprintf("%.1f", 100*m.OOSPrecision)
	}
	return fmt.Sprintf("| %s | %s | %d | %.1f | %.1f | %s | %s | %.3f | %.0f | %d |\n",
		s.name, by, s.examples(), 100*m.AccuracyForced, 100*m.Accuracy, recall, precision, m.ECE, m.P50Us, trained.Milliseconds()), nil
}
