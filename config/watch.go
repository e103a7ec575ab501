package config

import (
	"context"
	"log/slog"
	"slices"

	"intenthint/internal/watch"
)

// Watch follows the file of running until ctx ends, and returns at once if
// there is no file. reloaded receives each new configuration; it keeps the
// variables of running and the settings that need a restart. A wrong edit is
// logged, and reloaded receives the configuration that stays in use and the
// error, usually an [Errors]. Calls of reloaded do not overlap.
func Watch(ctx context.Context, running *Config, log *slog.Logger, reloaded func(*Config, error)) {
	if running.File == "" {
		return
	}
	path := running.File
	log = log.With(slog.String("file", path))
	failing := false // the file is currently wrong
	watch.Watch[snapshot]{
		Path: path, Log: log,
		Look: func() snapshot { return readFile(path) },
		Changed: func(now snapshot) {
			next, err := running.replace(now, log)
			switch {
			case err != nil:
				log.Error("configuration not reloaded", slog.Any("error", err))
				failing = true
			case next.sameAs(running) && !failing:
				log.Debug("configuration unchanged")
				return
			default:
				running, failing = next, false
			}
			reloaded(running, err)
		},
	}.Run(ctx, snapshot{sum: running.content, shared: running.shared})
}

// replace makes the configuration of a changed file. Providers and settings that need a
// restart keep their running values, with a warning.
func (c *Config) replace(now snapshot, log *slog.Logger) (*Config, error) {
	next, warnings, err := build(c.env, now, c.objects, c)
	for _, w := range warnings {
		log.Warn(w.Message, slog.String("variable", w.Variable))
	}
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		if s.restart && !s.equal(next, c) {
			log.Warn("setting needs a restart", slog.String("variable", s.env()), slog.String("field", s.field))
			s.copy(next, c)
		}
	}
	for _, o := range c.objects {
		for _, field := range c.keepObject(next, o) {
			log.Warn("setting needs a restart", slog.String("variable", objectSetting(o).env()), slog.String("field", o.Name()+"."+field))
		}
	}
	next.HTTP.Fixed = c.HTTP.Fixed
	return next, nil
}

func (c *Config) sameAs(other *Config) bool {
	return !slices.ContainsFunc(withObjects(c.objects), func(s setting) bool { return !s.equal(c, other) })
}
