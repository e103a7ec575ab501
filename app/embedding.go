package app

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/config"
	"intenthint/intents"
	"intenthint/internal/retry"
	"intenthint/learning"
	"intenthint/model"
	"intenthint/model/provider"
)

// tierRetry bounds the pauses after failures to get the vectors: each attempt may
// embed the whole catalogue, which providers charge for.
var tierRetry = retry.Backoff{First: 2 * time.Second, Max: 5 * time.Minute}

// basis is the input from which an embedding tier is built; the zero value if
// no embedding model is ever asked.
type basis struct {
	// files is the catalogue without the examples learnt from use.
	files     *intents.Catalog
	catalog   *intents.Catalog
	local     *local.Model
	ref       string
	providers map[string]provider.Config
}

func basisOf(c config.Classifier, files, catalog *intents.Catalog, model *local.Model) basis {
	if c.Embedding == "" || c.Embedding == config.EmbeddingOff || c.Mode == classify.ModeLLM || len(catalog.Enabled()) == 0 {
		return basis{}
	}
	return basis{files, catalog, model, c.Embedding, c.Providers}
}

func (b basis) equal(other basis) bool {
	return b.catalog == other.catalog && b.local == other.local && b.serves(other)
}

// serves reports whether a tier built from b may answer in place of one built
// from other: it may lack only examples that were learnt from use.
func (b basis) serves(other basis) bool {
	return b.files == other.files && b.ref == other.ref && maps.Equal(b.providers, other.providers)
}

// Tier is an embedding tier with its trained model.
type Tier struct {
	*classify.Embedding
	basis  basis
	model  *local.Embedded
	bounds classify.Bounds
}

// Predict returns the full prediction for a message. Without vectors it uses
// the words alone.
func (t *Tier) Predict(ctx context.Context, in classify.Input) local.Prediction {
	found, err := t.Vectors(ctx, in)
	if err != nil {
		found = nil
	}
	return t.model.PredictVectors(in, in.Catalog.Allowed(), found)
}

// Accept returns the least confidence, 0–1, at which the words answer without
// the tier; 0 if the tier is always asked.
func (t *Tier) Accept() float64 { return t.bounds.Accept }

// tierMaker makes embedding tiers.
type tierMaker struct {
	dir      string // of the cache
	observer Observer
	breakers *model.Breakers
	progress func(done, of int)
	// builtIn is the encoder in the binary; bounds limit how much time it takes.
	builtIn func() (*encoder.Embedder, error)
	bounds  classify.Bounds
}

// make gets the vectors of the catalogue's texts and learns from them. It may
// take seconds. Errors wrap those of package provider, or are
// [local.ErrNoVectors].
func (t *tierMaker) make(ctx context.Context, b basis) (*Tier, error) {
	if b.ref == config.EmbeddingBuiltIn {
		return t.makeBuiltIn(ctx, b)
	}
	registry, err := provider.New(b.providers, provider.Options{})
	if err != nil {
		return nil, err
	}
	embedder, err := registry.Embedder(b.ref)
	if err != nil {
		return nil, err
	}
	source := vectors.Source{
		Embedder: embedder, Ref: embedder.Ref, BaseURL: embedder.BaseURL, Dir: t.dir,
		Observer: t.observer, Log: t.observer.Log, Progress: t.progress,
	}
	// What was learnt from people's messages is not sent to a provider.
	found, err := source.Of(ctx, local.TextsOf(b.files))
	if err != nil {
		return nil, err
	}
	trained, err := local.TrainEmbedded(b.local, vectors.Among(local.TextsOf(b.catalog), found))
	if err != nil {
		return nil, err
	}
	opts := model.Options{Observer: t.observer, Breakers: t.breakers}
	return &Tier{Embedding: classify.NewEmbedding(embedder.Ref, embedder, trained, opts), basis: b, model: trained}, nil
}

// makeBuiltIn is make for the encoder in the binary. Texts that are not English
// have no vector.
func (t *tierMaker) makeBuiltIn(ctx context.Context, b basis) (*Tier, error) {
	embedder, err := t.builtIn()
	if err != nil {
		return nil, err
	}
	if shipped := local.ShippedEmbedded(b.local, vectors.OpenBundled()); shipped != nil {
		return builtInTier(b, embedder, shipped, t.bounds), nil
	}
	fit := local.FewTextsOf(b.catalog, encoder.MaxTexts, embedder.Fits)
	found := vectors.Among(local.TextsOf(b.catalog), vectors.Bundled(slices.Concat(fit, b.local.Background())))
	missing := slices.DeleteFunc(fit, func(text string) bool { return found[text] != nil })
	if len(missing) > 0 {
		source := vectors.Source{
			Embedder: embedder, Ref: encoder.Ref, BaseURL: encoder.Version, Dir: t.dir, Log: t.observer.Log, Progress: t.progress,
		}
		made, err := source.Of(ctx, missing)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, made)
	}
	trained, err := local.TrainEmbedded(b.local, found)
	if err != nil {
		return nil, err
	}
	return builtInTier(b, embedder, trained, t.bounds), nil
}

func builtInTier(b basis, embedder *encoder.Embedder, trained *local.Embedded, bounds classify.Bounds) *Tier {
	return &Tier{
		Embedding: classify.NewBuiltIn(encoder.Ref, embedder, trained, embedder.Fits), basis: b, model: trained, bounds: bounds,
	}
}

// The built-in encoder keeps at most half of the processors busy. A hint waits
// for it for a third of the hint's time, but no longer than encoderWait.
const encoderWait = 30 * time.Millisecond

func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

