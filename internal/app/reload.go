package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/hint"
	"intenthint/hint/eligibility"
	"intenthint/hint/writer"
	"intenthint/intents"
	"intenthint/internal/config"
	"intenthint/knowhub"
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
	// writers are those of the writer. The writer gets only the time left over, so
	// its timeouts must not open the classifier's breakers.
	writers *model.Breakers

	// training is held by whoever makes another catalogue and trains on it. It is
	// taken before mu.
	training sync.Mutex

	// mu guards the building of settings; requests never take it.
	mu     sync.Mutex
	cfg    *config.Config
	taught // the catalogue and the local classifier
	// directory is the source of the files, nil for the built-in ones.
	directory *intents.Directory
	// tier is the current embedding tier; wanted holds the next one to learn.
	tier    *Tier
	lesson  lesson // the latest input for the tier
	wanted  chan lesson
	hinter  *hint.Hinter
	gate    *gate            // nil for none
	hub     *knowhub.Service // nil for none
	claim   func()           // called once, before the first settings that ask a model
	claimed bool

	current atomic.Pointer[config.Config]
	// inForce are the settings of requests and events. Until the local classifier
	// is trained they are without a classifier.
	inForce atomic.Pointer[hint.Settings]
}

func newLive(cfg *config.Config, metrics *Metrics, log *slog.Logger, level *slog.LevelVar) *live {
	l := &live{
		metrics: metrics, log: log, level: level, cfg: cfg, wanted: make(chan lesson, 1),
		breakers: model.NewBreakers(Observer{metrics, log}), writers: model.NewBreakers(logged{log}),
	}
	l.current.Store(cfg)
	metrics.configLoaded(nil)
	return l
}

func (l *live) config() *config.Config { return l.current.Load() }

// settings returns the settings in force. load must have returned.
func (l *live) settings() *hint.Settings { return l.inForce.Load() }

func (l *live) hookTimeout(hook string) time.Duration { return l.config().HookTimeouts[hook] }

// load reads the catalogue. The process takes no events before that.
func (l *live) load() error {
	catalog, directory, err := LoadCatalog(l.cfg.IntentsDir, l.log)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files, l.catalog, l.directory = catalog, catalog, directory
	l.inForce.Store(Settings(l.cfg, catalog))
	return nil
}

// train trains the local classifier. The process takes no requests before that;
// other processes answer meanwhile.
func (l *live) train() {
	l.mu.Lock()
	catalog := l.files
	l.mu.Unlock()
	trained := local.Trained(catalog)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trained, l.local = trained, trained
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
		return nil, nil, err
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
	classifier, err := NewClassifier(l.cfg, l.local, l.embedding(), Observer{l.metrics, l.log}, l.breakers)
	if err != nil {
		return fmt.Errorf("model providers: %w", err)
	}
	writer, err := NewWriter(l.cfg, Observer{l.metrics, l.log}, l.writers)
	if err != nil {
		return fmt.Errorf("model providers: %w", err)
	}
	if (classifier.Mode() != classify.ModeLocal || writer != nil) && !l.claimed {
		l.claimed = true
		l.claim()
	}
	settings := Settings(l.cfg, l.catalog)
	settings.Classifier, settings.Writer = classifier, writer
	l.metrics.models.Expect(l.cfg.Classifier.Writer)
	c := l.cfg.Classifier
	if c.Mode != classify.ModeLocal {
		l.metrics.models.Expect(c.Model, c.Fallback)
	}
	if c.Mode != classify.ModeLLM && c.Embedding != config.EmbeddingBuiltIn && c.Embedding != config.EmbeddingOff {
		l.metrics.models.Expect(c.Embedding)
	}
	if err := l.rebuildTriage(); err != nil {
		return err
	}
	if err := l.rebuildKnowHub(); err != nil {
		return err
	}
	l.current.Store(l.cfg)
	l.inForce.Store(settings)
	l.hinter.Use(settings)
	return nil
}

// Settings returns the settings of a configuration and a catalogue, without a
// classifier. They tell which events begin turns.
func Settings(cfg *config.Config, catalog *intents.Catalog) *hint.Settings {
	deny := intents.NewDeny(cfg.Policy.IntentDeny)
	return &hint.Settings{
		Rules: eligibility.Rules{
			Agents:           cfg.Policy.Agents,
			AllowedChatTypes: cfg.Policy.ChatTypes,
			AllowedChatIDs:   cfg.Policy.AllowedChatIDs,
			DeniedChatIDs:    cfg.Policy.DeniedChatIDs,
			MainKey:          cfg.Policy.MainKey,
		},
		Catalog:       func(agent string) *intents.Catalog { return deny.Narrow(catalog, agent) },
		QueryMode:     cfg.Query.Mode,
		Window:        cfg.Query.Window,
		Location:      cfg.Timezone.Location,
		MinConfidence: cfg.Classifier.MinConfidence,
		Holdout:       hint.Holdout(cfg.Holdout),
		Complexity:    cfg.Complexity,
		Form:          cfg.Form,
		Repeat:        cfg.Repeat,
		Redact:        cfg.Redact == config.RedactStrict,
	}
}

