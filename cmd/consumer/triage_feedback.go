package main

import (
	"errors"
	"fmt"
	"strings"

	"intenthint/internal/app"
	"intenthint/internal/text"
	"intenthint/payload"
)

type triageFeedbackCmd struct {
	Group     string `arg:"" help:"The group: its session key, as triage stats prints it."`
	MessageID string `arg:"" name:"message-id" help:"The message, by the id that its channel gave it."`
	Verdict   string `arg:"" enum:"respond,skip" help:"What would have been right: ${enum}."`
	By        string `placeholder:"NAME" help:"Who says so."`
}

// Help is the longer text of `consumer triage feedback --help`.
func (triageFeedbackCmd) Help() string {
	return `Marks a message of a group: it deserved an answer (respond), or none (skip). Publishes a feedback event, like the chat command /triage of the plugin. Of several marks of a message the latest counts. Marked messages are put before the model as examples, and triage stats compares them with the decisions; they are kept until triage examples rm.

  consumer triage feedback agent:main:telegram:group:-1001234 4711 skip
  consumer triage feedback agent:main:telegram:group:-1001234 4712 respond --by ada

A message of which no decision is known can be marked too; it is no example then, as its text is not known.

Exit code 1: the gate is off, or the stream did not take the event.`
}

// Validate refuses a group or a message without a name.
func (c *triageFeedbackCmd) Validate() error {
	if strings.TrimSpace(c.Group) == "" || strings.TrimSpace(c.MessageID) == "" {
		return errors.New("group and message-id must not be blank")
	}
	return nil
}

func (c *triageFeedbackCmd) Run(inv *invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	said := payload.Feedback{MessageID: c.MessageID, Group: c.Group, Verdict: c.Verdict, By: c.By}
	_, known, err := app.MarkMessage(inv.ctx, b.JS, app.Layout(inv.cfg), shared, said)
	if err != nil {
		return err
	}
	if !known {
		_, _ = fmt.Fprintf(inv.stderr, "no decision about message %q of group %q is known\n", text.OneLine(c.MessageID, 60), text.OneLine(c.Group, 200))
	}
	_, err = fmt.Fprintf(inv.stdout, "marked message %s of group %s: %s\n", text.OneLine(c.MessageID, 60), text.OneLine(c.Group, 200), c.Verdict)
	return err
}
