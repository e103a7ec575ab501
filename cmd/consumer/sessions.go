package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/record"
	"intenthint/store"
	"intenthint/store/file"
)

// sessionsOf opens the session store for a command that reads, which closes it.
// Session files can be read without their system, unless there are none. The error
// then is that of [openForReading] or [sessionsAt].
func sessionsOf(inv *invocation) (s store.Reader, closeStore func(), err error) {
	if inv.cfg.Store.Kind != config.StoreKV {
		if _, err := os.Stat(inv.cfg.Store.SessionsDir); !errors.Is(err, fs.ErrNotExist) {
			return file.OpenReader(inv.cfg.Store.SessionsDir, store.Options{Logger: inv.quiet()}), func() {}, nil
		}
	}
	b, err := openForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	if s, err = sessionsAt(inv, b); err != nil {
		b.Close()
		return nil, nil, err
	}
	return s, b.Close, nil
}

// sessionsAt opens the session store of a system for a command that only reads it.
// It refuses the store of another system (contract §9), and creates none.
func sessionsAt(inv *invocation, b *bus.Bus) (store.Reader, error) {
	s, err := app.OpenSystemReader(inv.ctx, inv.cfg, b, inv.quiet())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("%w: the server has no %s; check HINT_STORE and HINT_STREAM, or start a consumer with `consumer run`", errNoSystem, app.StoreName(inv.cfg))
	}
	return s, err
}

// storeName returns where sessions are looked up, and notes if it does not
// exist: the command may have been started in another directory than the
// consumer.
func storeName(cfg *config.Config) string {
	name := app.StoreName(cfg)
	if cfg.Store.Kind == config.StoreKV {
		return name
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		name += ", which does not exist"
	}
	return name
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
			text.OneLine(cmp.Or(s.SessionID, s.SessionKey), 44), text.OneLine(s.AgentID, 44), s.Turns, text.OneLine(cmp.Or(s.Intent, "-"), 44),
			s.Updated.Local().Format(time.DateTime), text.OneLine(s.Input, 50))
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
	name, err := record.Find(inv.ctx, sessions, c.ID)
	if err != nil {
		return err
	}
	document, err := sessions.Get(inv.ctx, name)
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
