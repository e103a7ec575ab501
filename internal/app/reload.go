package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/hint"
	"intenthint/hint/eligibility"
	"intenthint/intents"
	"intenthint/internal/config"
	"intenthint/model"
	"intenthint/model/provider"
)

// live holds what may change at run time: the configuration and the catalogue.
// Each change builds new settings and swaps them in when they are complete.
type live struct {
	metrics *Metrics
	log     *slog.Logger
	level   *slog.LevelVar
	// breakers hold the circuit breaker of each model. They outlive a reload of
	// the configuration.
	breakers *model.Breakers

	// mu guards the building of settings; requests never take it.
	mu      sync.Mutex
	cfg     *config.Config
	catalog *intents.Catalog
	// directory is the source of the catalogue, nil for the built-in one.
	directory *intents.Directory
	local     *local.Model
	// tier is the current embedding tier; wanted holds the next one to learn.
	tier    *Tier
	lesson  lesson // the latest input for the tier
	wanted  chan lesson
	hinter  *hint.Hinter
	claim   func() // called once, before the first settings that ask a model
	claimed bool

	current atomic.Pointer[config.Config]
}

func newLive(cfg *config.Config, metrics *Metrics, log *slog.Logger, level *slog.LevelVar) *live {
	l := &live{
		metrics: metrics, log: log, level: level, cfg: cfg, wanted: make(chan lesson, 1),
		breakers: model.NewBreakers(Observer{metrics, log}),
	}
	l.current.Store(cfg)
	return l
}

func (l *live) config() *config.Config { return l.current.Load() }

func (l *live) timeout() time.Duration { return l.config().Classifier.Timeout }

func (l *live) hookTimeout(hook string) time.Duration { return l.config().HookTimeouts[hook] }

// load reads the catalogue and trains the local classifier. The process takes
// no requests before that; other processes answer meanwhile.
func (l *live) load() error {
	catalog, directory, err := LoadCatalog(l.cfg.IntentsDir, l.log)
	if err != nil {
		return err
	}
	trained := local.Train(catalog)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catalog, l.directory, l.local = catalog, directory, trained
	return nil
}

// CacheDir holds data that can be recomputed at any time.
func CacheDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "cache") }

// LoadCatalog reads a directory of intent files; "" means the built-in ones,
// which have no directory.
func LoadCatalog(dir string, log *slog.Logger) (*intents.Catalog, *intents.Directory, error) {
	if dir == "" {
		return intents.Bundled(), nil, nil
	}
	d, err := intents.OpenDirectory(dir, log)
	if err != nil {
		return nil, nil, fmt.Errorf("HINT_INTENTS_DIR: %w", err)
	}
	return d.Catalog(), d, nil
}

// onModel sets the function to call before the first settings that ask a model.
func (l *live) onModel(claim func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claim = claim
}

// serve gives the hinter its first settings; later changes follow.
func (l *live) serve(h *hint.Hinter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hinter = h
	return l.rebuild()
}

// rebuild makes settings from the configuration and the catalogue. On an error
// the current settings stay. mu is held.
func (l *live) rebuild() error {
	classifier, err := newWatchedClassifier(l.cfg, l.local, l.embedding(), Observer{l.metrics, l.log}, l.breakers)
	if err != nil {
		return fmt.Errorf("model providers: %w", err)
	}
	if classifier.Mode() != classify.ModeLocal && !l.claimed {
		l.claimed = true
		l.claim()
	}
	deny := intents.NewDeny(l.cfg.Policy.IntentDeny)
	catalog := l.catalog
	settings := &hint.Settings{
		Rules: eligibility.Rules{
			Agents:           l.cfg.Policy.Agents,
			AllowedChatTypes: l.cfg.Policy.ChatTypes,
			AllowedChatIDs:   l.cfg.Policy.AllowedChatIDs,
			DeniedChatIDs:    l.cfg.Policy.DeniedChatIDs,
			MainKey:          l.cfg.Policy.MainKey,
		},
		Catalog:       func(agent string) *intents.Catalog { return deny.Narrow(catalog, agent) },
		QueryMode:     l.cfg.Query.Mode,
		Window:        l.cfg.Query.Window,
		Location:      l.cfg.Timezone.Location,
		Classifier:    classifier,
		MinConfidence: l.cfg.Classifier.MinConfidence,
		Complexity:    l.cfg.Complexity,
	}
	l.current.Store(l.cfg)
	l.hinter.Use(settings)
	return nil
}