var encoderBounds = sync.OnceValue(func() classify.Bounds {
	return classify.Bounds{Accept: encoder.Accept, Share: 1.0 / 3, Wait: encoderWait, Limit: model.NewLimit(halfOfProcessors())}
})

// sharedEncoder is the encoder of all systems in this process. It is unpacked
// on first use.
var sharedEncoder = sync.OnceValues(func() (*encoder.Embedder, error) { return encoder.NewEmbedder(halfOfProcessors(), encoder.RecentTexts) })

// shippedTier returns the tier of the built-in encoder and the built-in intents, which is
// in the binary; nil for another, and if the weights are older than the intents.
func shippedTier(b basis) *Tier {
	if b.ref != config.EmbeddingBuiltIn {
		return nil
	}
	shipped := local.ShippedEmbedded(b.local, vectors.OpenBundled())
	if shipped == nil {
		return nil
	}
	embedder, err := sharedEncoder()
	if err != nil {
		return nil // who builds it tells why
	}
	return builtInTier(b, embedder, shipped, encoderBounds())
}

// embedding returns the tier for the configuration and the catalogue. It is nil
// when no tier is configured. A tier that is not in the binary and not built yet is requested;
// meanwhile the result is nil, or an older tier that lacks only examples learnt
// from use. mu is held.
func (l *live) embedding() *Tier {
	want := basisOf(l.cfg.Classifier, l.files, l.catalog, l.local)
	if l.tier != nil && !l.tier.basis.serves(want) {
		l.tier = nil
	}
	if !l.basis.equal(want) && (l.tier == nil || !l.tier.basis.equal(want)) {
		// Only the latest request counts.
		select {
		case <-l.wanted:
		default:
		}
		if tier := shippedTier(want); tier != nil {
			l.tier = tier
			l.log.Info("embedding model in use", "model", want.ref)
		} else {
			l.wanted <- want
		}
	}
	l.basis = want
	l.metrics.embedding(l.tier != nil)
	return l.tier
}

// makeTiers builds the requested embedding tiers until ctx ends. A newer request
// cancels the build in progress, unless its tier may serve for the new request:
// examples that are learnt continuously must neither prevent a tier from ever
// being built nor keep a processor busy.
func (l *live) makeTiers(ctx context.Context) {
	stop := context.CancelFunc(func() {})
	var (
		current basis
		ended   chan struct{} // nil if there is nothing to wait for
		running sync.WaitGroup
	)
	// Training ignores the context.
	defer running.Wait()
	defer func() { stop() }()
	for {
		var want basis
		select {
		case <-ctx.Done():
			return
		case want = <-l.wanted:
		}
		for ended != nil && current.serves(want) {
			select {
			case <-ctx.Done():
				return
			case <-ended:
				ended = nil
			case want = <-l.wanted:
			}
		}
		stop()
		own, cancel := context.WithCancel(ctx)
		stop, current, ended = cancel, want, nil
		if want.ref == "" {
			continue
		}
		done := make(chan struct{})
		ended = done
		running.Go(func() {
			defer close(done)
			began := time.Now()
			l.makeTier(own, want)
			learning.Rest(own, time.Since(began))
		})
	}
}

// makeTier builds one tier, with retries, and swaps it in. Until then the
// local classifier answers. The loop is its own because a provider may ask for
// a longer pause.
func (l *live) makeTier(ctx context.Context, want basis) {
	t := tierMaker{
		dir: cacheDir(l.config()), observer: Observer{l.metrics, l.log}, breakers: l.breakers,
		builtIn: sharedEncoder, bounds: encoderBounds(),
	}
	for failures := 1; ; failures++ {
		began := time.Now()
		made, err := t.make(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l.useTier(made, time.Since(began))
			returnMemory()
			return
		case errors.Is(err, provider.ErrUnresolved):
			return // logged when the configuration was read
		case errors.Is(err, local.ErrNoVectors):
			l.log.Info("embedding model not used", "model", want.ref, "error", err)
			return
		}
		wait := tierRetry.Pause(failures)
		if status, ok := errors.AsType[*provider.StatusError](err); ok {
			wait = max(wait, min(status.RetryAfter, tierRetry.Max))
		}
		// The local classifier answers without embeddings meanwhile.
		l.log.Warn("embedding model failed", "model", want.ref, "retry_ms", wait.Milliseconds(), "error", err)
		if retry.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// useTier swaps a tier in, unless a newer one was requested meanwhile.
func (l *live) useTier(made *Tier, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !made.basis.serves(l.basis) {
		return
	}
	l.tier = made
	l.refresh()
	l.log.Info("embedding model in use", "model", made.basis.ref, "took_ms", took.Milliseconds())
}

// MakeTier makes the embedding tier of a configuration for a command; nil if no
// tier is configured or no text of the intents has a vector. progress receives
// the number of texts that have vectors. The built-in encoder may use all
// processors and has no time limit: what a command prints must not depend on
// the load of the machine.
func MakeTier(ctx context.Context, cfg *config.Config, catalog *intents.Catalog, model *local.Model, o Observer, progress func(done, of int)) (*Tier, error) {
	want := basisOf(cfg.Classifier, catalog.Root(), catalog.Root(), model)
	if want.ref == "" {
		return nil, nil
	}
	t := tierMaker{
		dir: cacheDir(cfg), observer: o, progress: progress,
		builtIn: func() (*encoder.Embedder, error) {
			return encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecordedTexts)
		},
		bounds: classify.Bounds{Accept: encoder.Accept, Share: 1},
	}
	tier, err := t.make(ctx, want)
	if errors.Is(err, local.ErrNoVectors) {
		return nil, nil
	}
	return tier, err
}
