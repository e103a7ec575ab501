package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/cmd/consumer/cli"
	"intenthint/hint/writer"
	"intenthint/intents"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/redact"
)

// modelPatience bounds one question: a model that is slower than HINT_TIMEOUT_MS
// is reported with its time.
const modelPatience = 30 * time.Second

// modelQuestion is the message that is classified.
const modelQuestion = "Remind me to water the plants tomorrow at nine."

// models asks each configured model once.
func (d *doctor) models() {
	c := d.inv.Config.Classifier
	registry, err := provider.New(c.Providers, provider.Options{})
	if err != nil {
		d.report(stateFail, fmt.Sprintf("model providers: %v", err), "correct HINT_PROVIDERS")
		return
	}
	if c.Model == "" && c.Fallback == "" {
		d.report(stateOK, "models: none, the local classifier answers", "")
	}
	if c.Model != "" {
		d.ask(anyModel(registry), "HINT_MODEL", c.Model, d.hintLimit(), d.classify)
	}
	if c.Fallback != "" {
		d.ask(promptModel(registry), "HINT_MODEL_FALLBACK", c.Fallback, d.hintLimit(), d.classify)
	}
	if c.Writer != "" {
		d.writer(registry, c.Writer)
	}
	program := app.ProgramOf(d.inv.Config, app.Observer{}, nil)
	for _, p := range app.Parts() {
		if p.Trials == nil || !p.IsOn(program) {
			continue
		}
		for _, t := range p.Trials(program) {
			d.ask(anyModel(registry), t.Setting, t.Ref, limit{t.Limit, t.Most}, t.Ask)
		}
	}
	// A value without a slash does not name a provider's model.
	if strings.Contains(c.Embedding, "/") {
		d.embedding(registry, c.Embedding)
	}
}

func (d *doctor) classify(ctx context.Context, asked part.Asked) (string, error) {
	by := classify.Model(classify.LLM{Chain: asked.Chain})
	if asked.Decider != nil {
		by = classify.SystemOne{Decider: asked.Decider}
	}
	result, err := by.Classify(ctx, classify.Input{
		Catalog: d.catalog(), Latest: modelQuestion, Now: time.Now().In(d.inv.Config.Timezone.Location),
	})
	return result.Intent, err
}

// writer asks for the instruction of a turn.
func (d *doctor) writer(registry *provider.Registry, ref string) {
	d.ask(promptModel(registry), "HINT_WRITER", ref, limit{}, func(ctx context.Context, asked part.Asked) (string, error) {
		in := d.catalog().Enabled()[0]
		body, err := writer.Ask(ctx, asked.Chain, writer.Task{
			Intent: in, Latest: modelQuestion, Result: payload.Classification{Intent: in.ID, Goal: modelQuestion, Complexity: payload.ComplexityLow},
		})
		return cli.Count(utf8.RuneCountInString(body), "character"), err
	})
}

// catalog returns the configured catalogue, or the built-in one if that has no
// intents.
func (d *doctor) catalog() *intents.Catalog {
	catalog, _, err := app.LoadCatalog(d.inv.Config.IntentsDir, d.inv.Quiet())
	if err != nil || len(catalog.Enabled()) == 0 {
		return intents.Bundled() // reported already
	}
	return catalog
}

// ask asks a model one question; question returns a short form of the answer.
func (d *doctor) ask(find finder, variable, ref string, most limit, question func(context.Context, part.Asked) (string, error)) {
	name := variable + " " + ref
	seen := &outcome{}
	asked, err := find(ref, model.Options{Observer: seen})
	if err != nil {
		d.report(stateFail, fmt.Sprintf("%s: %v", name, err), "set the key, or correct "+variable+" or HINT_PROVIDERS")
		return
	}
	d.progress("asking " + ref)
	ctx, cancel := context.WithTimeout(d.inv.Ctx, modelPatience)
	defer cancel()
	began := time.Now()
	said, err := question(ctx, asked)
	if err != nil {
		d.modelFailed(name, seen.get(), took(began), err)
		return
	}
	d.modelAnswered(fmt.Sprintf("%s: ok, %s in %s", name, said, took(began)), time.Since(began), most)
}

