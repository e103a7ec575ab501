package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/text"
)

type dlqLsCmd struct {
	JSON bool `name:"json" help:"Print a JSON array, with the bodies."`
}

// letter is a dead letter in the output of --json.
type letter struct {
	events.DeadLetter
	// Body is the event's JSON. BodyBase64 holds its bytes if it is not JSON.
	Body       json.RawMessage `json:"body,omitempty"`
	BodyBase64 string          `json:"bodyBase64,omitempty"`
}

func (c *dlqLsCmd) Run(inv *cli.Invocation) error {
	b, queue, err := openDeadLetters(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	letters := []letter{}
	err = queue.Each(inv.Ctx, events.Selection{}, func(d events.DeadLetter) bool {
		l := letter{DeadLetter: d}
		if json.Valid(d.Body) && utf8.Valid(d.Body) {
			l.Body = d.Body
		} else {
			l.BodyBase64 = base64.StdEncoding.EncodeToString(d.Body)
		}
		letters = append(letters, l)
		return inv.Ctx.Err() == nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(inv, letters)
	}
	if len(letters) == 0 {
		_, err := fmt.Fprintln(inv.Stderr, "no dead letters")
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SEQ\tTIME\tHOOK\tREASON\tSUBJECT")
	for _, l := range letters {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", l.Sequence, l.Time.Local().Format(time.DateTime),
			text.OneLine(cmp.Or(l.Hook, unknownHook), 44), text.OneLine(l.Reason, 200), text.OneLine(l.Subject, 200))
	}
	return w.Flush()
}

// unknownHook stands for an unknown hook in lists and flags.
const unknownHook = "_"

// letterSelection are the flags that choose dead letters.
type letterSelection struct {
	Hook hookName  `xor:"which" placeholder:"STRING" help:"Only those of this hook (HOOK of dlq ls)."`
	Seq  sequences `xor:"which" placeholder:"N,..." help:"Only these (SEQ of dlq ls)."`
	All  bool      `xor:"which" help:"All of them."`
}

// hookName and sequences are flag values that must not be empty. Without a selection
// all letters are replayed, and a shell variable may be empty by mistake.
type (
	hookName  string
	sequences []uint64
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hookName) UnmarshalText(raw []byte) error {
	if len(raw) == 0 {
		return errors.New("must be the name of a hook (HOOK of dlq ls)")
	}
	*h = hookName(raw)
	return nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *sequences) UnmarshalText(raw []byte) error {
	for text := range strings.SplitSeq(string(raw), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		if err != nil || n == 0 {
			return fmt.Errorf("must be dead-letter numbers from 1 (SEQ of dlq ls), comma-separated, not %q", raw)
		}
		if !slices.Contains(*s, n) {
			*s = append(*s, n)
		}
	}
	return nil
}

func (s letterSelection) selection() events.Selection {
	out := events.Selection{Sequences: s.Seq}
	if s.Hook != "" {
		hook := string(s.Hook)
		if hook == unknownHook {
			hook = ""
		}
		out.Hook = &hook
	}
	return out
}

type dlqReplayCmd struct {
	letterSelection
	DryRun bool `help:"Show what would be done, without doing it."`
	Yes    bool `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer dlq replay --help`.
func (dlqReplayCmd) Help() string {
	return "Use it once the cause of the dead letters is fixed. Each is published to the event stream again, with its original subject and body, and is deleted once the stream has stored it. Without a selection all are replayed. Replays are idempotent. An event that fails again becomes a new dead letter with its new reason. Exit code 1: a selected dead letter could not be replayed."
}

func (c *dlqReplayCmd) Run(inv *cli.Invocation) error {
	b, queue, err := openDeadLetters(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	if c.DryRun {
		return c.show(inv, queue)
	}
	return workOff(inv, queue, c.selection(), work{
		question: "Replay %s?",
		yes:      c.Yes || !cli.IsTerminal(inv.Stdin), // a replay loses nothing
		done:     "replayed",
		do:       func(l events.DeadLetter) error { return queue.Replay(inv.Ctx, l) },
	})
}

// show lists what a replay would do.
func (c *dlqReplayCmd) show(inv *cli.Invocation, queue *events.DeadLetters) error {
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	err := queue.Each(inv.Ctx, c.selection(), func(l events.DeadLetter) bool {
		what := "replay to " + l.Subject
		if err := queue.Replayable(l); err != nil {
			what = "leave: " + err.Error()
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\n", l.Sequence, cmp.Or(l.Hook, unknownHook), what)
		return inv.Ctx.Err() == nil
	})
	return errors.Join(w.Flush(), err)
}

type dlqRmCmd struct {
	letterSelection
	Yes bool `short:"y" help:"Do not ask."`
}

// Validate rejects a command line that selects no letters.
func (c *dlqRmCmd) Validate() error {
	if c.Hook == "" && len(c.Seq) == 0 && !c.All {
		return errors.New("missing selection: --hook, --seq or --all")
	}
	return nil
}

func (c *dlqRmCmd) Run(inv *cli.Invocation) error {
	b, queue, err := openDeadLetters(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	return workOff(inv, queue, c.selection(), work{
		question: "Delete %s for good?",
		yes:      c.Yes,
		done:     "deleted",
		do:       func(l events.DeadLetter) error { return queue.Remove(inv.Ctx, l.Sequence) },
	})
}

// work is an operation on dead letters.
type work struct {
	question string // a format for their number
	yes      bool   // do not ask
	done     string
	do       func(events.DeadLetter) error
}

// workOff does the work for each letter of a selection. It continues after a
// letter that cannot be handled, and stops at any other error.
func workOff(inv *cli.Invocation, queue *events.DeadLetters, s events.Selection, w work) error {
	total, err := queue.Count(inv.Ctx, s)
	if err != nil {
		return err
	}
	if total == 0 {
		_, err := fmt.Fprintln(inv.Stderr, "no dead letters")
		return err
	}
	if err := inv.Confirm(fmt.Sprintf(w.question, cli.Count(total, "dead letter")), w.yes); err != nil {
		return err
	}
	var (
		bar        = cli.NewProgress(inv.Stderr)
		done, left int
		broken     error
	)
	err = queue.Each(inv.Ctx, s, func(l events.DeadLetter) bool {
		switch err := w.do(l); {
		case err == nil:
			done++
		case inv.Ctx.Err() != nil:
			broken = fmt.Errorf("stopped at dead letter %d", l.Sequence)
		case errors.Is(err, events.ErrNotAnEvent), errors.Is(err, nats.ErrMaxPayload):
			left++
			bar.Clear()
			_, _ = fmt.Fprintf(inv.Stderr, "consumer: dead letter %d not replayed: %v\n", l.Sequence, err)
		default:
			broken = fmt.Errorf("dead letter %d: %w", l.Sequence, err)
		}
		bar.Show(done+left, total)
		return broken == nil
	})
	bar.Clear()
	_, _ = fmt.Fprintf(inv.Stdout, "%s %d of %d\n", w.done, done, total)
	switch {
	case broken != nil || err != nil:
		return errors.Join(broken, err)
	case left > 0:
		return cli.ErrReported
	default:
		return nil
	}
}

// openDeadLetters connects as [cli.OpenForReading] does.
func openDeadLetters(inv *cli.Invocation) (*bus.Bus, *events.DeadLetters, error) {
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	queue, err := events.OpenDeadLetters(inv.Ctx, b.JS, app.Layout(inv.Config))
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, queue, nil
}
