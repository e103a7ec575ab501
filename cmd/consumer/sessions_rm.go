package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/store"
)

type sessionsRmCmd struct {
	IDs []string `arg:"" name:"id" help:"Session ids or session keys. A key selects all of its sessions."`
	Yes bool     `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer sessions rm --help`.
func (sessionsRmCmd) Help() string {
	return `Removes a session for good: its document, its history and related files or keys, its events in the stream, and its dead letters. A rebuild does not bring it back. What other parts keep of a chat stays (docs/privacy.md). Events that have only the session key are removed with the last session of that key.

Safe while consumers are running: the command waits for events that are being recorded, and removes what they wrote as well. If a session continues meanwhile, the exit code is 1, and it must be removed again. A later message from a gateway begins the session anew, without its past; late events of a removed run are never shown. Copies elsewhere are not removed: streams that mirror the event stream, and backups.

Exit code 1: a session is unknown, was not removed, or running consumers could not be notified.`
}

// condemned is a session to remove.
type condemned struct {
	// name is its id, or its key if it has no id; key is the key of a session with
	// an id.
	name, key string
	turns     int
	listed    bool
}

func (c *sessionsRmCmd) Run(inv *cli.Invocation) error {
	if err := inv.Confirmable(c.Yes); err != nil {
		return err
	}
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	sessions, err := app.OpenSystemStore(inv.Ctx, inv.Config, b, inv.Quiet())
	if err != nil {
		return err
	}
	forgetter, err := app.NewForgetter(inv.Ctx, inv.Config, b, sessions)
	if err != nil {
		return err
	}
	defer forgetter.Close()
	chosen, unknown, err := c.choose(inv, sessions, forgetter)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range unknown {
		failed = append(failed, fmt.Errorf("no session %q in %s (consumer sessions ls lists them)", id, app.StoreName(inv.Config)))
	}
	if len(chosen) == 0 {
		return errors.Join(failed...)
	}
	if err := inv.Confirm(question(chosen), c.Yes); err != nil {
		return err
	}
	left := map[string]bool{} // the keys of sessions that are not gone
	for _, s := range chosen {
		if left[s.name] {
			continue // it goes with the last session of the key
		}
		done, err := forgetter.Forget(inv.Ctx, s.name, s.key)
		switch {
		case err != nil && !done.Whole:
			left[s.key] = true
			failed = append(failed, notGone(s, done, err))
		case err != nil:
			failed = append(failed, err)
			fallthrough
		case !done.Nothing():
			_, _ = fmt.Fprintf(inv.Stdout, "removed %s: %s\n", text.OneLine(s.name, 200), describeForgotten(done))
		}
		if inv.Ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// notGone is the error for a session of which something may be left.
func notGone(s condemned, done app.Forgotten, err error) error {
	name, so := text.OneLine(s.name, 200), "nothing of it is removed yet"
	if !done.Nothing() {
		so = "removed so far: " + describeForgotten(done)
	}
	if !s.listed {
		return fmt.Errorf("the sessions of %[1]s are removed, but events that have only this key may be left; run consumer sessions rm %[1]s: %[2]w", name, err)
	}
	return fmt.Errorf("session %s is not gone (%s); run consumer sessions rm again for it: %w", name, so, err)
}

// choose returns the sessions that the arguments name, and the arguments that
// name none.
func (c *sessionsRmCmd) choose(inv *cli.Invocation, sessions store.Store, forgetter *app.Forgetter) (chosen []condemned, unknown []string, err error) {
	list, err := sessions.List(inv.Ctx)
	if err != nil {
		return nil, nil, err
	}
	add := func(s condemned) {
		if !slices.ContainsFunc(chosen, func(o condemned) bool { return o.name == s.name }) {
			chosen = append(chosen, s)
		}
	}
	for _, id := range c.IDs {
		if id == "" { // many sessions lack an id or a key
			unknown = append(unknown, id)
			continue
		}
		found := false
		for _, s := range list {
			name := s.Name()
			if name != id && s.SessionID != id && s.SessionKey != id && s.Token != id {
				continue
			}
			found = true
			key := s.SessionKey
			if key == name {
				key = ""
			}
			add(condemned{name: name, key: key, turns: s.Turns, listed: true})
		}
		if !found {
			// It may have no readable document, or no document any more.
			known, err := isKnown(inv.Ctx, id, sessions, forgetter)
			if err != nil {
				return nil, nil, err
			}
			if !known {
				unknown = append(unknown, id)
				continue
			}
			add(condemned{name: id, listed: true})
		}
	}
	// Once the last session of a key is removed, data under the key alone belongs
	// to no other session.
	for _, s := range slices.Clone(chosen) {
		stays := func(o store.Summary) bool {
			return (o.SessionKey == s.key || o.Name() == s.key) &&
				!slices.ContainsFunc(chosen, func(c condemned) bool { return c.name == o.Name() })
		}
		if s.key != "" && !slices.ContainsFunc(list, stays) {
			add(condemned{name: s.key})
		}
	}
	return chosen, unknown, nil
}

// isKnown reports whether the store or the streams contain data of a session
// that is not listed.
func isKnown(ctx context.Context, id string, sessions store.Reader, forgetter *app.Forgetter) (bool, error) {
	if _, err := sessions.Get(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return true, nil // unreadable
	}
	retired, err := sessions.Retired(ctx, id)
	if err != nil || len(retired) > 0 {
		return true, nil //nolint:nilerr // unreadable
	}
	n, err := forgetter.Traces(ctx, id)
	return n > 0, err
}

// question returns the question that confirms the removal of sessions.
func question(chosen []condemned) string {
	var names []string
	for _, s := range chosen {
		if s.listed {
			names = append(names, fmt.Sprintf("%s (%s)", text.OneLine(s.name, 60), cli.Count(s.turns, "turn")))
		}
	}
	return fmt.Sprintf("Forget %s for good, with all events: %s?", cli.Count(len(names), "session"), strings.Join(names, ", "))
}

// listedSessions bounds the files or keys of a session that are listed.
const listedSessions = 8

func describeForgotten(f app.Forgotten) string {
	parts := slices.Clone(f.Stored)
	if more := len(parts) - listedSessions; more > 0 {
		parts = append(parts[:listedSessions], fmt.Sprintf("%d more", more))
	}
	parts = append(parts, cli.Count(f.Events, "event"), cli.Count(f.DeadLetters, "dead letter"))
	for _, what := range slices.Sorted(maps.Keys(f.Parts)) {
		parts = append(parts, cli.Count(f.Parts[what], what))
	}
	return strings.Join(parts, ", ")
}
