package workbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/intents"
	"intenthint/model/provider"
	"intenthint/payload"
	"intenthint/record"
)

// Replay is `consumer replay`.
type Replay struct {
	Since         cli.Since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time."`
	Intents       string    `placeholder:"DIR" help:"The directory of intent files to replay under (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Model         string    `placeholder:"M" help:"Ask this model, as provider/model. Without it no model is asked."`
	MinConfidence *float64  `placeholder:"P" help:"The confidence (0-1) below which no hint would be given (default: HINT_MIN_CONFIDENCE)."`
	All           bool      `help:"Also compare turns that a model answered, turns without an answer, and those whose record was redacted or cut."`
	JSONL         bool      `name:"jsonl" help:"Print a JSON line for each changed turn, and the summary on standard error."`
	JSON          bool      `name:"json" help:"Print the summary as one JSON object."`
	Yes           bool      `short:"y" help:"Ask a provider's model without confirmation."`
}

// Help is the longer text of `consumer replay --help`.
func (Replay) Help() string {
	return `Classifies the recorded turns again, under another catalogue, model or threshold, and shows which ones would get a different hint. Nothing is sent to the running system, and nothing is stored.

A turn changes if the hint would have another intent. OTHER means no hint: the fallback, or a confidence below HINT_MIN_CONFIDENCE (then) or --min-confidence (now). The record does not contain the threshold of that time, so the current one is used for it. A hint that was not repeated because the session already knew it is not a difference.

Without --model the local classifier answers, whatever HINT_CLASSIFIER says. Turns that a model answered are then left out and counted; --all compares them with the local classifier. With --model all turns are compared with that model's answers; HINT_CLASSIFIER=cascade asks it only if the local classifier is not sure enough. The number of calls and an estimate of tokens (a quarter of the prompts' bytes) are printed before the first call, and must be confirmed.

Turns that words alone answered although there was an embedding model (it was late, or does not know the language) are compared by words alone. Differences of turns whose record was redacted (HINT_REDACT=strict) or cut are not counted without --all: they may be caused by the altered record.

A line of --jsonl is {"session", "runId", "ts", "text", "from", "to", "fromConfidence", "toConfidence", "fromSource", "toSource"}; "fromAnswered" and "toAnswered" are the classifier's choices if there was no hint, "fromRunnerUp" and "toRunnerUp" the likeliest other intents by the local classifier, and "right" is the right intent according to feedback.

