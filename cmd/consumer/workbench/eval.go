package workbench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
	"intenthint/payload"
)

// Eval is `consumer eval`.
type Eval struct {
	Intents     string `placeholder:"DIR" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Data        string `required:"" placeholder:"FILE" help:"The labelled messages: JSON lines of text and intent; - for standard input."`
	JSON        bool   `name:"json" help:"Print one JSON object."`
	Confusion   bool   `help:"Show which intents are mistaken for which, with an example each."`
	Wrong       bool   `help:"Show each wrong answer with its confidence, the runner-up and the example that misled."`
	Thresholds  bool   `help:"Show what share of messages would get a hint at each HINT_MIN_CONFIDENCE, and how many would be right."`
	Predictions string `placeholder:"FILE" help:"Write a JSON line for each message; - for standard output."`
	Against     string `placeholder:"DIR" help:"Show what changes under another directory of intent files."`
}

// Help is the longer text of `consumer eval --help`.
func (Eval) Help() string {
	return `Runs the configured classifier (HINT_CLASSIFIER) over lines such as {"text": "remind me at nine", "intent": "PRODUCTIVITY_CALENDAR"}, without NATS; the intent OTHER labels messages that fit no intent. Optional fields are "intents", a list of all right ids, and "history", the conversation before the message: [{"role": "user", "text": "…"}, {"role": "assistant", "text": "…"}], oldest first; messages with "content", as a gateway sends them, do as well. The classifier sees the part of it that HINT_QUERY_MODE and HINT_CONTEXT_WINDOW allow. Lines from consumer sessions turns may also have "earlier", in the same form: the user's last recorded messages. Only the local classifier uses them, and only if the history has no message of the user. Lines that have "lang", "kind" or "src" are also counted by these (the array "groups" with --json). Of lines with "complexity" (low, medium or high) it also counts how often that was found.

"accuracy" is over the lines whose intent is not OTHER; the answer OTHER is wrong for them. "accuracyForced" is the same without OTHER as a possible answer (an OTHER from a model is still wrong). "ece" is the expected calibration error in 15 bins. A failed classification counts as OTHER. A ratio over zero lines is 0. These figures do not apply HINT_MIN_CONFIDENCE; "hinted" (the share of messages that get a hint), "hintPrecision" (of these, the share that is right) and "oosHinted" (the share of OTHER lines that get a hint) do. As in the running system, an OTHER with enough confidence is a hint too; --thresholds also shows the share of OTHER lines whose hint names an intent.

With --json, --confusion, --wrong, --thresholds and --against add the fields "confusion", "wrong", "thresholds" and "against" (the metrics of the other directory, and the lists "better", "worse" and "changed"); as text they are further tables, with the lists of --against cut to 20 lines each. The output of --predictions can be used as --data: "text", "intent", "intents", "history", "earlier", "lang", "kind" and "src" are copied from the line; "predicted", "confidence", "source", "runnerUp", "correct", "hinted" and, after a failure, "error" are added. The file is written as the run proceeds, and holds the answers under --intents, not those under --against. With --predictions - the report goes to standard error, and --json is not possible.

Exit code 1: the data or the intents could not be read (file:line: message for each bad line), or the predictions could not be written. Wrong answers do not change it.`
}

// Validate is called by kong.
func (c *Eval) Validate() error {
	switch {
	case c.Predictions == "-" && c.JSON:
		return errors.New("--predictions - and --json cannot be used together: both print to standard output")
	case c.Predictions != "" && c.Predictions != "-" && sameFile(c.Predictions, c.Data):
		return errors.New("--predictions would overwrite --data")
	}
	return nil
}

// sameFile reports whether two names refer to the same existing file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// Evaluation is what --json prints.
type Evaluation struct {
	evaluate.Metrics
	evaluate.Hints
	// LoadMs is the time to read the intents and to train on their words, after
	// which a running system answers; EmbedMs the time to get their vectors and to
	// train on those, 0 without an embedding model. In milliseconds.
	LoadMs  float64 `json:"loadMs"`
	EmbedMs float64 `json:"embedMs"`
	// Groups are those of the fields lang, kind and src.
	Groups []evaluate.Group `json:"groups,omitzero"`
	// Complexity is nil if no line has one.
	Complexity *evaluate.Complexity `json:"complexity,omitempty"`
	// The other fields are set by the flags of their names.
	Confusion  []evaluate.Confusion `json:"confusion,omitzero"`
	Thresholds []evaluate.Threshold `json:"thresholds,omitzero"`
	Wrong      []Prediction         `json:"wrong,omitzero"`
	Against    *comparison          `json:"against,omitempty"`
}

// Prediction is one message and its answer.
type Prediction struct {
	Line    int            `json:"line"`
	Text    string         `json:"text"`
	Intent  string         `json:"intent"`
	Intents []string       `json:"intents,omitempty"`
	History []payload.Turn `json:"history,omitempty"`
	Earlier []payload.Turn `json:"earlier,omitempty"`
	Lang    evaluate.Label `json:"lang,omitempty"`
	Kind    evaluate.Label `json:"kind,omitempty"`
	Src     evaluate.Label `json:"src,omitempty"`
	answer
	// MisledBy is the nearest example of a wrong answer, with --wrong.
	MisledBy   string  `json:"misledBy,omitempty"`
	Similarity float64 `json:"similarity,omitempty"`
}

type answer struct {
	Predicted          string  `json:"predicted"`
	Confidence         float64 `json:"confidence"`
	Source             string  `json:"source,omitempty"`
	RunnerUp           string  `json:"runnerUp"`
	RunnerUpConfidence float64 `json:"runnerUpConfidence"`
	Correct            bool    `json:"correct"`
	Hinted             bool    `json:"hinted"`
	Error              string  `json:"error,omitempty"`
}

// comparison is what differs under another directory.
type comparison struct {
	Intents string `json:"intents"`
	evaluate.Metrics
	evaluate.Hints
	LoadMs  float64  `json:"loadMs"`
	EmbedMs float64  `json:"embedMs"`
	Better  []change `json:"better"`
	Worse   []change `json:"worse"`
	Changed []change `json:"changed"`
}

// change is a message that is answered differently.
type change struct {
	Line    int      `json:"line"`
	Text    string   `json:"text"`
	Intent  string   `json:"intent"`
	Intents []string `json:"intents,omitempty"`
	Before  answer   `json:"before"`
	After   answer   `json:"after"`
}

const (
	shownConfusions = 20 // pairs of --confusion
	shownNames      = 20 // names that are in the data but not in the catalogue
)

// Run is called by kong.
func (c *Eval) Run(inv *cli.Invocation) error {
	lines, err := c.read(inv)
	if err != nil {
		return err
	}
	for _, r := range first(evaluate.ForeignRoles(lines)) {
		_, _ = fmt.Fprintf(inv.Stderr, "%s:%d: no classifier sees turns of role %q (%s)\n", c.Data, r.First, r.Name, cli.Count(r.N, "turn"))
	}
	dir := cmp.Or(c.Intents, inv.Config.IntentsDir)
	report := inv.Stdout
	run := evalRun{inv: inv, data: c.Data, lines: lines}
	if c.Predictions == "-" {
		report = inv.Stderr
		run.predictions = inv.Stdout
	}
	// Both directories are read before any model calls cost money.
	subject, err := run.load(dir, "")
	if err != nil {
		return err
	}
	var other *evalSubject
	if c.Against != "" {
		if other, err = run.load(c.Against, " in "+c.Against); err != nil {
			return err
		}
	}
	if c.Predictions != "" && c.Predictions != "-" {
		file, err := os.OpenFile(c.Predictions, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // closed below; this is for the error paths
		run.predictions = file
	}
	outcomes, err := run.outcomes(subject)
	if err != nil {
		return err
	}
	if file, ok := run.predictions.(*os.File); ok && c.Predictions != "-" {
		if err := file.Close(); err != nil {
			return err
		}
	}

	minConfidence := inv.Config.Classifier.MinConfidence
	out := Evaluation{
		Metrics: evaluate.Measure(outcomes), Hints: evaluate.HintsAt(outcomes, minConfidence).Hints, LoadMs: subject.loadMs, EmbedMs: subject.classifier.embedMs,
		Groups: evaluate.Groups(subject.lines, outcomes, minConfidence), Complexity: evaluate.ComplexityOf(subject.lines, outcomes),
	}
	if c.Confusion {
		pairs := evaluate.Confusions(outcomes)
		out.Confusion = pairs[:min(len(pairs), shownConfusions)]
	}
	if c.Thresholds {
		out.Thresholds = evaluate.Thresholds(outcomes)
	}
	if c.Wrong {
		out.Wrong = misses(subject.lines, outcomes, minConfidence)
	}
	if other != nil {
		run.predictions = nil
		after, err := run.outcomes(other)
		if err != nil {
			return err
		}
		out.Against = compared(subject.lines, outcomes, after, minConfidence)
		out.Against.Intents, out.Against.LoadMs, out.Against.EmbedMs = c.Against, other.loadMs, other.classifier.embedMs
	}
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	text := evalText{Evaluation: &out, data: c.Data, dir: cmp.Or(dir, "the built-in definitions"), minConfidence: minConfidence}
	return text.print(report, evaluate.ByIntent(outcomes), evaluate.HintsAt(outcomes, minConfidence))
}

// read returns the labelled messages. Bad lines are printed.
func (c *Eval) read(inv *cli.Invocation) ([]evaluate.Line, error) {
	var (
		data []byte
		err  error
	)
	if c.Data == "-" {
		c.Data = "stdin"
		data, err = io.ReadAll(inv.Stdin)
	} else {
		data, err = os.ReadFile(c.Data)
	}
	if err != nil {
		return nil, err
	}
	lines, err := evaluate.Parse(c.Data, data)
	if _, bad := errors.AsType[*evaluate.LineError](err); bad {
		_, _ = fmt.Fprintln(inv.Stderr, err)
		return nil, cli.ErrReported
	}
	return lines, err
}

// evalRun is the state that the measured directories share.
type evalRun struct {
	inv         *cli.Invocation
	data        string // name of the file
	lines       []evaluate.Line
	predictions io.Writer // nil for none
}

// evalSubject is a measured directory.
type evalSubject struct {
	catalog    *intents.Catalog
	classifier trained
	lines      []evaluate.Line // with the catalogue's ids
	loadMs     float64
	place      string // " in DIR" for a message; "" for --intents
}

// load reads a directory and trains on it.
func (r *evalRun) load(dir, place string) (*evalSubject, error) {
	began := time.Now()
	catalog, _, err := app.LoadCatalog(dir, r.inv.Quiet())
	if err != nil {
		return nil, err
	}
	if len(catalog.Enabled()) == 0 {
		return nil, fmt.Errorf("no enabled intents in %s", dir)
	}
	classifier, err := train(r.inv, catalog)
	if err != nil {
		return nil, err
	}
	s := &evalSubject{catalog: catalog, classifier: classifier, loadMs: ms(time.Since(began)) - classifier.embedMs, place: place}
	var unknown []evaluate.Unknown
	s.lines, unknown = evaluate.Resolve(r.lines, catalog)
	for _, u := range first(unknown) {
		_, _ = fmt.Fprintf(r.inv.Stderr, "%s:%d: the catalogue%s has no intent %q (%s, counted as wrong)\n", r.data, u.First, place, u.Name, cli.Count(u.N, "line"))
	}
	if more := len(unknown) - shownNames; more > 0 {
		_, _ = fmt.Fprintf(r.inv.Stderr, "%s: %s more that the catalogue%s does not have\n", r.data, cli.Count(more, "intent"), place)
	}
	return s, nil
}

// first returns the names that are shown.
func first(names []evaluate.Unknown) []evaluate.Unknown { return names[:min(len(names), shownNames)] }

// outcomes classifies the lines.
func (r *evalRun) outcomes(s *evalSubject) ([]evaluate.Outcome, error) {
	cfg := r.inv.Config
	bar := cli.NewProgress(r.inv.Stderr)
	bar.Label = s.place
	done := 0
	run := evaluate.Run{
		Catalog: s.catalog, Classifier: s.classifier.Classifier, Timeout: cfg.Classifier.Timeout, Location: cfg.Timezone.Location,
		QueryMode: cfg.Query.Mode, Window: cfg.Query.Window,
		Predict: func(source string, in classify.Input) local.Prediction {
			if s.classifier.embedding != nil && source != payload.SourceLocal && source != payload.SourceFastpath {
				return s.classifier.embedding.Predict(r.inv.Ctx, in)
			}
			return s.classifier.local.PredictInput(in, nil)
		},
		Nearest: s.classifier.local.Nearest,
		Done: func(line *evaluate.Line, o *evaluate.Outcome) error {
			done++
			bar.Show(done, len(s.lines))
			if r.predictions == nil {
				return nil
			}
			p := predictionOf(line, o, cfg.Classifier.MinConfidence)
			enc := json.NewEncoder(r.predictions)
			enc.SetEscapeHTML(false)
			return enc.Encode(p)
		},
	}
	outcomes, err := run.Classify(r.inv.Ctx, s.lines)
	bar.Clear()
	if err != nil {
		return nil, err
	}
	if failed, first := failures(outcomes); failed > 0 {
		_, _ = fmt.Fprintf(r.inv.Stderr, "%d of %s got no answer%s and count as %s; the first error: %v\n",
			failed, cli.Count(len(outcomes), "message"), s.place, intents.FallbackID, first)
	}
	return outcomes, nil
}

func failures(outcomes []evaluate.Outcome) (n int, first error) {
	for i := range outcomes {
		if err := outcomes[i].Err; err != nil {
			n++
			if first == nil {
				first = err
			}
		}
	}
	return n, first
}

func answerOf(o *evaluate.Outcome, minConfidence float64) answer {
	a := answer{
		Predicted: o.Got, Confidence: o.Confidence, Source: o.Source, RunnerUp: o.RunnerUp, RunnerUpConfidence: o.RunnerUpConfidence,
		Correct: o.Right(), Hinted: o.Hinted(minConfidence),
	}
	if o.Err != nil {
		a.Error = o.Err.Error()
	}
	return a
}

func predictionOf(line *evaluate.Line, o *evaluate.Outcome, minConfidence float64) Prediction {
	return Prediction{
		Line: line.Number, Text: line.Text, Intent: line.Intent, Intents: line.Intents, History: line.History, Earlier: line.Earlier, Lang: line.Lang, Kind: line.Kind, Src: line.Src,
		answer: answerOf(o, minConfidence),
	}
}

// misses returns the messages with a wrong answer.
func misses(lines []evaluate.Line, outcomes []evaluate.Outcome, minConfidence float64) []Prediction {
	out := []Prediction{}
	for i := range outcomes {
		if o := &outcomes[i]; !o.Right() {
			p := predictionOf(&lines[i], o, minConfidence)
			p.MisledBy, p.Similarity = o.Misled, o.Similarity
			out = append(out, p)
		}
	}
	return out
}

// compared returns the differences between the outcomes under two directories.
func compared(lines []evaluate.Line, before, after []evaluate.Outcome, minConfidence float64) *comparison {
	changes := func(at []int) []change {
		out := make([]change, len(at))
		for k, i := range at {
			out[k] = change{
				Line: lines[i].Number, Text: lines[i].Text, Intent: lines[i].Intent, Intents: lines[i].Intents,
				Before: answerOf(&before[i], minConfidence), After: answerOf(&after[i], minConfidence),
			}
		}
		return out
	}
	c := evaluate.Compare(before, after)
	return &comparison{
		Metrics: evaluate.Measure(after), Hints: evaluate.HintsAt(after, minConfidence).Hints,
		Better: changes(c.Better), Worse: changes(c.Worse), Changed: changes(c.Changed),
	}
}
