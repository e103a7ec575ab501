package main

import (
	"errors"
	"fmt"

	"intenthint/internal/app"
	"intenthint/internal/events"
	"intenthint/internal/text"
	"intenthint/store"
)

type sessionsRebuildCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Session ids or session keys; default: all sessions."`
}

// Help is the longer text of `consumer sessions rebuild --help`.
func (sessionsRebuildCmd) Help() string {
	return "Reads the event stream from its beginning and applies every missing event. Events that a session has already are not counted twice, and turns that the stream no longer holds are kept. An unreadable session is set aside and rebuilt. Safe while consumers are running."
}

func (c *sessionsRebuildCmd) Run(inv *invocation) error {
	b, err := openForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	sessions, err := app.OpenStore(inv.ctx, inv.cfg, b.JS, nil, inv.quiet())
	if err != nil {
		return err
	}
	parts := []events.Range{{}}
	if len(c.IDs) > 0 {
		parts = parts[:0]
		for _, id := range c.IDs {
			parts = append(parts, events.Range{Session: id})
		}
	}
	log := inv.quiet()
	var all events.Reapplied
	var missing []error
	for _, part := range parts {
		bar := newProgress(inv.stderr, 0)
		bar.label = "events"
		if part.Session != "" {
			bar.label += " of " + text.OneLine(part.Session, 40)
		}
		done, err := events.Reapply(inv.ctx, events.ReapplyOptions[store.Fact]{
			JS: b.JS, Layout: app.Layout(inv.cfg), Range: part, Handler: app.EventHandler(sessions), Log: log,
			Progress: func(done, total int) {
				bar.total = total
				bar.show(done)
			},
		})
		bar.clear()
		if err != nil {
			return err
		}
		if part.Session != "" && done.Events == 0 {
			missing = append(missing, fmt.Errorf("no events of session %q in the stream", part.Session))
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
