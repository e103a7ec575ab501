package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/record"
	"intenthint/store"
)

type sessionsLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

func (c *sessionsLsCmd) Run(inv *cli.Invocation) error {
	sessions, closeStore, err := cli.SessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	list, err := sessions.List(inv.Ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(inv, cli.OrEmpty(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no sessions in %s\n", cli.StoreName(inv.Config))
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
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

func (c *sessionsShowCmd) Run(inv *cli.Invocation) error {
	sessions, closeStore, err := cli.SessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	name, err := record.Find(inv.Ctx, sessions, c.ID)
	if err != nil {
		return err
	}
	document, err := sessions.Get(inv.Ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no session %q in %s (consumer sessions ls lists them)", c.ID, cli.StoreName(inv.Config))
	}
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(inv.Stdout, strings.TrimRight(indented.String(), "\n"))
	return err
}
