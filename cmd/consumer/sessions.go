package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/internal/config"
	"intenthint/store"
	"intenthint/store/file"
)

// openStore opens the session store of the configuration.
func openStore(cfg *config.Config, log *slog.Logger) (*file.Store, error) {
	return file.Open(cfg.Store.SessionsDir, file.Options{HistoryLimit: cfg.Store.HistoryLimit, Logger: log})
}

type sessionsLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

func (c *sessionsLsCmd) Run(inv *invocation) error {
	sessions, err := openStore(inv.cfg, inv.quiet())
	if err != nil {
		return err
	}
	list, err := sessions.List(inv.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(inv, orEmpty(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(inv.stderr, "no sessions in %s\n", inv.cfg.Store.SessionsDir)
		return err
	}
	w := tabwriter.NewWriter(inv.stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SESSION\tAGENT\tTURNS\tINTENT\tUPDATED\tINPUT")
	for _, s := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n",
			shorten(firstOf(s.SessionID, s.SessionKey), 44), s.AgentID, s.Turns, firstOf(s.Intent, "-"),
			s.Updated.Local().Format(time.DateTime), shorten(s.Input, 50))
	}
	return w.Flush()
}

type sessionsShowCmd struct {
	ID string `arg:"" help:"A session id or session key."`
}

func (c *sessionsShowCmd) Run(inv *invocation) error {
	sessions, err := openStore(inv.cfg, inv.quiet())
	if err != nil {
		return err
	}
	document, err := sessions.Get(inv.ctx, c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no session %q in %s (consumer sessions ls lists them)", c.ID, inv.cfg.Store.SessionsDir)
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

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// shorten makes one line of text of at most n characters.
func shorten(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// printJSON prints v as people and programs read it.
func printJSON(inv *invocation, v any) error {
	enc := json.NewEncoder(inv.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