Exit code 1: the intents or the turns could not be read, a model was not confirmed, or no turn could be classified. Differences do not change it.`
}

// Validate rejects invalid combinations of flags.
func (c *Replay) Validate() error {
	switch {
	case c.MinConfidence != nil && !(*c.MinConfidence >= 0 && *c.MinConfidence <= 1):
		return errors.New("--min-confidence must be a number from 0 to 1")
	case c.JSON && c.JSONL:
		return errors.New("--json and --jsonl cannot be used together: both print to standard output")
	}
	return nil
}

// ReplayCalls is how many messages a model is asked about concurrently: enough
// to hide its latency, few enough for the rate limits of small accounts.
const ReplayCalls = 8

// Run is called by kong.
func (c *Replay) Run(inv *cli.Invocation) error {
	own, err := c.configured(inv)
	if err != nil {
		return err
	}
	dir := cmp.Or(c.Intents, own.Config.IntentsDir)
	catalog, _, err := app.LoadCatalog(dir, inv.Quiet())
	if err != nil {
		return err
	}
	if len(catalog.Enabled()) == 0 {
		return fmt.Errorf("no enabled intents in %s", dir)
	}
	turns, err := turnsToClassify(inv, record.Filter{Since: c.Since.Time}, nil)
	if err != nil {
		return err
	}
	out := replayReport{Intents: dir, Model: c.Model, MinConfidence: own.Config.Classifier.MinConfidence, Replayed: record.Replayed{Summary: record.Summary{Pairs: []record.Pair{}}}}
	if len(turns) == 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "no such turns in %s\n", cli.StoreName(inv.Config))
	} else if out.Replayed, err = c.replay(own, catalog, turns, inv.Config.Classifier.MinConfidence); err != nil {
		return err
	}
	return c.print(inv, &out)
}

// configured returns the invocation under the configuration of the replay.
func (c *Replay) configured(inv *cli.Invocation) (*cli.Invocation, error) {
	cfg, own := *inv.Config, *inv
	own.Config = &cfg
	// Failures of the model are counted, and reported once.
	cfg.Log.Level = max(cfg.Log.Level, slog.LevelError)
	if c.MinConfidence != nil {
		cfg.Classifier.MinConfidence = *c.MinConfidence
	}
	cfg.Classifier.Model, cfg.Classifier.Fallback = c.Model, ""
	switch {
	case c.Model == "":
		cfg.Classifier.Mode = classify.ModeLocal
		return &own, nil
	case cfg.Classifier.Mode != classify.ModeCascade:
		// Otherwise the local classifier's answer in place of a failing model's would
		// Count as the model's.
		cfg.Classifier.Mode = classify.ModeLLM
	}
	registry, err := provider.New(cfg.Classifier.Providers, provider.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := registry.Resolve(c.Model); err != nil {
		return nil, cli.UsageError(fmt.Sprintf("--model %s: %v", c.Model, err))
	}
	return &own, nil
}

// replay classifies the turns again. inv has the configuration of the replay; below
// then no hint was given.
func (c *Replay) replay(inv *cli.Invocation, catalog *intents.Catalog, turns []record.Turn, then float64) (record.Replayed, error) {
	settings := app.Settings(inv.Config, catalog)
	o := record.ReplayOptions{
		Catalog: settings.Catalog, ThenMinConfidence: then, MinConfidence: settings.MinConfidence,
		Models: c.All || c.Model != "", Unanswered: c.All, Altered: c.All, Location: settings.Location,
	}
	classifier, err := train(inv, catalog)
	if err != nil {
		return record.Replayed{}, err
	}
	answers := record.Classifier(classifier)
	switch {
	case c.Model != "":
		o.Workers, o.Timeout = ReplayCalls, inv.Config.Classifier.Timeout
		answers = modelOnly{classifier.Classifier, inv.Config.Classifier.LocalAccept}
	case classifier.embedding != nil:
		o.Words, o.Accept = classify.New(classify.ModeLocal, classifier.local, nil, classify.Options{}), classifier.embedding.Accept()
	}
	if err := c.afford(inv, &classifier, turns, o); err != nil {
		return record.Replayed{}, err
	}
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "turns"
	o.Progress = bar.Show
	out, err := record.Replay(inv.Ctx, turns, answers, o)
	bar.Clear()
	if err != nil {
		return out, err
	}
	if n := out.LeftOut.Failed; n > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "%d of %s got no answer and are left out; the first error: %v\n", n, cli.Count(len(turns), "turn"), out.Err)
		if out.Compared == 0 {
			return out, cli.ErrReported
		}
	}
	return out, nil
}

// bytesPerToken is the assumed size of a token in the estimate of the cost.
// English text has about that many, other languages have fewer.
const bytesPerToken = 4

// afford prints what a provider will be asked, and asks for confirmation.
func (c *Replay) afford(inv *cli.Invocation, classifier *trained, turns []record.Turn, o record.ReplayOptions) error {
	cfg := inv.Config.Classifier
	size, ref := classify.PromptBytes, c.Model
	switch {
	case c.Model != "" && classifier.Mode() == classify.ModeCascade:
		size = func(in classify.Input) int {
			if !classifier.AsksModel(&in) {
				return 0
			}
			return classify.PromptBytes(in)
		}
	case c.Model != "":
	case classifier.embedding != nil && cfg.Embedding != config.EmbeddingBuiltIn:
		size, ref = func(in classify.Input) int { return len(in.Latest) }, cfg.Embedding
	default:
		return nil // nothing leaves this process
	}
	calls, bytes, err := record.Calls(inv.Ctx, turns, o, size)
	if err != nil || calls == 0 {
		return err
	}
	return afford(inv, fmt.Sprintf("%s to %s at most", cli.Count(calls, "call"), ref), bytes, c.Yes)
}

// afford prints the expected model calls and the size of their prompts, and
// asks for confirmation, unless yes is set.
func afford(inv *cli.Invocation, calls string, bytes int64, yes bool) error {
	_, _ = fmt.Fprintf(inv.Stderr, "%s, about %d input tokens (%d bytes of prompts, %d bytes per token)\n",
		calls, (bytes+bytesPerToken-1)/bytesPerToken, bytes, bytesPerToken)
	if !yes && !cli.IsTerminal(inv.Stdin) {
		return errors.New("nothing was asked: standard input is not a terminal, add --yes")
	}
	return inv.Confirm("Ask?", yes)
}

// modelOnly is a classifier that fails if its model is asked but does not
// answer.
type modelOnly struct {
	*classify.Classifier
	accept float64 // of cascade
}

// Classify fails if another answer was given in place of the model's.
func (a modelOnly) Classify(ctx context.Context, in classify.Input) (payload.Classification, error) {
	c, err := a.Classifier.Classify(ctx, in)
	if err == nil && !payload.OfModel(c.Source) && c.Confidence < a.accept {
		return c, classify.ErrFailed
	}
	return c, err
}
