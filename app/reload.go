package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/config"
	"intenthint/conversation"
	"intenthint/hint"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/intents"
	"intenthint/model"
	"intenthint/part"
)

// live holds everything that may change at run time: the configuration and the
// catalogue. Each change builds new settings and swaps them in when they are
// complete.
type live struct {
	metrics *Metrics
	log     *slog.Logger
	level   *slog.LevelVar
	// breakers hold the circuit breaker of each model. They outlive a reload of
	// the configuration.
	breakers *model.Breakers
	// writers are the breakers of the writer. The writer gets only the time that
	// is left over, so its timeouts must not open the classifier's breakers.
	writers *model.Breakers

	// training is held while a new catalogue is made and trained on. Lock it
	// before mu.
	training sync.Mutex

	// mu guards the building of settings; requests never take it.
	mu             sync.Mutex
	prepared       // the configuration and what is derived from it alone
	trainedCatalog // the catalogue and the local classifier
	// directory is the source of the files, nil for the built-in ones.
	directory *intents.Directory
	// tier is the current embedding tier; wanted holds the basis of the next one
	// to build.
	tier   *Tier
	basis  basis // the latest input for the tier
	wanted chan basis
	hinter *hint.Hinter
	parts  []*part.Running // their settings follow the configuration

	current atomic.Pointer[config.Config]
	// inForce are the settings of requests and events. Until the local classifier
	// is trained they are without a classifier.
	inForce atomic.Pointer[hint.Settings]
}

func newLive(cfg *config.Config, metrics *Metrics, log *slog.Logger, level *slog.LevelVar) *live {
	l := &live{
		metrics: metrics, log: log, level: level, prepared: prepared{cfg: cfg}, wanted: make(chan basis, 1),
		breakers: model.NewBreakers(Observer{metrics, log}), writers: model.NewBreakers(logged{log}),
	}
	l.current.Store(cfg)
	UseFrames(cfg)
	metrics.configLoaded(nil)
	return l
}

// UseFrames makes the process know the operator's frames (HINT_FRAMES). They were
// checked when the configuration was read.
func UseFrames(cfg *config.Config) {
	if frames, err := conversation.ParseFrames(cfg.Query.Frames); err == nil {
		conversation.Use(frames)
	}
}

func (l *live) config() *config.Config { return l.current.Load() }

// settings returns the settings in force. load must have returned.
func (l *live) settings() *hint.Settings { return l.inForce.Load() }

// timeout returns the longest time that a request may take.
func (l *live) timeout() time.Duration { return l.config().Classifier.Timeout }

func (l *live) hookTimeout(hook string) time.Duration { return l.config().HookTimeouts[hook] }

// load prepares the configuration and reads the catalogue. The process takes no
// events until then.
func (l *live) load() error {
	made, err := l.prepare(l.config())
	if err != nil {
		return err
	}
	catalog, directory, err := LoadCatalog(made.cfg.IntentsDir, l.log)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared = made
	l.files, l.catalog, l.directory = catalog, catalog, directory
	l.inForce.Store(Settings(l.cfg, catalog))
	return nil
}

// train trains the local classifier. The process takes no requests until then;
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

// cacheDir holds data that can be recomputed at any time.
func cacheDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "cache") }

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

// follow makes the settings of a part follow the configuration.
func (l *live) follow(r *part.Running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts = append(l.parts, r)
}

// serve gives the hinter its first settings; later changes follow.
func (l *live) serve(h *hint.Hinter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hinter = h
	l.expect()
	l.refresh()
}

// refresh makes settings from the configuration and the catalogue, and swaps
// them in. mu is held.
func (l *live) refresh() {
	settings := Settings(l.cfg, l.catalog)
	settings.Classifier = l.models.classifier(l.cfg, l.local, l.embedding(), Observer{l.metrics, l.log})
	settings.Writer = l.models.writer
	l.inForce.Store(settings)
	l.hinter.Use(settings)
}

// expect creates the metric series of the models that may be asked. mu is held.
func (l *live) expect() {
	c := l.cfg.Classifier
	l.metrics.models.Expect(c.Writer)
	if c.Mode != classify.ModeLocal {
		l.metrics.models.Expect(c.Model, c.Fallback)
	}
	if c.Mode != classify.ModeLLM && c.Embedding != config.EmbeddingBuiltIn && c.Embedding != config.EmbeddingOff {
		l.metrics.models.Expect(c.Embedding)
	}
}

// Settings returns the settings of a configuration and a catalogue, without a
// classifier. They determine which events begin turns.
func Settings(cfg *config.Config, catalog *intents.Catalog) *hint.Settings {
	deny := intents.NewDeny(cfg.Policy.IntentDeny)
	return &hint.Settings{
		Rules:         rules(cfg),
		Catalog:       func(agent string) *intents.Catalog { return deny.Narrow(catalog, agent) },
		QueryMode:     cfg.Query.Mode,
		Window:        cfg.Query.Window,
		Location:      cfg.Timezone.Location,
		MinConfidence: cfg.Classifier.MinConfidence,
		Holdout:       hint.Holdout(cfg.Holdout),
		Style:         render.Style{Form: cfg.Form, Frame: cfg.Frame, Complexity: cfg.Complexity},
		Repeat:        cfg.Repeat,
		Redact:        cfg.Redact == config.RedactStrict,
	}
}

// rules returns the rules about agents and chats of a configuration.
func rules(cfg *config.Config) eligibility.Rules {
	return eligibility.Rules{
		Agents:           cfg.Policy.Agents,
		AllowedChatTypes: cfg.Policy.ChatTypes,
		AllowedChatIDs:   cfg.Policy.AllowedChatIDs,
		DeniedChatIDs:    cfg.Policy.DeniedChatIDs,
		MainKey:          cfg.Policy.MainKey,
	}
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
	if basisOf(c, l.files, l.catalog, l.local).ref != "" {
		out += ", embedding " + c.Embedding
	}
	return out
}

// shownThin bounds the intents with few examples that a log line names.
const shownThin = 10

// intents returns the number of intents. It logs a warning if a directory has
// none, and names intents that have few examples.
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

// intentsInForce returns the whole catalogue. Deny lists apply to agents.
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
	watching.Go(func() { l.makeTiers(ctx) })

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
			l.log.Error("intents not reloaded", "error", err)
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

// useCatalog trains on a new catalogue of files and swaps in both the catalogue
// and the model.
func (l *live) useCatalog(files *intents.Catalog) {
	l.training.Lock()
	defer l.training.Unlock()
	l.mu.Lock()
	now := l.trainedCatalog
	l.mu.Unlock()
	if files == now.files {
		return
	}
	l.swap(now.learn(files, local.Trained(files), now.lessons))
	l.metrics.reload(reloadIntents, nil)
	l.log.Info("intents reloaded", "intents", l.intents())
	returnMemory()
}

// useConfig swaps a configuration in. On an error the current one stays in use.
func (l *live) useConfig(cfg *config.Config) error {
	made, err := l.prepare(cfg)
	if err != nil {
		l.log.Error("configuration not reloaded", "error", err)
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared = made
	l.current.Store(cfg)
	UseFrames(cfg)
	l.expect()
	for _, swap := range made.swaps {
		swap()
	}
	l.refresh()
	l.level.Set(cfg.Log.Level)
	l.log.Info("configuration reloaded", "config", cfg)
	return nil
}
