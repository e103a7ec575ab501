package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/triage"
)

type triageFeedbackCmd struct {
	Group     string `arg:"" help:"The group: its session key, as triage stats prints it."`
	MessageID string `arg:"" name:"message-id" help:"The id of the message in its channel."`
	Verdict   string `arg:"" enum:"respond,skip" help:"What would have been right: ${enum}."`
	By        string `placeholder:"NAME" help:"Who says so."`
}

// Help is the longer text of `consumer triage feedback --help`.
func (triageFeedbackCmd) Help() string {
	return `Marks a message of a group as deserving an answer (respond) or not (skip). Publishes a feedback event, like the chat command /triage of the plugin. The latest mark of a message counts. Marked messages are given to the model as examples, and triage stats compares them with the decisions; they are kept until triage examples rm.

  consumer triage feedback agent:main:telegram:group:-1001234 4711 skip
  consumer triage feedback agent:main:telegram:group:-1001234 4712 respond --by ada

A message without a known decision can be marked too; it is then not used as an example, as its text is unknown.

Exit code 1: the gate is off, or the stream did not take the event.`
}

// Validate rejects a blank group or message id.
func (c *triageFeedbackCmd) Validate() error {
	if strings.TrimSpace(c.Group) == "" || strings.TrimSpace(c.MessageID) == "" {
		return errors.New("group and message-id must not be blank")
	}
	return nil
}

func (c *triageFeedbackCmd) Run(inv *cli.Invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	said := payload.Feedback{MessageID: c.MessageID, Group: c.Group, Verdict: c.Verdict, By: c.By}
	publish := func(ctx context.Context, about payload.Context, said payload.Feedback) error {
		return app.PublishFeedback(ctx, b.JS, app.Layout(inv.Config), about, said)
	}
	if _, known, err := triage.Mark(inv.Ctx, shared, publish, said); err != nil || !known {
		return cmp.Or(err, fmt.Errorf("no decision about message %q of group %q is known, so nothing is marked (consumer triage stats shows the groups)",
			text.OneLine(c.MessageID, 60), text.OneLine(c.Group, 200)))
	}
	_, err = fmt.Fprintf(inv.Stdout, "marked message %s of group %s: %s\n", text.OneLine(c.MessageID, 60), text.OneLine(c.Group, 200), c.Verdict)
	return err
}
