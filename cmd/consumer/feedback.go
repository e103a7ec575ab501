package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/hint/eligibility"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

type feedbackCmd struct {
	RunID   string `arg:"" name:"run" help:"The run id of a turn (RUN of sessions turns)."`
	Verdict string `arg:"" enum:"right,wrong" help:"Whether the intent is the right one: ${enum}."`
	Intent  string `placeholder:"ID" help:"With wrong: the intent that would have been right; OTHER for none."`
	Session string `placeholder:"S" help:"The session id or session key of the turn. Faster if there are many sessions."`
	Agent   string `placeholder:"A" help:"The agent of the turn. Default: the agent of its session."`
	By      string `placeholder:"NAME" help:"Who says so. Stored with the turn."`
}

// Help is the longer text of `consumer feedback --help`.
func (feedbackCmd) Help() string {
	return `Marks the hint of a turn as right or wrong: publishes a feedback event for the session that has the run. The latest feedback counts. It is stored with the turn, also in session files; sessions turns --jsonl uses it as the label of the message. Without a running consumer the event waits in the stream.

  consumer feedback 7f3c1e right
  consumer feedback 7f3c1e wrong --intent MEMORY_LOOKUP --by ada

Exit code 1: no turn has this run, several sessions have it, or the stream did not take the event.`
}

// Validate rejects an intent beside "right".
func (c *feedbackCmd) Validate() error {
	if c.Verdict == payload.VerdictRight && strings.TrimSpace(c.Intent) != "" {
		return errors.New("--intent names what would have been right: use it with wrong")
	}
	return nil
}

func (c *feedbackCmd) Run(inv *cli.Invocation) error {
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	sessions, err := cli.SessionsAt(inv, b)
	if err != nil {
		return err
	}
	found, given, err := c.find(inv, sessions)
	if err != nil {
		return err
	}
	said := payload.Feedback{Kind: payload.FeedbackHint, RunID: c.RunID, Verdict: c.Verdict, Intent: c.intent(inv), By: c.By}
	if said.Intent != "" && strings.EqualFold(said.Intent, given) {
		return fmt.Errorf("run %s has a hint with the intent %s: name another one, or say right", text.OneLine(c.RunID, 200), given)
	}
	ctx := app.FeedbackContext(found, c.RunID, c.Agent)
	if err := app.PublishFeedback(inv.Ctx, b.JS, app.Layout(inv.Config), ctx, said); err != nil {
		return err
	}
	_, err = fmt.Fprintf(inv.Stdout, "marked run %s of session %s: %s\n", text.OneLine(c.RunID, 200), text.OneLine(ctx.Session(), 200), workbench.Verdict(said.Verdict, said.Intent))
	return err
}

// intent returns the --intent as spelled in the catalogue. An unknown one is
// accepted, as the consumers may have another catalogue.
func (c *feedbackCmd) intent(inv *cli.Invocation) string {
	id := strings.TrimSpace(c.Intent)
	if id == "" {
		return ""
	}
	catalog, _, err := app.LoadCatalog(inv.Config.IntentsDir, inv.Quiet())
	if err != nil {
		return id
	}
	known, ok := catalog.Lookup(id)
	if !ok {
		_, _ = fmt.Fprintf(inv.Stderr, "no intent %q in %s; used unchanged\n", text.OneLine(id, 60), cmp.Or(inv.Config.IntentsDir, "the built-in definitions"))
		return id
	}
	return known.ID
}

// find returns the session that has the run, and the intent of its hint, "" without one.
func (c *feedbackCmd) find(inv *cli.Invocation, sessions store.Reader) (in store.Summary, given string, err error) {
	list, err := sessions.List(inv.Ctx)
	if err != nil {
		return store.Summary{}, "", err
	}
	var found []store.Summary
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "sessions"
	for i, s := range list {
		bar.Show(i, len(list))
		if c.Session != "" && c.Session != s.SessionID && c.Session != s.SessionKey && c.Session != s.Token {
			continue
		}
		has := false
		err := record.Each(inv.Ctx, sessions, s.Name(), func(t *store.Turn) {
			if t.RunID != c.RunID {
				return
			}
			has = true
			if t.Intent.Result != nil && (t.Intent.Skip == "" || t.Intent.Skip == string(eligibility.Unchanged)) {
				given = t.Intent.Result.Intent
			}
		})
		if err != nil {
			bar.Clear()
			return store.Summary{}, "", err
		}
		if has {
			found = append(found, s)
		}
	}
	bar.Clear()
	where := app.StoreName(inv.Config)
	if c.Session != "" {
		where = "session " + text.OneLine(c.Session, 200) + " of " + where
	}
	switch len(found) {
	case 0:
		return store.Summary{}, "", fmt.Errorf("no turn of run %q in %s (consumer sessions turns lists them)", c.RunID, where)
	case 1:
		return found[0], given, nil
	}
	var names []string
	for _, s := range found {
		names = append(names, text.OneLine(s.Name(), 60))
	}
	return store.Summary{}, "", fmt.Errorf("run %q is in %s, name one with --session: %s", c.RunID, cli.Count(len(found), "session"), strings.Join(names, ", "))
}
