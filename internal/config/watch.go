package config

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is how long a changed file must stay as it is before it is
	// read as a configuration: not every editor replaces a file at once.
	settleTime = 100 * time.Millisecond
	// pollEvery finds changes that no notification tells of: network file
	// systems, a directory that was replaced.
	pollEvery = 5 * time.Second
)

// Watch follows the file of running until ctx ends, and returns at once when
// there is none. Each new configuration is given to reloaded, in which the
// settings that need a restart have the values of running still. When an edit
// is bad, that is logged and reloaded is told the configuration that stays and
// the error, mostly an [Errors]. Calls of reloaded do not overlap.
func Watch(ctx context.Context, running *Config, log *slog.Logger, reloaded func(*Config, error)) error {
	if running.File == "" {
		return nil
	}
	env, err := readEnvironment()
	if err != nil {
		return err
	}
	path := running.File
	log = log.With(slog.String("file", path))

	var (
		events <-chan fsnotify.Event
		errs   <-chan error
		rewire = func() {}

		failing bool // the file is bad at present
	)
	if watcher, err := fsnotify.NewWatcher(); err != nil {
		log.Warn("no notifications of file changes, polling instead", slog.Any("error", err))
	} else {
		defer watcher.Close() //nolint:errcheck // Nothing is written through it.
		events, errs = watcher.Events, watcher.Errors
		// Directories are watched, since editors replace files. A link is
		// followed to the directory of what it points to, at present.
		rewire = func() {
			directories := []string{filepath.Dir(path)}
			if target, err := filepath.EvalSymlinks(path); err == nil {
				directories = append(directories, filepath.Dir(target))
			}
			for _, dir := range directories {
				if err := watcher.Add(dir); err != nil {
					log.Debug("directory is not watched, polling instead", slog.String("directory", dir), slog.Any("error", err))
				}
			}
		}
	}

	follow(ctx, events, errs, snapshot{sum: running.content}, func() snapshot {
		rewire()
		return newSnapshot(readFile(path))
	}, func(now snapshot) {
		next, err := running.replace(env, now, log)
		if err != nil {
			log.Error("configuration was not reloaded, the last good one stays", slog.Any("error", err))
			failing = true
			reloaded(running, err)
			return
		}
		if next.sameAs(running) && !failing {
			log.Debug("the file changed and no setting with it")
			return
		}
		running, failing = next, false
		reloaded(running, nil)
	})
	return nil
}

// follow looks at the file when something happens in its directory and calls
// changed for each state that differs from the last and stays for settleTime.
func follow(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error, last snapshot, look func() snapshot, changed func(snapshot)) {
	var (
		poll   = time.NewTicker(pollEvery)
		settle = time.After(settleTime) // The file may have changed since it was loaded.
		before *snapshot                // what the look before this one found, while the file settles
	)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-errs: //nolint:errcheck // Notifications may have been lost.
		case <-events:
		case <-settle:
			now := look()
			switch {
			case now.equal(last):
				settle, before = nil, nil
			case before != nil && now.equal(*before):
				settle, before, last = nil, nil, now
				changed(now)
			default:
				settle, before = time.After(settleTime), &now
			}
			continue
		}
		// A busy directory must not put the look off for ever, so a timer
		// that runs is left alone.
		if settle == nil {
			settle = time.After(settleTime)
		}
	}
}

// replace makes the configuration of a changed file. What needs a restart
// keeps its running value, with a warning.
func (c *Config) replace(env map[string]string, now snapshot, log *slog.Logger) (*Config, error) {
	next, warnings, err := build(env, now)
	for _, w := range warnings {
		log.Warn(w.Message, slog.String("variable", w.Variable))
	}
	if err != nil {
		return nil, err
	}
	for _, v := range variables {
		if v.restart && !v.equal(next, c) {
			log.Warn("setting needs a restart, its running value stays", slog.String("variable", v.name), slog.String("field", v.field))
			v.keep(next, c)
		}
	}
	next.HTTP.Fixed = c.HTTP.Fixed
	return next, nil
}

func (c *Config) sameAs(other *Config) bool {
	for _, v := range variables {
		if !v.equal(c, other) {
			return false
		}
	}
	return true
}
