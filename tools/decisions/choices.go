package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"intenthint/classify/evaluate"
	"intenthint/decide"
	"intenthint/intents"
	"intenthint/tools/labelled"
)

const choicesHeading = `| set | options | messages | right, % | ECE |
|---|---|---|---|---|
`

// choices prints how often the names of the options alone give the right answer.
func (b *bench) choices(sets fs.FS, stdout io.Writer) error {
	_, _ = io.WriteString(stdout, choicesHeading)
	for _, set := range []struct{ name, test string }{{"BANKING77", "banking77/test.csv"}, {"CLINC150", "clinc150/data_full.json.gz"}} {
		lines, err := labelled.Read(sets, set.test, "test")
		if err != nil {
			return err
		}
		outcomes, labels, err := b.choose(lines)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		m := evaluate.Measure(outcomes)
		_, _ = fmt.Fprintf(stdout, "| %s | %d | %d | %.1f | %.3f |\n", set.name, labels, m.N, 100*m.Accuracy, m.ECE)
	}
	return nil
}

// choose answers a choice of all labels of a set, for each message that fits one.
func (b *bench) choose(lines []evaluate.Line) (outcomes []evaluate.Outcome, labels int, err error) {
	const key = "topic"
	names := map[string]bool{}
	for _, line := range lines {
		names[line.Intent] = line.Intent != intents.FallbackID
	}
	criteria := map[string]any{}
	for name, fits := range names {
		if fits {
			criteria[name] = nil
		}
	}
	q, err := question(key, map[string]any{"type": decide.Choice, "criteria": criteria})
	if err != nil {
		return nil, 0, err
	}
	sim, end, err := b.simulation(&decide.Settings{Rubrics: map[string]decide.Rule{key: {Zero: "topic"}}}, unchecked)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	for _, line := range lines {
		if line.Intent == intents.FallbackID {
			continue
		}
		events, err := sim.Decide(b.ctx, q, text(line.Text))
		if err != nil {
			return nil, 0, err
		}
		if len(events) == 0 {
			return nil, 0, errors.New("a message without an answer")
		}
		d := events[0]
		outcomes = append(outcomes, evaluate.Outcome{Text: line.Text, Want: line.Intent, Got: d.Answer, Forced: d.Answer, Confidence: d.Probabilities[d.Answer]})
	}
	return outcomes, len(criteria), nil
}

// unchecked is chance by which no decision is checked.
func unchecked() float64 { return 1 }

// question makes one of the wire.
func question(key string, fields map[string]any) (*decide.Question, error) {
	body, err := json.Marshal(map[string]any{"state": "", "questions": map[string]any{key: fields}})
	if err != nil {
		return nil, err
	}
	batch, err := decide.ParseBatch(body)
	if err != nil {
		return nil, err
	}
	return &batch.Questions[0], nil
}

// text is a state.
func text(s string) json.RawMessage {
	out, _ := json.Marshal(s) // a string
	return slices.Clip(out)
}
