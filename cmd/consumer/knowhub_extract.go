package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/bus"
	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/safety"
	"intenthint/subjects"
)

type knowhubExtractCmd struct {
	Since cli.Since `required:"" placeholder:"D" help:"From which turns: a duration such as 24h or 7d, or an RFC 3339 time."`
	Yes   bool      `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer knowhub extract --help`.
func (knowhubExtractCmd) Help() string {
	return `Extracts experiences from recorded turns that no model has read, as enableServerExtraction does with those that come after it is switched on. Before the first call it prints how many turns go to which model, and an estimate of tokens (a quarter of the prompts' bytes), and asks; without a terminal, --yes is needed. Rules about agents, chats and chat types count, and texts are redacted, as in the settings. What a gateway did not publish is not in the stream: it sends the texts of a run only while its own enableServerExtraction is on.

  consumer knowhub extract --since 7d

A turn is read once: a second call continues where the first one ended.

Exit code 1: a turn got no answer, or the calls were not confirmed. 2: there is no model.`
}

// bytesPerToken is the assumed size of a token in the estimate of the cost.
const bytesPerToken = 4

func (c *knowhubExtractCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	if x.set.Chain == nil {
		return cli.UsageError("no model is configured, neither in HINT_KNOWHUB nor in HINT_MODEL")
	}
	sink, stop := x.sink(inv)
	defer stop()
	past, err := c.read(inv, x, sink)
	if err != nil {
		return err
	}
	if past.Turns == 0 {
		_, err := fmt.Fprintln(inv.Stdout, "no recorded turn is left to read")
		return err
	}
	_, _ = fmt.Fprintf(inv.Stderr, "%s to %s: %s, about %d input tokens (%d bytes of prompts, %d bytes per token)\n",
		cli.Count(past.Turns, "turn"), x.set.Model, cli.Count(past.Calls, "call"), (past.Bytes+bytesPerToken-1)/bytesPerToken, past.Bytes, bytesPerToken)
	if !c.Yes && !cli.IsTerminal(inv.Stdin) {
		return errors.New("nothing was asked: standard input is not a terminal, add --yes")
	}
	if err := inv.Confirm("Ask?", c.Yes); err != nil {
		return err
	}
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "calls"
	out := past.Extract(inv.Ctx, bar.Show)
	bar.Clear()
	_, _ = fmt.Fprintf(inv.Stdout, "%s from %s\n", cli.Count(out.Experiences, "experience"), cli.Count(out.Turns, "turn"))
	if out.Known > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "%s were read by a consumer meanwhile\n", cli.Count(out.Known, "turn"))
	}
	if out.Failed > 0 {
		return fmt.Errorf("%s not read, the same command continues with them: %w", cli.Count(out.Failed, "turn"), errors.Join(out.Err, inv.Ctx.Err()))
	}
	return nil
}

// sink returns what extracts, with an index of the bucket that it follows until stop.
func (x *experiences) sink(inv *cli.Invocation) (_ *knowhub.Sink, stop func()) {
	metrics := knowhub.NewMetrics(prometheus.NewRegistry())
	index := knowhub.NewCopy(knowhub.CopyOptions{Bucket: x.kept, Metrics: metrics, Log: inv.Quiet()})
	service := knowhub.New(knowhub.Options{Experiences: x.kept, Copy: index, Marks: safety.Marks, Metrics: metrics, Log: inv.Quiet()})
	service.Use(x.set)
	ctx, cancel := context.WithCancel(inv.Ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); index.Run(ctx) }()
	return &knowhub.Sink{Service: service, Extracted: bucket.TurnsOf(app.Layout(inv.Config), x.JS)}, func() { cancel(); <-ended }
}

// read reads the events of the hook that experiences are extracted from.
func (c *knowhubExtractCmd) read(inv *cli.Invocation, x *experiences, sink *knowhub.Sink) (*knowhub.Past, error) {
	layout, past := app.Layout(inv.Config), sink.Past()
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "events"
	defer bar.Clear()
	read, unreadable := 0, 0
	err := bus.ReadStream(inv.Ctx, x.JS, layout, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{layout.Prefix.EventsOf(x.set.Trigger)},
		DeliverPolicy:  jetstream.DeliverByStartTimePolicy, OptStartTime: &c.Since.Time,
	}, 0, func(portion []jetstream.Msg, total int) error {
		for _, m := range portion {
			bar.Show(read, total)
			read++
			session, _, fact, err := knowhub.DecodeFact(x.set.Trigger, layout.Prefix.EventHook(m.Subject()), subjects.EventID(m.Headers()), m.Data())
			if err != nil {
				unreadable++
			}
			if err != nil || session == "" {
				continue
			}
			if err := c.add(inv.Ctx, past, fact, m); err != nil {
				return err
			}
		}
		return nil
	})
	if unreadable > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "left out: %s that cannot be read\n", cli.Count(unreadable, "event"))
	}
	return past, err
}

// add adds a fact, without the turns from before --since that its event may hold.
func (c *knowhubExtractCmd) add(ctx context.Context, past *knowhub.Past, f knowhub.Fact, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if f, ok := f.Since(c.Since.Time, meta.Timestamp); ok {
		return past.Add(ctx, f)
	}
	return nil
}
