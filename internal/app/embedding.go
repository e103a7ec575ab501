package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
	"intenthint/internal/config"
	"intenthint/model"
	"intenthint/model/provider"
)

// Backoff after a failure to get the vectors; it doubles from learnPause up to
// maxLearnPause.
const (
	learnPause    = 2 * time.Second
	maxLearnPause = 5 * time.Minute
)

// AsksEmbedding reports whether an embedding model is ever asked.
func AsksEmbedding(c config.Classifier) bool {
	return c.Embedding != "" && c.Mode != classify.ModeLLM
}

// lesson is the input from which an embedding tier is built.
type lesson struct {
	catalog   *intents.Catalog
	local     *local.Model
	ref       string
	providers map[string]provider.Config
}

func (l lesson) equal(other lesson) bool {
	return l.catalog == other.catalog && l.local == other.local && l.ref == other.ref && maps.Equal(l.providers, other.providers)
}

// Tier is an embedding tier with its trained model.
type Tier struct {
	*classify.Embedding
	lesson lesson
	model  *local.Embedded
}

// Predict returns the full prediction for a message. Without vectors it goes by
// the words alone.
func (t *Tier) Predict(ctx context.Context, in classify.Input) local.Prediction {
	found, err := t.Vectors(ctx, in)
	if err != nil {
		found = nil
	}
	return t.model.PredictVectors(in.Latest, in.Catalog.Allowed(), found)
}

// teacher makes embedding tiers.
type teacher struct {
	dir      string // of the cache
	observer Observer
	breakers *model.Breakers
	log      *slog.Logger
	progress func(done, of int)
}

// teach gets the vectors of the catalogue's texts and learns from them. It may
// take seconds. Errors wrap those of package provider.
func (t *teacher) teach(ctx context.Context, l lesson) (*Tier, error) {
	registry, err := provider.New(l.providers, provider.Options{})
	if err != nil {
		return nil, err
	}
	embedder, err := registry.Embedder(l.ref)
	if err != nil {
		return nil, err
	}
	source := vectors.Source{
		Embedder: embedder, Ref: embedder.Ref, BaseURL: embedder.BaseURL, Dir: t.dir,
		Observer: t.observer, Log: t.log, Progress: t.progress,
	}
	found, err := source.Of(ctx, local.TextsOf(l.catalog))
	if err != nil {
		return nil, err
	}
	trained, err := local.TrainEmbedded(l.local, found)
	if err != nil {
		return nil, err
	}
	opts := model.Options{Observer: t.observer, Breakers: t.breakers}
	return &Tier{Embedding: classify.NewEmbedding(embedder.Ref, embedder, trained, opts), lesson: l, model: trained}, nil
}

// embedding returns the tier for the configuration and the catalogue. It is nil
// when no tier is configured, or when it is not built yet; then it is requested.
// mu is held.
func (l *live) embedding() *Tier {
	var want lesson
	if AsksEmbedding(l.cfg.Classifier) && len(l.catalog.Enabled()) > 0 {
		want = lesson{l.catalog, l.local, l.cfg.Classifier.Embedding, l.cfg.Classifier.Providers}
	}
	if l.tier != nil && !l.tier.lesson.equal(want) {
		l.tier = nil
	}
	if l.tier == nil && !l.lesson.equal(want) {
		// Only the latest request counts.
		select {
		case <-l.wanted:
		default:
		}
		l.wanted <- want
	}
	l.lesson = want
	l.metrics.ready(l.tier != nil)
	return l.tier
}

// learn builds the requested embedding tiers until ctx ends. A newer request
// cancels the one in progress.
func (l *live) learn(ctx context.Context) {
	stop := context.CancelFunc(func() {})
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case want := <-l.wanted:
			stop()
			own, cancel := context.WithCancel(ctx)
			stop = cancel
			if want.ref != "" {
				go l.keepLearning(own, want)
			}
		}
	}
}

// keepLearning builds one tier, with retries, and swaps it in. Until then the
// local classifier answers.
func (l *live) keepLearning(ctx context.Context, want lesson) {
	t := teacher{dir: CacheDir(l.config()), observer: Observer{l.metrics, l.log}, breakers: l.breakers, log: l.log}
	for pause := learnPause; ; pause = min(2*pause, maxLearnPause) {
		began := time.Now()
		made, err := t.teach(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.useTier(made, time.Since(began))
			return
		case errors.Is(err, provider.ErrUnresolved):
			l.log.Error("embedding model not usable, the local classifier answers alone", "model", want.ref, "error", err)
			return
		}
		wait := pause
		if status, ok := errors.AsType[*provider.StatusError](err); ok {
			wait = max(wait, min(status.RetryAfter, maxLearnPause))
		}
		l.log.Warn("embedding model failed, the local classifier answers meanwhile", "model", want.ref, "retry_ms", wait.Milliseconds(), "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// useTier swaps a tier in, unless a newer one was requested meanwhile.
func (l *live) useTier(made *Tier, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !made.lesson.equal(l.lesson) {
		return
	}
	l.tier = made
	if err := l.rebuild(); err != nil {
		l.log.Error("embedding model not used", "error", err)
		return
	}
	l.log.Info("embedding model in use", "model", made.lesson.ref, "took_ms", took.Milliseconds())
}

// Teach makes the embedding tier of a configuration for a command, nil when no
// tier is configured. progress gets the number of texts that have vectors.
func Teach(ctx context.Context, cfg *config.Config, catalog *intents.Catalog, model *local.Model, o Observer, progress func(done, of int)) (*Tier, error) {
	c := cfg.Classifier
	if !AsksEmbedding(c) || len(catalog.Root().Enabled()) == 0 {
		return nil, nil
	}
	t := teacher{dir: CacheDir(cfg), observer: o, log: o.Log, progress: progress}
	return t.teach(ctx, lesson{catalog.Root(), model, c.Embedding, c.Providers})
}
