package app

import (
	"fmt"
	"slices"

	"intenthint/classify"
	"intenthint/config"
	"intenthint/hint/writer"
	"intenthint/model"
	"intenthint/model/provider"
)

// models are the models that a configuration asks. They are made once per
// configuration and outlive catalogues and embedding tiers, so that limits and
// cached instructions survive changes of these.
type models struct {
	chain *model.Chain // nil in local mode
	// decider is HINT_MODEL where that answers typed questions, nil where it answers
	// prompts; then chain holds the others.
	decider *model.Decider
	// limit bounds the calls of chain; embedding bounds those of an embedding
	// model that has no limit of its own.
	limit, embedding *model.Limit
	writer           *writer.Writer // nil for none
}

// newModels makes the models of a configuration. writers are the breakers of its
// writer. breakers may be nil: then a failing model keeps being asked.
func newModels(cfg *config.Config, o Observer, breakers, writers *model.Breakers) (m models, err error) {
	c := cfg.Classifier
	m.limit, m.embedding = model.NewLimit(c.MaxInflight), model.NewLimit(c.MaxInflight)
	if c.Mode != classify.ModeLocal {
		if m.decider, err = decider(c, o, breakers, c.Model); err != nil {
			return models{}, err
		}
		refs := []string{c.Model, c.Fallback}
		if m.decider != nil {
			refs = refs[1:]
		}
		if m.chain, err = chain(c, o, breakers, refs...); err != nil {
			return models{}, err
		}
	}
	if c.Writer == "" {
		return m, nil
	}
	written, err := chain(c, o, writers, c.Writer)
	if err != nil {
		return models{}, err
	}
	m.writer = writer.New(written, model.NewLimit(c.MaxInflight))
	return m, nil
}

// classifier makes a classifier of the models, the local one, and a tier, which may
// be nil.
func (m models) classifier(cfg *config.Config, local classify.Local, tier *Tier, o Observer) *classify.Classifier {
	opts := classify.Options{LocalAccept: cfg.Classifier.LocalAccept, Limit: m.limit, Observer: o}
	if tier != nil {
		opts.Embedding, opts.Bounds = tier.Embedding, tier.bounds
		if opts.Bounds.Limit == nil {
			opts.Bounds.Limit = m.embedding
		}
	}
	var llm classify.Model
	if m.chain != nil {
		llm = classify.LLM{Chain: m.chain}
	}
	if m.decider != nil {
		llm = classify.SystemOne{Decider: m.decider, Next: llm}
	}
	return classify.New(cfg.Classifier.Mode, local, llm, opts)
}

// NewClassifier makes the classifier of a configuration. tier may be nil.
// breakers may be nil: then a failing model keeps being asked.
func NewClassifier(cfg *config.Config, local classify.Local, tier *Tier, o Observer, breakers *model.Breakers) (*classify.Classifier, error) {
	m, err := newModels(cfg, o, breakers, nil)
	if err != nil {
		return nil, err
	}
	return m.classifier(cfg, local, tier, o), nil
}

// chain returns the models to ask, one after another.
func chain(c config.Classifier, o Observer, breakers *model.Breakers, refs ...string) (*model.Chain, error) {
	registry, err := provider.New(c.Providers, provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("model providers: %w", err)
	}
	return model.NewChain(registry, model.Options{Observer: o, Breakers: breakers}, refs...), nil
}

// decider returns a model that answers typed questions, nil for one that does not.
func decider(c config.Classifier, o Observer, breakers *model.Breakers, ref string) (*model.Decider, error) {
	registry, err := provider.New(c.Providers, provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("model providers: %w", err)
	}
	found, err := registry.Decider(ref)
	if err != nil || found == nil {
		return nil, nil //nolint:nilerr // a chain reports the same error when it is asked
	}
	if o.Metrics != nil {
		o.models.Expect(ref)
	}
	return model.NewDecider(found.Ref, found, model.Options{Observer: o, Breakers: breakers}), nil
}

// prepared is a configuration with everything that is derived from it alone. It
// is complete before any of it is used.
type prepared struct {
	cfg    *config.Config
	models models
	swaps  []func() // put the settings of the parts in force
}

// prepare makes what a configuration needs, without using it yet.
func (l *live) prepare(cfg *config.Config) (p prepared, err error) {
	o := Observer{l.metrics, l.log}
	p.cfg = cfg
	if p.models, err = newModels(cfg, o, l.breakers, l.writers); err != nil {
		return p, err
	}
	l.mu.Lock()
	parts := slices.Clone(l.parts)
	l.mu.Unlock()
	program := ProgramOf(cfg, o, l.breakers)
	for _, r := range parts {
		if r.Use == nil {
			continue
		}
		swap, err := r.Use(program) // which may wait for NATS
		if err != nil {
			return p, err
		}
		p.swaps = append(p.swaps, swap)
	}
	return p, nil
}
