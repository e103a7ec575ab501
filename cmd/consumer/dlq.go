package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"intenthint/internal/bus"
	"intenthint/internal/config"
)

type dlqLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array, with the bodies."`
}

// letter is a dead letter as --json shows it.
type letter struct {
	bus.DeadLetter
	// Body is the event's JSON, or BodyBase64 its bytes when it is none.
	Body       json.RawMessage `json:"body,omitempty"`
	BodyBase64 string          `json:"bodyBase64,omitempty"`
}

func (c *dlqLsCmd) Run(inv *invocation) error {
	b, err := openForReading(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	letters := []letter{}
	err = bus.DeadLetters(inv.ctx, b.JS, layoutOf(inv.cfg), func(d bus.DeadLetter) bool {
		l := letter{DeadLetter: d}
		if json.Valid(d.Body) {
			l.Body = d.Body
		} else {
			l.BodyBase64 = base64.StdEncoding.EncodeToString(d.Body)
		}
		letters = append(letters, l)
		return inv.ctx.Err() == nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(inv, letters)
	}
	if len(letters) == 0 {
		_, err := fmt.Fprintln(inv.stderr, "no dead letters")
		return err
	}
	w := tabwriter.NewWriter(inv.stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SEQ\tTIME\tHOOK\tREASON\tSUBJECT")
	for _, l := range letters {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", l.Sequence, l.Time.Local().Format(time.DateTime), firstOf(l.Hook, "_"), l.Reason, l.Subject)
	}
	return w.Flush()
}

// busOptions say where the bus of the configuration is.
func busOptions(cfg *config.Config) bus.Options {
	o := bus.Options{
		Creds:    cfg.Bus.Creds,
		Embedded: embeddedOptions(cfg),
	}
	for i, url := range cfg.Bus.URLs {
		if i > 0 {
			o.URL += ","
		}
		o.URL += url
	}
	return o
}

func embeddedOptions(cfg *config.Config) bus.EmbeddedOptions {
	return bus.EmbeddedOptions{ConfFile: confFile(cfg), Port: cfg.Bus.Port, DataDir: cfg.DataDir}
}

// openForReading connects to the running system, or to its store when nobody
// runs it.
func openForReading(inv *invocation) (*bus.Bus, error) {
	o, err := runningSystem(inv)
	if err != nil {
		return nil, err
	}
	o.Log = inv.quiet()
	b, err := bus.Open(inv.ctx, o)
	if err != nil {
		return nil, err
	}
	if err := b.CheckJetStream(inv.ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// runningSystem says where the system of this configuration runs: at the
// configured servers, else where the process that uses the data directory says
// that it listens, else nowhere (no URL), and then it may be started here.
func runningSystem(inv *invocation) (bus.Options, error) {
	o := busOptions(inv.cfg)
	o.Name = "intenthint command"
	if o.URL != "" {
		return o, nil
	}
	url, err := bus.LocalURL(o.Embedded)
	if err != nil {
		return o, err
	}
	o.URL = url
	return o, nil
}

// errNoAnswer reports that a server is there and no consumer.
var errNoAnswer = errors.New("nobody answers")
