package main

import (
	"errors"
	"fmt"

	"intenthint/hint"
	"intenthint/internal/app"
	"intenthint/internal/events"
	"intenthint/internal/text"
	"intenthint/record"
	"intenthint/store"
)

type sessionsRebuildCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Session ids or session keys; default: all sessions."`
}

// Help is the longer text of `consumer sessions rebuild --help`.
func (sessionsRebuildCmd) Help() string {
	return "Reads the event stream from its beginning and applies every missing event. Events that a session already has are not counted twice, and turns that the stream no longer holds are kept. An unreadable session is set aside and rebuilt. Safe while consumers are running."
}

func (c *sessionsRebuildCmd) Run(inv *invocation) error {
	b, err := openForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	sessions, err := app.OpenSystemStore(inv.ctx, inv.cfg, b, inv.quiet())
	if err != nil {
		return err
	}
	catalog, _, err := app.LoadCatalog(inv.cfg.IntentsDir, inv.quiet())
	if err != nil {
		return err
	}
	settings := app.Settings(inv.cfg, catalog)
	names := c.IDs
	if len(names) == 0 {
		names = []string{""} // all sessions
	}
	var all events.Reapplied
	var missing []error
	for _, id := range names {
		bar := newProgress(inv.stderr)
		bar.label = "events"
		name := ""
		if id != "" {
			bar.label += " of " + text.OneLine(id, 40)
			if name, err = record.Find(inv.ctx, sessions, id); err != nil {
				return err
			}
		}
		done, err := events.Reapply(inv.ctx, events.ReapplyOptions[store.Fact]{
			JS: b.JS, Layout: app.Layout(inv.cfg), Range: events.Range{Session: name}, Handler: app.EventHandler(sessions, func() *hint.Settings { return settings }), Log: inv.quiet(),
			Progress: bar.show,
		})
		bar.clear()
		if err != nil {
			return err
		}
		if id != "" && done.Events == 0 {
			missing = append(missing, fmt.Errorf("no events of session %q in the stream", id))
		}
		all.Events += done.Events
		all.Unreadable += done.Unreadable
		all.Failed += done.Failed
	}
	if _, err := fmt.Fprintf(inv.stdout, "applied %s again", count(all.Events-all.Unreadable-all.Failed, "event")); err != nil {
		return err
	}
	if all.Unreadable > 0 {
		_, _ = fmt.Fprintf(inv.stdout, ", %d cannot be decoded (consumer dlq ls)", all.Unreadable)
	}
	_, _ = fmt.Fprintln(inv.stdout)
	if all.Failed > 0 {
		missing = append(missing, fmt.Errorf("%s not applied", count(all.Failed, "event")))
	}
	return errors.Join(missing...)
}
