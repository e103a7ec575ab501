package workbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
)

// Classify is `consumer classify`.
type Classify struct {
	JSON    bool     `name:"json" help:"Print one JSON object."`
	Explain bool     `help:"Show what was taken for the user's words, and each frame that was removed."`
	Agent   string   `default:"main" help:"Apply HINT_INTENT_DENY for this agent."`
	Text    []string `arg:"" help:"The message."`
}

// Help is the longer text of `consumer classify --help`.
func (Classify) Help() string {
	return "Uses the configured classifier (HINT_CLASSIFIER) without NATS. The runners-up come from the local classifier, which uses the embedding model if one is configured (HINT_EMBEDDING_MODEL). The vectors of the intents are cached in HINT_DATA_DIR."
}

// Classified is what --json prints.
type Classified struct {
	payload.Classification
	// RunnersUp are the next intents of the local classifier, best first.
	RunnersUp []RunnerUp `json:"runnersUp"`
	// Evidence supports the local classifier's answer.
	Evidence evidence `json:"evidence"`
	// Explanation is there with --explain.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// Explanation is how a message was read (contract §5).
type Explanation struct {
	Words   string                 `json:"words"`
	Earlier []string               `json:"earlier"` // queued before the words
	Quoted  []string               `json:"quoted"`
	Removed []conversation.Removal `json:"removed"`
}

// RunnerUp is an intent that was not chosen.
type RunnerUp struct {
	Intent      string  `json:"intent"`
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
}

// evidence is the basis of the local classifier's answer.
type evidence struct {
	Nearest    string   `json:"nearest,omitempty"`
	Similarity float64  `json:"similarity"`
	Words      []string `json:"words"`
}

// RunnersUp is how many runners-up are shown at most.
const RunnersUp = 4

// Validate rejects a message without text.
func (c *Classify) Validate() error {
	switch {
	case c.Explain || c.latest() != "":
		return nil
	case text.Blank(c.message()):
		return errors.New("missing text")
	}
	return errNoWords
}

// errNoWords reports a message of frames alone.
var errNoWords = errors.New("no words of a user are left in the message: all of it is what gateways and plugins put around one (--explain shows what was removed)")

func (c *Classify) message() string { return strings.Join(c.Text, " ") }

func (c *Classify) latest() string { return conversation.Latest(c.message()) }

// explain returns how the message was read.
func (c *Classify) explain() *Explanation {
	m := conversation.Explain(c.message())
	return &Explanation{Words: m.Words, Earlier: cli.OrEmpty(m.Earlier), Quoted: cli.OrEmpty(m.Quoted), Removed: cli.OrEmpty(m.Removed)}
}

// Run is called by kong.
func (c *Classify) Run(inv *cli.Invocation) error {
	latest := c.latest()
	if latest == "" {
		if !c.Explain { // the operator's frames are all of it
			return errNoWords
		}
		if c.JSON {
			return cli.PrintJSON(inv, map[string]any{"explanation": c.explain()})
		}
		return c.explain().print(inv.Stdout)
	}
	catalog, _, err := app.LoadCatalog(inv.Config.IntentsDir, inv.Quiet())
	if err != nil {
		return err
	}
	if len(catalog.Enabled()) == 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "no usable intent files in %s: every message is classified as %s\n", inv.Config.IntentsDir, intents.FallbackID)
	}
	classifier, err := train(inv, catalog)
	if err != nil {
		return err
	}
	in := classify.Input{
		Catalog: catalog.Without(intents.NewDeny(inv.Config.Policy.IntentDeny).For(c.Agent)), Latest: latest, Paste: conversation.Pasted(c.message()),
		Conversation: conversation.Context(c.message(), inv.Config.Query.Mode, inv.Config.Query.Window, nil),
		Now:          time.Now().In(inv.Config.Timezone.Location),
	}
	ctx, cancel := context.WithTimeout(inv.Ctx, inv.Config.Classifier.Timeout)
	defer cancel()
	began := time.Now()
	result, err := classifier.Classify(ctx, in)
	if err != nil {
		return err
	}
	result.ElapsedMs = float64(time.Since(began).Microseconds()) / 1000
	var p local.Prediction // stays empty for a keyword
	switch result.Source {
	case payload.SourceFastpath:
	case payload.SourceEmbedding:
		p = classifier.embedding.Predict(ctx, in)
	default:
		p = classifier.local.PredictInput(in, in.Catalog.Allowed())
	}
	out := Classified{
		Classification: result, RunnersUp: []RunnerUp{},
		Evidence: evidence{Nearest: p.Nearest, Similarity: p.Similarity, Words: cli.OrEmpty(p.Words)},
	}
	for _, s := range p.Ranked {
		if s.Intent != result.Intent && len(out.RunnersUp) < RunnersUp {
			out.RunnersUp = append(out.RunnersUp, RunnerUp(s))
		}
	}
	if c.Explain {
		out.Explanation = c.explain()
	}
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	if c.Explain {
		if err := out.Explanation.print(inv.Stdout); err != nil {
			return err
		}
	}
	return out.print(inv.Stdout)
}

// maxShown bounds a text of the explanation, in characters.
const maxShown = 120

// print writes the explanation as text.
func (e *Explanation) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "words\t%q\n", e.Words)
	for _, said := range e.Earlier {
		_, _ = fmt.Fprintf(w, "earlier\t%q\n", said)
	}
	for _, said := range e.Quoted {
		_, _ = fmt.Fprintf(w, "quoted\t%q\n", text.Clip(said, maxShown))
	}
	for _, r := range e.Removed {
		_, _ = fmt.Fprintf(w, "removed\t%s: %q\n", r.Frame, text.Clip(r.Text, maxShown))
	}
	return w.Flush()
}

// print writes the outcome as text.
func (out *Classified) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "intent\t%s (%s)\n", out.Intent, out.Name)
	_, _ = fmt.Fprintf(w, "confidence\t%.2f\n", out.Confidence)
	_, _ = fmt.Fprintf(w, "reason\t%s\n", out.Reason)
	_, _ = fmt.Fprintf(w, "goal\t%s\n", out.Goal)
	_, _ = fmt.Fprintf(w, "complexity\t%s\n", out.Complexity)
	if out.Suggestion != "" {
		_, _ = fmt.Fprintf(w, "suggestion\t%s\n", out.Suggestion)
	}
	_, _ = fmt.Fprintf(w, "source\t%s, %.3f ms\n", cmp.Or(out.Model, out.Source), out.ElapsedMs)
	if out.Evidence.Nearest != "" {
		_, _ = fmt.Fprintf(w, "nearest\t%q, similarity %.2f\n", out.Evidence.Nearest, out.Evidence.Similarity)
	}
	if len(out.Evidence.Words) > 0 {
		_, _ = fmt.Fprintf(w, "telling\t%s\n", strings.Join(out.Evidence.Words, ", "))
	}
	for i, s := range out.RunnersUp {
		label := ""
		if i == 0 {
			label = "runners-up"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s %.2f\n", label, s.Intent, s.Probability)
	}
	return w.Flush()
}
