package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/classify"
	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/kv"
)

// sessionStore is a store of sessions: what each part of this program needs of
// it, and what people look at.
type sessionStore interface {
	applier
	sweeper
	rebuildable
	store.Reader
	// Retired returns the turns that left a document, oldest first.
	Retired(ctx context.Context, session string) ([]json.RawMessage, error)
}

// openStore opens the session store of the configuration; js is for the one in
// JetStream only. lost, which may be nil, is told the token of a session that
// could not be read.
func openStore(ctx context.Context, cfg *config.Config, js jetstream.JetStream, lost func(token string), log *slog.Logger) (sessionStore, error) {
	opts := store.Options{HistoryLimit: cfg.Store.HistoryLimit, Lost: lost, Logger: log}
	if cfg.Store.Kind == config.StoreKV {
		return bus.Call(ctx, js.Conn(), func(ctx context.Context) (sessionStore, error) {
			return kv.Open(ctx, js, layoutOf(cfg).Sessions(), opts)
		})
	}
	return file.Open(cfg.Store.SessionsDir, opts)
}

// storeName says where sessions are.
func storeName(cfg *config.Config) string {
	if cfg.Store.Kind == config.StoreKV {
		return "bucket " + layoutOf(cfg).Sessions().Bucket
	}
	return cfg.Store.SessionsDir
}

// sessionsOf opens the session store for a command, which closes it.
func sessionsOf(inv *invocation) (s sessionStore, closeStore func(), err error) {
	if inv.cfg.Store.Kind != config.StoreKV {
		s, err = openStore(inv.ctx, inv.cfg, nil, nil, inv.quiet())
		return s, func() {}, err
	}
	b, err := openForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	if s, err = openStore(inv.ctx, inv.cfg, b.JS, nil, inv.quiet()); err != nil {
		b.Close()
	}
	return s, b.Close, err
}

type sessionsLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

func (c *sessionsLsCmd) Run(inv *invocation) error {
	sessions, closeStore, err := sessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	list, err := sessions.List(inv.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(inv, orEmpty(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(inv.stderr, "no sessions in %s\n", storeName(inv.cfg))
		return err
	}
	w := tabwriter.NewWriter(inv.stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SESSION\tAGENT\tTURNS\tINTENT\tUPDATED\tINPUT")
	for _, s := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n",
			classify.OneLine(cmp.Or(s.SessionID, s.SessionKey), 44), classify.OneLine(s.AgentID, 44), s.Turns, classify.OneLine(cmp.Or(s.Intent, "-"), 44),
			s.Updated.Local().Format(time.DateTime), classify.OneLine(s.Input, 50))
	}
	return w.Flush()
}

type sessionsShowCmd struct {
	ID string `arg:"" help:"A session id or session key."`
}

func (c *sessionsShowCmd) Run(inv *invocation) error {
	sessions, closeStore, err := sessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	document, err := sessions.Get(inv.ctx, c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no session %q in %s (consumer sessions ls lists them)", c.ID, storeName(inv.cfg))
	}
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(inv.stdout, strings.TrimRight(indented.String(), "\n"))
	return err
}
