package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/model"
)

// rehearse opens the store, and what answers in this process. as changes the settings.
func rehearse(inv *cli.Invocation, b *bus.Bus, as func(*decide.Settings)) (*decide.Rehearsal, *decide.Store, error) {
	cfg := *inv.Config
	cfg.Parts = decide.Declared.With(cfg.Parts, as)
	o := app.Observer{Metrics: app.NewMetrics(version, ""), Log: inv.Quiet()}
	settings, err := decide.Make(app.ProgramOf(&cfg, o, model.NewBreakers(o)))
	if err != nil {
		return nil, nil, err
	}
	store := decide.StoreOf(app.Layout(inv.Config), b.JS, inv.Quiet())
	return decide.NewRehearsal(settings, store, app.EncoderOf(inv.Config), inv.Quiet()), store, nil
}

// storedRubric returns a rubric by its fingerprint or name.
func storedRubric(ctx context.Context, store *decide.Store, wanted string) (decide.Rubric, error) {
	known, err := rubricsIn(ctx, store)
	if err != nil {
		return decide.Rubric{}, err
	}
	at := slices.IndexFunc(known, func(r decide.Rubric) bool { return r.ID == wanted || r.Name == wanted })
	if at < 0 {
		return decide.Rubric{}, fmt.Errorf("no rubric %q is stored (consumer decide ls)", text.OneLine(wanted, 60))
	}
	return known[at], nil
}

// rubricsIn returns the stored rubrics, none without a bucket.
func rubricsIn(ctx context.Context, store *decide.Store) ([]decide.Rubric, error) {
	known, err := store.Rubrics(ctx)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	return known, err
}

type decideEvalCmd struct {
	Rubric string `required:"" placeholder:"R" help:"The rubric, or its name."`
	Data   string `required:"" placeholder:"FILE" help:"JSON lines {\"state\", \"label\"}, or {\"text\", \"label\"}; - reads standard input."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer decide eval --help`.
func (decideEvalCmd) Help() string {
	return `Answers a rubric's question for each line of a file as a consumer would now, in this process, and compares with the labels. Nothing is stored. A teacher is asked for each line that no student answers.

  consumer decide eval --rubric 3f9a0c11d2e4 --data labelled.jsonl

Exit code 1: a line is not valid, or nothing was answered.`
}

// decideEvaluated is what --json prints.
type decideEvaluated struct {
	Rubric string `json:"rubric"`
	N      int    `json:"n"`
	// Answered are lines with an answer, Right those with the label's.
	Answered int `json:"answered"`
	Right    int `json:"right"`
	// Accuracy is the share of right answers among the answered lines, AtLeast its exact
	// one-sided 95 % lower bound.
	Accuracy float64 `json:"accuracy"`
	AtLeast  float64 `json:"atLeast"`
	// Sources are the answered lines by source, Skips the others by reason.
	Sources map[decide.Source]int `json:"sources"`
	Skips   map[decide.Skip]int   `json:"skips"`
}

// labelled is a line of the data.
type labelled struct {
	State json.RawMessage `json:"state"`
	Text  *string         `json:"text"`
	Label any             `json:"label"`
}

func (c *decideEvalCmd) Run(inv *cli.Invocation) error {
	data, err := readFile(inv, c.Data)
	if err != nil {
		return err
	}
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	rehearsal, store, err := rehearse(inv, b, func(*decide.Settings) {})
	if err != nil {
		return err
	}
	rubric, err := storedRubric(inv.Ctx, store, c.Rubric)
	if err != nil {
		return err
	}
	q, err := rubric.Parsed()
	if err != nil {
		return err
	}
	if err := rehearsal.Learn(inv.Ctx, rubric); err != nil {
		return err
	}
	out := decideEvaluated{Rubric: rubric.ID, Sources: map[decide.Source]int{}, Skips: map[decide.Skip]int{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, decide.MaxBytes+1)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		state, label, err := parseLabelled(lines.Bytes(), q.Labels)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", c.Data, number, err)
		}
		ctx, cancel := context.WithTimeout(inv.Ctx, inv.Config.Classifier.Timeout)
		answer, err := rehearsal.Ask(ctx, &rubric, state)
		cancel()
		if err != nil {
			return err
		}
		out.add(answer, label)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", c.Data, err)
	}
	if out.Answered > 0 {
		out.Accuracy = float64(out.Right) / float64(out.Answered)
	}
	out.AtLeast = decide.LowerBound(out.Right, out.Answered)
	return errors.Join(out.print(inv, c.JSON), out.failure())
}

// parseLabelled reads a line. A label may be a number or a boolean, too.
func parseLabelled(line []byte, labels []string) (state json.RawMessage, label string, err error) {
	var l labelled
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, "", fmt.Errorf("invalid JSON: %w", err)
	}
	if state = l.State; l.Text != nil {
		state, _ = json.Marshal(*l.Text) // a string
	}
	label = fmt.Sprint(l.Label)
	switch {
	case state == nil:
		return nil, "", errors.New("state and text are missing")
	case !slices.Contains(labels, label):
		return nil, "", fmt.Errorf("%q is not one of the labels: %s", text.OneLine(label, 60), strings.Join(labels, ", "))
	}
	return state, label, nil
}

func (e *decideEvaluated) add(answer decide.Rehearsed, label string) {
	e.N++
	if answer.Skip != "" {
		e.Skips[answer.Skip]++
		return
	}
	e.Answered++
	e.Sources[answer.Source]++
	if answer.Answer == label {
		e.Right++
	}
}

func (e *decideEvaluated) failure() error {
	if e.Answered == 0 {
		return errors.New("nothing was answered")
	}
	return nil
}

func (e *decideEvaluated) print(inv *cli.Invocation, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(inv, e)
	}
	_, err := fmt.Fprintf(inv.Stdout, "%s of %d answered, %d right: accuracy %.3f, at least %.3f (95 %%)\nby: %s\n",
		cli.Count(e.Answered, "line"), e.N, e.Right, e.Accuracy, e.AtLeast, counted(e.Sources))
	if err == nil && len(e.Skips) > 0 {
		_, err = fmt.Fprintf(inv.Stdout, "not answered: %s\n", counted(e.Skips))
	}
	return err
}

// counted lists counts by name.
func counted[K ~string](counts map[K]int) string {
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