// NewClassifier makes the classifier of a configuration for a command that ends
// after its questions. It has no circuit breakers: a failing model is asked again.
func NewClassifier(cfg *config.Config, local classify.Local, embedding *Tier, o Observer) (*classify.Classifier, error) {
	return newWatchedClassifier(cfg, local, embedding, o, nil)
}

// newWatchedClassifier makes the classifier of a configuration. Models are not
// asked while their circuit breakers are open. embedding may be nil.
func newWatchedClassifier(cfg *config.Config, local classify.Local, embedding *Tier, o Observer, breakers *model.Breakers) (*classify.Classifier, error) {
	c := cfg.Classifier
	opts := classify.Options{LocalAccept: c.LocalAccept, MaxInflight: c.MaxInflight, Observer: o}
	if embedding != nil {
		opts.Embedding = embedding.Embedding
	}
	if c.Mode == classify.ModeLocal {
		return classify.New(classify.ModeLocal, local, nil, opts), nil
	}
	registry, err := provider.New(c.Providers, provider.Options{})
	if err != nil {
		return nil, err
	}
	chain := model.NewChain(registry, model.Options{Observer: o, Breakers: breakers}, c.Model, c.Fallback)
	return classify.New(c.Mode, local, classify.LLM{Chain: chain}, opts), nil
}

func nonEmpty(values ...string) []string {
	var out []string
	for _, v := range values {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// describe returns the classifier in words, for the start log.
func (l *live) describe() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cfg.Classifier
	out := fmt.Sprintf("%s, %d intents", c.Mode, len(l.catalog.Enabled()))
	if c.Mode != classify.ModeLocal {
		out += ", " + strings.Join(nonEmpty(c.Model, c.Fallback), " then ")
	}
	if AsksEmbedding(c) {
		out += ", embedding " + c.Embedding
	}
	return out
}

// watch follows the configuration file and the intent directory, and builds
// embedding tiers, until ctx ends.
func (l *live) watch(ctx context.Context) {
	var watching sync.WaitGroup
	defer watching.Wait()
	l.mu.Lock()
	cfg, directory := l.cfg, l.directory
	l.mu.Unlock()
	watching.Go(func() { l.learn(ctx) })

	stop := func() {} // ends the watch of a directory
	follow := func(d *intents.Directory) {
		stop = func() {}
		if d == nil {
			return
		}
		own, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		watching.Go(func() {
			defer close(ended)
			d.Watch(own, l.useCatalog, func(f intents.Fault) { l.metrics.reload(reloadIntents, f) })
		})
		stop = func() {
			cancel()
			<-ended
		}
	}
	follow(directory)
	dir := cfg.IntentsDir
	err := config.Watch(ctx, cfg, l.log, func(cfg *config.Config, err error) {
		l.metrics.reload(reloadConfig, err)
		if err != nil {
			return
		}
		l.useConfig(cfg)
		if cfg.IntentsDir == dir {
			return
		}
		catalog, directory, err := LoadCatalog(cfg.IntentsDir, l.log)
		if err != nil {
			l.log.Error("intents not reloaded, keeping the current ones", "error", err)
			return
		}
		dir = cfg.IntentsDir
		stop() // first, so that a late update cannot replace the new catalogue
		l.useCatalog(catalog)
		follow(directory)
	})
	if err != nil && ctx.Err() == nil {
		l.log.Error("watching the configuration file failed", "error", err)
	}
	<-ctx.Done()
	stop()
}

// useCatalog trains on a catalogue and swaps in both the catalogue and the model.
func (l *live) useCatalog(catalog *intents.Catalog) {
	l.mu.Lock()
	same := catalog == l.catalog
	l.mu.Unlock()
	if same {
		return
	}
	trained := local.Train(catalog)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catalog, l.local = catalog, trained
	err := l.rebuild()
	l.metrics.reload(reloadIntents, err)
	if err != nil {
		l.log.Error("intents not reloaded", "error", err)
		return
	}
	l.log.Info("intents reloaded", "intents", len(catalog.Enabled()))
}

// useConfig swaps a configuration in.
func (l *live) useConfig(cfg *config.Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg = cfg
	l.level.Set(cfg.Log.Level)
	if err := l.rebuild(); err != nil {
		l.log.Error("configuration not reloaded", "error", err)
		return
	}
	l.log.Info("configuration reloaded", "config", cfg)
}