// finder returns a model that can be asked.
type finder func(ref string, o model.Options) (part.Asked, error)

// promptModel finds models that answer prompts.
func promptModel(registry *provider.Registry) finder {
	return func(ref string, o model.Options) (part.Asked, error) {
		_, err := registry.Resolve(ref)
		return part.Asked{Chain: model.NewChain(registry, o, ref)}, err
	}
}

// anyModel finds these, and models that answer typed questions.
func anyModel(registry *provider.Registry) finder {
	return func(ref string, o model.Options) (part.Asked, error) {
		decider, err := registry.Decider(ref)
		switch {
		case err != nil:
			return part.Asked{}, err
		case decider == nil:
			return promptModel(registry)(ref, o)
		}
		return part.Asked{Decider: model.NewDecider(decider.Ref, decider, o)}, nil
	}
}

func (d *doctor) embedding(registry *provider.Registry, ref string) {
	name := "HINT_EMBEDDING_MODEL " + ref
	embedder, err := registry.Embedder(ref)
	if err != nil {
		d.report(stateFail, fmt.Sprintf("%s: %v", name, err), "set the key, or correct HINT_EMBEDDING_MODEL or HINT_PROVIDERS")
		return
	}
	d.progress("asking " + ref)
	ctx, cancel := context.WithTimeout(d.inv.Ctx, modelPatience)
	defer cancel()
	seen := &outcome{}
	began := time.Now()
	vectors, err := model.Observe(ctx, seen, embedder.Ref, func() ([][]float32, provider.Usage, error) {
		return embedder.Embed(ctx, []string{modelQuestion})
	})
	if err != nil {
		d.modelFailed(name, seen.get(), took(began), err)
		return
	}
	d.modelAnswered(fmt.Sprintf("%s: ok, %d dimensions in %s", name, len(vectors[0]), took(began)), time.Since(began), d.hintLimit())
}

// limit is a setting that bounds the time of an answer; the zero value sets no bound.
type limit struct {
	setting string
	time    time.Duration
}

// hintLimit is that of hints.
func (d *doctor) hintLimit() limit { return limit{"HINT_TIMEOUT_MS", d.inv.Config.Classifier.Timeout} }

// modelAnswered reports an answer, which may come too late for a gateway: a tenth of
// the time is for the way back.
func (d *doctor) modelAnswered(what string, after time.Duration, most limit) {
	if most.time > 0 && after > most.time-most.time/10 {
		d.report(stateWarn, fmt.Sprintf("%s, longer than nine tenths of %s (%s)", what, most.setting, most.time), "choose a faster model, or raise "+most.setting+" and the gateway's limit")
		return
	}
	d.report(stateOK, what, "")
}

func (d *doctor) modelFailed(name string, seen model.Outcome, after string, err error) {
	advice := "check the address in HINT_PROVIDERS and the provider's status"
	status, answered := errors.AsType[*provider.StatusError](err)
	switch {
	case seen == model.OutcomeLate:
		advice = "choose a faster model, or check the network"
	case seen == model.OutcomeUnparsable:
		advice = "choose a model that answers with the requested JSON object"
	case answered && (status.Code == 401 || status.Code == 403):
		advice = "check the key"
	case answered && status.Code == 404:
		advice = "check the name of the model and the address in HINT_PROVIDERS"
	case answered && status.Code == 429:
		advice = "check the quota, or wait"
	}
	// A provider may repeat the key that it refuses.
	d.report(stateFail, fmt.Sprintf("%s: %s after %s: %s", name, seen, after, redact.Text(err.Error())), advice)
}

// outcome remembers how the last call of a model ended.
type outcome struct {
	mu   sync.Mutex
	last model.Outcome
}

// ModelCalled implements [model.Observer].
func (o *outcome) ModelCalled(c model.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = c.Outcome
}

// get returns the outcome; a call in progress is late.
func (o *outcome) get() model.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == "" {
		return model.OutcomeLate
	}
	return o.last
}
