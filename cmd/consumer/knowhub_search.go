package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/cmd/consumer/cli"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
	"intenthint/subjects"
)

type knowhubSearchCmd struct {
	Agent string   `placeholder:"A" help:"Search as this agent would if agents do not share experiences."`
	Limit int      `default:"10" help:"The maximum number of experiences."`
	JSON  bool     `name:"json" help:"Print a JSON array."`
	Text  []string `arg:"" help:"What to search for."`
}

// Help is the longer text of `consumer knowhub search --help`.
func (knowhubSearchCmd) Help() string {
	return `Asks a running consumer for approved experiences, as an agent does with kb_search. The best match comes first.

  consumer knowhub search deploy the shop`
}

// Validate rejects a blank text, and a limit below 1.
func (c *knowhubSearchCmd) Validate() error {
	switch {
	case strings.TrimSpace(strings.Join(c.Text, " ")) == "":
		return errors.New("text must not be blank")
	case c.Limit < 1:
		return errors.New("--limit must be at least 1")
	}
	return nil
}

// searchTime bounds how long a consumer may take.
const searchTime = 10 * time.Second

func (c *knowhubSearchCmd) Run(inv *cli.Invocation) error {
	if !knowhub.Declared.In(inv.Config.Parts).Enabled {
		return errKnowHubOff
	}
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	body, err := json.Marshal(map[string]any{"q": strings.Join(c.Text, " "), "for_agent": c.Agent, "limit": c.Limit})
	if err != nil {
		return err
	}
	msg, err := b.NC.Request(subjects.Prefix(inv.Config.Bus.Prefix).KnowHub("search"), body, searchTime)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return errors.New("no consumer with KnowHub is running")
	case err != nil:
		return fmt.Errorf("search: %w", err)
	}
	if text := msg.Header.Get(subjects.HeaderError); text != "" {
		return errors.New(text)
	}
	var answer struct {
		Experiences []experience.Experience `json:"experiences"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	switch {
	case c.JSON:
		return cli.PrintJSON(inv, cli.OrEmpty(answer.Experiences))
	case len(answer.Experiences) == 0:
		_, err := fmt.Fprintln(inv.Stderr, "nothing found")
		return err
	}
	return printExperiences(inv, answer.Experiences)
}
