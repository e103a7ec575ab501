package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/tidwall/gjson"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/subjects"
)

// errDecideOff reports that the settings do not enable decisions.
var errDecideOff = errors.New(`decisions are off; HINT_DECIDE='{"enabled": true}' turns them on`)

// openDecide connects as [cli.OpenForReading] does.
func openDecide(inv *cli.Invocation) (*bus.Bus, error) {
	if !decide.Declared.In(inv.Config.Parts).Enabled {
		return nil, errDecideOff
	}
	return cli.OpenForReading(inv)
}

type decideAskCmd struct {
	File  string `arg:"" help:"A JSON file with state and questions; - reads standard input."`
	Agent string `default:"main" help:"Ask as this agent."`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer decide ask --help`.
func (decideAskCmd) Help() string {
	return `Puts typed questions about a state to a running consumer, and prints the answers.

  consumer decide ask questions.json
  echo '{"state": "Where is my card?", "questions": {"billing": {"type": "noul", "instructions": "Is it about billing?"}}}' | consumer decide ask - --json

Exit code 1: nobody answered.`
}

// decideAsked is what --json prints.
type decideAsked struct {
	decide.Reply
	Source    string   `json:"source,omitempty"`
	Rubrics   []string `json:"rubrics"`
	Skip      string   `json:"skip,omitempty"`
	ElapsedMs float64  `json:"elapsedMs"`
}

func (c *decideAskCmd) Run(inv *cli.Invocation) error {
	body, err := readFile(inv, c.File)
	if err != nil {
		return err
	}
	batch, err := decide.ParseBatch(body)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	out, err := askDecision(inv, b.NC, c.Agent, body)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(inv, out)
	} else if out.Skip == "" {
		err = out.print(inv, &batch)
	}
	if err == nil && out.Skip != "" {
		err = fmt.Errorf("no answer: %s", out.Skip)
	}
	return err
}

// readFile reads a file, or standard input for "-".
func readFile(inv *cli.Invocation, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(inv.Stdin)
	}
	return os.ReadFile(path)
}

// askDecision sends the questions as a plugin does.
func askDecision(inv *cli.Invocation, nc *nats.Conn, agent string, questions []byte) (out decideAsked, err error) {
	body, err := json.Marshal(map[string]any{
		"hook": subjects.HookDecide, "event": json.RawMessage(questions), "ctx": map[string]string{"agentId": agent},
		"ts": time.Now().UnixMilli(), "id": nuid.Next(),
	})
	if err != nil {
		return out, err
	}
	limit := inv.Config.Classifier.Timeout
	msg := nats.NewMsg(subjects.Prefix(inv.Config.Bus.Prefix).Request(subjects.HookDecide, agent))
	msg.Data = body
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(limit.Milliseconds(), 10))
	reply, err := nc.RequestMsg(msg, limit+time.Second)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return out, errors.New("no consumer that answers decisions is running")
	case err != nil:
		return out, fmt.Errorf("decide: %w", err)
	}
	if fault := reply.Header.Get(subjects.HeaderError); fault != "" {
		return out, errors.New(fault)
	}
	if err := json.Unmarshal(reply.Data, &out); err != nil {
		return out, fmt.Errorf("invalid JSON in the answer: %w", err)
	}
	out.Skip, out.Source = reply.Header.Get(subjects.HeaderDecideSkip), reply.Header.Get(subjects.HeaderDecideSource)
	out.Rubrics = cli.OrEmpty(strings.FieldsFunc(reply.Header.Get(subjects.HeaderDecideRubric), func(r rune) bool { return r == ',' }))
	out.ElapsedMs, _ = strconv.ParseFloat(reply.Header.Get(subjects.HeaderDecideElapsedMs), 64)
	return out, nil
}

// print writes a line for each question.
func (d *decideAsked) print(inv *cli.Invocation, batch *decide.Batch) error {
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "QUESTION\tANSWER\tPROBABILITY\tRUBRIC")
	for i, q := range batch.Questions {
		answer, p := said(d.Answers[q.Key])
		rubric := ""
		if i < len(d.Rubrics) {
			rubric = d.Rubrics[i]
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\n", text.OneLine(q.Key, 60), text.OneLine(answer, 60), p, rubric)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(inv.Stderr, "from %s (%s) in %.3f ms\n", d.Model, d.Source, d.ElapsedMs)
	return err
}

// said returns the answer in an answer of the wire, and its probability: of a score the
// expected level, and the probability of the likeliest.
func said(answer any) (label string, p float64) {
	raw, _ := json.Marshal(answer) // decoded JSON
	a := gjson.ParseBytes(raw)
	if noul := a.Get("noul"); noul.Exists() {
		if noul.Num >= 0.5 {
			return "true", noul.Num
		}
		return "false", 1 - noul.Num
	}
	label = a.Get("choice").Str
	a.Get("probabilities").ForEach(func(key, share gjson.Result) bool {
		if key.Str == label || a.Get("score").Exists() && share.Num > p {
			p = share.Num
		}
		return true
	})
	if score := a.Get("score"); score.Exists() {
		label = strconv.FormatFloat(score.Num, 'f', 2, 64)
	}
	return label, p
}

type decideLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

// Help is the longer text of `consumer decide ls --help`.
func (decideLsCmd) Help() string {
	return `Lists the rubrics that were decided about, the latest first: how many decisions the event stream holds, by whom they were made, and how many of those that people marked are right.

  consumer decide ls`
}

func (c *decideLsCmd) Run(inv *cli.Invocation) error {
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	entries, err := decide.Read(inv.Ctx, b.JS, app.Layout(inv.Config), "")
	if err != nil {
		return err
	}
	tallies := decide.Tallies(entries)
	if c.JSON {
		return cli.PrintJSON(inv, tallies)
	}
	known, err := rubricsIn(inv.Ctx, decide.StoreOf(app.Layout(inv.Config), b.JS, inv.Quiet()))
	if err != nil {
		return err
	}
	if len(tallies) == 0 {
		_, err := fmt.Fprintln(inv.Stderr, "no decisions")
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "RUBRIC\tNAME\tTYPE\tDECISIONS\tLOCAL\tMODEL\tZERO\tMARKED\tRIGHT\tTOKENS\tSTUDENT\tLAST")
	for _, t := range tallies {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", t.Rubric, text.OneLine(t.Name, 40), t.Type, t.Decisions,
			t.Sources[decide.Local], t.Sources[decide.Model], t.Sources[decide.Zero], t.Marked, t.Right, t.Tokens.In+t.Tokens.Out, studentOf(known, t.Rubric),
			t.Last.In(inv.Config.Timezone.Location).Format("2006-01-02 15:04"))
	}
	return w.Flush()
}

// studentOf says how sure the student of a rubric must be to answer alone.
func studentOf(known []decide.Rubric, rubric string) string {
	at := slices.IndexFunc(known, func(r decide.Rubric) bool { return r.ID == rubric })
	switch {
	case at < 0:
		return "-"
	case known[at].Standing.Threshold > 0:
		return fmt.Sprintf("from %.3f", known[at].Standing.Threshold)
	case known[at].Standing.Back > 0:
		return "taken back"
	}
	return "learns"
}

// rubricNamed returns the fingerprint that a person means: itself, or the name of a
// rubric that was decided about.
func rubricNamed(entries []decide.Entry, wanted string) (string, error) {
	for _, e := range slices.Backward(entries) {
		if e.Rubric == wanted || e.Name == wanted {
			return e.Rubric, nil
		}
	}
	if decide.ValidRubric(wanted) {
		return wanted, nil
	}
	return "", fmt.Errorf("no rubric %q was decided about (consumer decide ls)", text.OneLine(wanted, 60))
}

type decideMarkCmd struct {
	ID    string `arg:"" name:"id" help:"The id of a decision, as decide show prints it."`
	Label string `arg:"" help:"The answer that is right: a label, the number of a level, true or false."`
	By    string `placeholder:"NAME" help:"Who says so."`
}

// Help is the longer text of `consumer decide mark --help`.
func (decideMarkCmd) Help() string {
	return `Marks what the right answer of a decision is: publishes a feedback event. The latest mark counts, and counts before the teacher's answer when a student is trained.

  consumer decide mark 3f9a0c11d2e4-V1StGXR8Z5jdHi6B true --by ada

Exit code 1: the decision is not known, or has no such label.`
}

func (c *decideMarkCmd) Run(inv *cli.Invocation) error {
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	rubric, ok := decide.RubricOf(c.ID)
	if !ok {
		return fmt.Errorf("%q is not the id of a decision (consumer decide show)", text.OneLine(c.ID, 60))
	}
	entries, err := decide.Read(inv.Ctx, b.JS, app.Layout(inv.Config), rubric)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(e decide.Entry) bool { return e.ID == c.ID })
	if at < 0 {
		return fmt.Errorf("no decision %s (consumer decide show %s)", text.OneLine(c.ID, 60), rubric)
	}
	e := entries[at]
	if _, ok := e.Probabilities[c.Label]; !ok {
		return fmt.Errorf("%q is not one of the labels: %s", text.OneLine(c.Label, 60), strings.Join(labelsOf(e), ", "))
	}
	if err := app.PublishFeedback(inv.Ctx, b.JS, app.Layout(inv.Config), decide.MarkContext(e.Agent, rubric), decide.Marked(c.ID, c.Label, c.By)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(inv.Stdout, "marked %s: %s\n", c.ID, text.OneLine(c.Label, 60))
	return err
}

// labelsOf returns the labels of a decision, likeliest first.
func labelsOf(e decide.Entry) (out []string) {
	for label := range e.Probabilities {
		out = append(out, label)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(e.Probabilities[b], e.Probabilities[a]), cmp.Compare(a, b))
	})
	return out
}
