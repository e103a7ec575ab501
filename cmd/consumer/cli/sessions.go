package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/store"
	"intenthint/store/file"
)

// SessionsOf opens the session store for a command that reads, which closes it.
// Session files can be read without their system, unless there are none. The error
// then is that of [OpenForReading] or [SessionsAt].
func SessionsOf(inv *Invocation) (s store.Reader, closeStore func(), err error) {
	if inv.Config.Store.Kind != config.StoreKV {
		if _, err := os.Stat(inv.Config.Store.SessionsDir); !errors.Is(err, fs.ErrNotExist) {
			return file.OpenReader(inv.Config.Store.SessionsDir, store.Options{Logger: inv.Quiet()}), func() {}, nil
		}
	}
	b, err := OpenForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	if s, err = SessionsAt(inv, b); err != nil {
		b.Close()
		return nil, nil, err
	}
	return s, b.Close, nil
}

// SessionsAt opens the session store of a system for a command that only reads it.
// It refuses the store of another system (contract §9), and creates none.
func SessionsAt(inv *Invocation, b *bus.Bus) (store.Reader, error) {
	s, err := app.OpenSystemReader(inv.Ctx, inv.Config, b, inv.Quiet())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("%w: the server has no %s; check HINT_STORE and HINT_STREAM, or start a consumer with `consumer run`", ErrNoSystem, app.StoreName(inv.Config))
	}
	return s, err
}

// StoreName returns where sessions are looked up, and notes if it does not
// exist: the command may have been started in another directory than the
// consumer.
func StoreName(cfg *config.Config) string {
	name := app.StoreName(cfg)
	if cfg.Store.Kind == config.StoreKV {
		return name
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		name += ", which does not exist"
	}
	return name
}
