package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/part"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/kv"
	"intenthint/subjects"
)

// Layout returns the layout of streams and durables for the configuration.
func Layout(cfg *config.Config) bus.Layout { return layoutOf(cfg, Parts()) }

func layoutOf(cfg *config.Config, parts []part.Part) bus.Layout {
	out := bus.Layout{
		Prefix:     subjects.Prefix(cfg.Bus.Prefix),
		QueueGroup: cfg.Bus.QueueGroup,
		Stream:     cfg.Bus.Stream,
		MaxAge:     cfg.Bus.StreamMaxAge,
		MaxBytes:   cfg.Bus.StreamMaxBytes,
		Replicas:   cfg.Bus.StreamReplicas,
	}
	base := out
	needs(cfg, base, parts, func(n part.Needs, on bool) {
		if on {
			out.More = append(out.More, n.Durables...)
		}
	})
	return out
}

// BusOptions returns the bus options of the configuration.
func BusOptions(cfg *config.Config) bus.Options {
	return bus.Options{
		URL:     strings.Join(cfg.Bus.URLs, ","),
		Context: cfg.Bus.Context,
		Identity: bus.Identity{
			Creds: cfg.Bus.Creds, NKey: cfg.Bus.NKey,
			CA: cfg.Bus.CA, Cert: cfg.Bus.Cert, Key: cfg.Bus.Key, TLSFirst: cfg.Bus.TLSFirst,
			InboxPrefix: cfg.Bus.InboxPrefix,
		},
		Embedded: embeddedOptions(cfg),
	}
}

func embeddedOptions(cfg *config.Config) natsserver.Options {
	return natsserver.Options{
		ConfFile: confFile(cfg), Port: cfg.Bus.Port, DataDir: cfg.DataDir, AllowOpen: cfg.AllowOpen,
		Auth: cfg.Auth == config.AuthOn, Prefix: cfg.Bus.Prefix, InboxPrefix: cfg.Bus.InboxPrefix, Contexts: cfg.Contexts,
	}
}

// confFile is the configuration file of the embedded server, or "" for the
// built-in copy when that file does not exist.
func confFile(cfg *config.Config) string {
	if _, err := os.Stat(cfg.Bus.Conf); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return cfg.Bus.Conf
}

// CheckServer returns an error for an embedded server without a usable
// configuration, or one that listens on a public address without
// authentication. It does nothing when another server is configured.
func CheckServer(cfg *config.Config) error {
	if len(cfg.Bus.URLs) > 0 {
		return nil
	}
	return embeddedOptions(cfg).Check()
}

// OpenStore opens the session store of the configuration. js is needed for the
// JetStream store only. lost, which may be nil, is called with the token of a
// session that could not be read.
func OpenStore(ctx context.Context, cfg *config.Config, js jetstream.JetStream, lost func(token string), log *slog.Logger) (store.Store, error) {
	opts := store.Options{HistoryLimit: cfg.Store.HistoryLimit, Lost: lost, Logger: log}
	if cfg.Store.Kind == config.StoreKV {
		return bus.Call(ctx, js.Conn(), func(ctx context.Context) (store.Store, error) {
			return kv.Open(ctx, js, sessionsBucket(Layout(cfg)), opts)
		})
	}
	return file.Open(cfg.Store.SessionsDir, opts)
}

// OpenSystemStore opens the session store of the system behind a connection, for a
// command that changes it. A store of another system is refused and not created: the
// error wraps [ErrStoreMismatch] or [ErrOtherStream].
func OpenSystemStore(ctx context.Context, cfg *config.Config, b *bus.Bus, log *slog.Logger) (store.Store, error) {
	if _, err := CheckSystem(ctx, cfg, b); err != nil && !errors.Is(err, bus.ErrDenied) {
		return nil, err
	}
	return OpenStore(ctx, cfg, b.JS, nil, log)
}

// OpenSystemReader opens the session store of the system behind a connection to
// read from it. It refuses a store as [OpenSystemStore] does, and creates none: the
// error for a missing bucket wraps [jetstream.ErrStreamNotFound].
func OpenSystemReader(ctx context.Context, cfg *config.Config, b *bus.Bus, log *slog.Logger) (store.Reader, error) {
	if _, err := CheckSystem(ctx, cfg, b); err != nil && !errors.Is(err, bus.ErrDenied) {
		return nil, err
	}
	opts := store.Options{Logger: log}
	if cfg.Store.Kind == config.StoreKV {
		return bus.Call(ctx, b.JS.Conn(), func(ctx context.Context) (store.Reader, error) {
			return kv.OpenReader(ctx, b.JS, sessionsBucket(Layout(cfg)), opts)
		})
	}
	return file.OpenReader(cfg.Store.SessionsDir, opts), nil
}

// StoreName returns the bucket or directory that holds the sessions.
func StoreName(cfg *config.Config) string {
	if cfg.Store.Kind == config.StoreKV {
		return "bucket " + sessionsBucket(Layout(cfg)).Bucket
	}
	return cfg.Store.SessionsDir
}