// NewClassifier makes the classifier of a configuration. embedding may be nil, and
// so may breakers: then a failing model is asked again.
func NewClassifier(cfg *config.Config, local classify.Local, embedding *Tier, o Observer, breakers *model.Breakers) (*classify.Classifier, error) {
	c := cfg.Classifier
	opts := classify.Options{LocalAccept: c.LocalAccept, MaxInflight: c.MaxInflight, Observer: o}
	if embedding != nil {
		opts.Embedding, opts.Bounds = embedding.Embedding, embedding.bounds
	}
	if c.Mode == classify.ModeLocal {
		return classify.New(classify.ModeLocal, local, nil, opts), nil
	}
	models, err := chain(c, o, breakers, c.Model, c.Fallback)
	if err != nil {
		return nil, err
	}
	return classify.New(c.Mode, local, classify.LLM{Chain: models}, opts), nil
}

// chain returns the models to ask, one after another.
func chain(c config.Classifier, o Observer, breakers *model.Breakers, refs ...string) (*model.Chain, error) {
	registry, err := provider.New(c.Providers, provider.Options{})
	if err != nil {
		return nil, fmt.Errorf("model providers: %w", err)
	}
	return model.NewChain(registry, model.Options{Observer: o, Breakers: breakers}, refs...), nil
}

// NewWriter makes the writer of a configuration, nil for none. o and breakers are as
// for [NewClassifier].
func NewWriter(cfg *config.Config, o Observer, breakers *model.Breakers) (*writer.Writer, error) {
	c := cfg.Classifier
	if c.Writer == "" {
		return nil, nil //nolint:nilnil // no writer is no error
	}
	models, err := chain(c, o, breakers, c.Writer)
	if err != nil {
		return nil, err
	}
	return writer.New(models, model.NewLimit(c.MaxInflight)), nil
}

// describe returns the classifier in words, for the start log.
func (l *live) describe() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cfg.Classifier
	out := string(c.Mode)
	if c.Mode != classify.ModeLocal {
		models := slices.DeleteFunc([]string{c.Model, c.Fallback}, func(ref string) bool { return ref == "" })
		out += ", " + strings.Join(models, " then ")
	}
	if c.Writer != "" {
		out += ", writer " + c.Writer
	}
	if lessonOf(c, l.files, l.catalog, l.local).ref != "" {
		out += ", embedding " + c.Embedding
	}
	return out
}

// shownThin bounds the intents with few examples that a log line names.
const shownThin = 10

// intents returns how many intents there are. It warns of a directory without any,
// and names those that have few examples.
func (l *live) intents() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.catalog.Enabled())
	if n == 0 {
		l.log.Warn("no usable intent files", "variable", "HINT_INTENTS_DIR", "dir", l.cfg.IntentsDir)
	}
	if thin := l.catalog.Thin(); n > 0 && len(thin) > 0 {
		l.log.Info("intents have few examples", "count", len(thin), "ids", thin[:min(len(thin), shownThin)], "command", "consumer intents lint --advise")
	}
	return n
}

// intentsInForce returns the catalogue, without what deny lists leave out.
func (l *live) intentsInForce() *intents.Catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.catalog
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

	follow := func(d *intents.Directory) (stop func()) {
		if d == nil {
			return func() {}
		}
		own, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		watching.Go(func() {
			defer close(ended)
			d.Watch(own, l.useCatalog, func(f intents.Fault) { l.metrics.reload(reloadIntents, f) })
		})
		return func() {
			cancel()
			<-ended
		}
	}
	stop := follow(directory)
	dir := cfg.IntentsDir
	config.Watch(ctx, cfg, l.log, func(cfg *config.Config, err error) {
		if err == nil {
			err = l.useConfig(cfg)
		}
		l.metrics.reload(reloadConfig, err)
		if err != nil || cfg.IntentsDir == dir {
			return
		}
		catalog, directory, err := LoadCatalog(cfg.IntentsDir, l.log)
		if err != nil {
			l.metrics.reload(reloadIntents, err)
			l.log.Error("intents not reloaded, keeping the current ones", "error", err)
			return
		}
		dir = cfg.IntentsDir
		stop() // first, so that a late update cannot replace the new catalogue
		l.useCatalog(catalog)
		stop = follow(directory)
	})
	<-ctx.Done()
	stop()
}

// useCatalog trains on the catalogue of other files and swaps in both the catalogue
// and the model.
func (l *live) useCatalog(files *intents.Catalog) {
	l.training.Lock()
	defer l.training.Unlock()
	l.mu.Lock()
	now := l.taught
	l.mu.Unlock()
	if files == now.files {
		return
	}
	err := l.swap(now.learn(files, local.Trained(files), now.lessons))
	l.metrics.reload(reloadIntents, err)
	if err != nil {
		l.log.Error("intents not reloaded", "error", err)
		return
	}
	l.log.Info("intents reloaded", "intents", l.intents())
	returnMemory()
}

// useConfig swaps a configuration in.
func (l *live) useConfig(cfg *config.Config) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.cfg
	l.cfg = cfg
	if err := l.rebuild(); err != nil {
		l.cfg = before
		l.log.Error("configuration not reloaded", "error", err)
		return err
	}
	l.level.Set(cfg.Log.Level)
	l.log.Info("configuration reloaded", "config", cfg)
	return nil
}
