package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/hint"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

type sessionsRebuildCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Session ids or session keys; default: all sessions. A key stands for all of its sessions."`
}

// Help is the longer text of `consumer sessions rebuild --help`.
func (sessionsRebuildCmd) Help() string {
	return "Reads the event stream from its beginning and applies every missing event. Events that a session already has are not counted twice, and turns that the stream no longer holds are kept. An unreadable session is set aside and rebuilt. Safe while consumers are running."
}

func (c *sessionsRebuildCmd) Run(inv *cli.Invocation) error {
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	sessions, err := app.OpenSystemStore(inv.Ctx, inv.Config, b, inv.Quiet())
	if err != nil {
		return err
	}
	catalog, _, err := app.LoadCatalog(inv.Config.IntentsDir, inv.Quiet())
	if err != nil {
		return err
	}
	settings := app.Settings(inv.Config, catalog)
	names := []string{""} // all sessions
	var missing []error
	if len(c.IDs) > 0 {
		if names, missing, err = c.sessions(inv, b, sessions); err != nil {
			return err
		}
	}
	losses, err := sessions.Lost(inv.Ctx)
	if err != nil {
		return err
	}
	var all events.Reapplied
	for _, name := range names {
		bar := cli.NewProgress(inv.Stderr)
		bar.Label = "events"
		if name != "" {
			bar.Label += " of " + text.OneLine(name, 40)
		}
		done, err := events.Reapply(inv.Ctx, events.ReapplyOptions[store.Fact]{
			JS: b.JS, Layout: app.Layout(inv.Config), Range: events.Range{Session: name}, Handler: app.EventHandler(sessions, func() *hint.Settings { return settings }), Log: inv.Quiet(),
			Progress: bar.Show,
		})
		bar.Clear()
		if err != nil {
			return err
		}
		if done.Failed == 0 {
			if err := recovered(inv.Ctx, sessions, losses, name); err != nil {
				return err
			}
		}
		if name != "" && done.Events == 0 {
			missing = append(missing, noEvents(name))
		}
		all.Events += done.Events
		all.Unreadable += done.Unreadable
		all.Failed += done.Failed
	}
	if _, err := fmt.Fprintf(inv.Stdout, "applied %s again", cli.Count(all.Events-all.Unreadable-all.Failed, "event")); err != nil {
		return err
	}
	if all.Unreadable > 0 {
		_, _ = fmt.Fprintf(inv.Stdout, ", %d cannot be decoded (consumer dlq ls)", all.Unreadable)
	}
	_, _ = fmt.Fprintln(inv.Stdout)
	if all.Failed > 0 {
		missing = append(missing, fmt.Errorf("%s not applied", cli.Count(all.Failed, "event")))
	}
	return errors.Join(missing...)
}

// recovered ends the consumers' own attempts to rebuild a session, or all of them if
// session is "", which may lack the right to.
func recovered(ctx context.Context, sessions store.Losses, losses []store.Loss, session string) error {
	for _, loss := range losses {
		if session == "" || loss.Token == subjects.Name(session) {
			if err := sessions.Recovered(ctx, loss); err != nil {
				return err
			}
		}
	}
	return nil
}

func noEvents(id string) error { return fmt.Errorf("no events of session %q in the stream", id) }

// sessions returns the names of the sessions with the given ids or keys, and an error
// for each argument that matches no session. An argument without a document is looked
// up in the events.
func (c *sessionsRebuildCmd) sessions(inv *cli.Invocation, b *bus.Bus, sessions store.Reader) (names []string, unknown []error, err error) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	inEvents := map[string][]string{} // by argument
	for _, id := range c.IDs {
		if _, err := sessions.Get(inv.Ctx, id); errors.Is(err, store.ErrNotFound) {
			inEvents[id] = nil
		} else {
			add(id)
		}
	}
	if len(inEvents) == 0 {
		return names, nil, nil
	}
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "events"
	read := 0
	err = bus.ReadStream(inv.Ctx, b.JS, app.Layout(inv.Config), jetstream.OrderedConsumerConfig{}, 0, func(portion []jetstream.Msg, total int) error {
		for _, m := range portion {
			ctx := contextOf(m)
			for _, id := range []string{ctx.SessionID, ctx.SessionKey} {
				if found, asked := inEvents[id]; asked && id != "" && !slices.Contains(found, ctx.Session()) {
					inEvents[id] = append(found, ctx.Session())
				}
			}
		}
		read += len(portion)
		bar.Show(read, max(total, read))
		return nil
	})
	bar.Clear()
	for _, id := range slices.Sorted(maps.Keys(inEvents)) {
		if len(inEvents[id]) == 0 {
			unknown = append(unknown, noEvents(id))
		}
		for _, name := range inEvents[id] {
			add(name)
		}
	}
	return names, unknown, err
}

// contextOf returns the context of an event, or the zero value if it cannot be decoded.
func contextOf(m jetstream.Msg) payload.Context {
	env, err := payload.DecodeEvent("", subjects.EventID(m.Headers()), m.Data())
	if err != nil {
		return payload.Context{}
	}
	ctx, _ := payload.DecodeContext(env.Ctx) // zero after an error
	return ctx
}
