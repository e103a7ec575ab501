package workbench

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/record"
	"intenthint/store"
)

// Stats is `consumer stats`.
type Stats struct {
	Since  cli.Since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time. Default: all stored turns."`
	Effect bool      `help:"Compare the sessions that HINT_HOLDOUT kept without hints with the others."`
	JSON   bool      `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer stats --help`.
func (Stats) Help() string {
	return `Counts the recorded turns, in total and per intent (the classifier's choice, even without a hint), source, agent and day (in HINT_USER_TIMEZONE).

CONFIDENCE is a mean. LOW: below HINT_MIN_CONFIDENCE. UNCHANGED: the session already knew the hint. HELD OUT: the session gets no hints (HINT_HOLDOUT). LATE: the hint came too late for the gateway. CORRECTED: marked wrong (consumer feedback). ERRORS: turns that failed. MEDIAN, P95: time from start to end. MODEL CALLS: calls of language models, for the intent and the hint's text, and of a provider's embedding model, with the number that failed. TOKENS: of all these calls, in/out. SKILLS: named by hints/read by the turn, of those named. Turns from before these columns were recorded count as 0; consumer sessions rebuild adds why there was no hint, as far back as the stream goes.

With usage: true in the plugin's config, a line sums up what the agents asked of their own models; "input" is without what was read from or written to the provider's cache.

The last line is the accuracy of the random turns that "consumer sample" draws, at most ` + strconv.Itoa(record.SampleSize) + ` of a day, as far as they are marked, with its 95 % interval. Turns that were marked because they looked wrong, or unsure, say nothing about the others.

--effect shows how much tool calls, failed tool calls, corrections (a turn marked wrong, or a next message such as "no, I meant …") and durations per turn differ with hints, with 95 % intervals, and, with usage: true in the plugin's config, calls, tokens and cost (HINT_PRICES) of the agent's own model; its "input tokens" are all of the input, "cached tokens" those of them that were read from the provider's cache. It compares turns in which a hint was given, already known or held out, of sessions that were on one side from their first turn on; with --since, of sessions that began since then. With fewer than ` + strconv.Itoa(record.MinSessions) + ` sessions on a side, it says so instead. One interval in twenty misses the true value: among many intents, some differ by chance. HINT_HOLDOUT must have been set for the whole time, preferably unchanged.`
}

// Run is called by kong.
func (c *Stats) Run(inv *cli.Invocation) error {
	if c.Effect {
		effect := record.NewEffect(record.EffectOptions{Since: c.Since.Time, Prices: inv.Config.Prices})
		if err := eachTurn(inv, effect.Add); err != nil {
			return err
		}
		return c.printEffect(inv, effect.Report())
	}
	stats := record.NewStats(record.StatsOptions{MinConfidence: inv.Config.Classifier.MinConfidence, Location: inv.Config.Timezone.Location, Prices: inv.Config.Prices})
	err := eachTurn(inv, func(s store.Summary, turn *store.Turn) {
		if c.Since.IsZero() || turn.Begin.TS >= c.Since.UnixMilli() {
			stats.Add(s, turn)
		}
	})
	if err != nil {
		return err
	}
	return c.printStats(inv, stats.Report())
}

func (c *Stats) printStats(inv *cli.Invocation, out record.StatsReport) error {
	if !c.Since.IsZero() {
		out.Since = &c.Since.Time
	}
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	if out.Total.Turns == 0 {
		what := "no recorded turns"
		if out.Since != nil {
			what += " since then"
		}
		_, err := fmt.Fprintf(inv.Stderr, "%s in %s\n", what, cli.StoreName(inv.Config))
		return err
	}
	return writeStats(inv.Stdout, &out)
}

// statsView is what the template shows.
type statsView struct {
	*record.StatsReport
	Tables []tallyTable
}

type tallyTable struct {
	Name    string
	Tallies []record.Tally
	Total   *record.Tally
}

// writeStats writes a table per group, each with the total as its last line.
func writeStats(to io.Writer, out *record.StatsReport) error {
	view := statsView{StatsReport: out}
	for _, group := range []tallyTable{{Name: "INTENT", Tallies: out.Intents}, {Name: "SOURCE", Tallies: out.Sources}, {Name: "AGENT", Tallies: out.Agents}, {Name: "DAY", Tallies: out.Days}} {
		group.Total = &out.Total
		view.Tables = append(view.Tables, group)
	}
	return report(to, "stats.tmpl", &view)
}

// lasted formats a statistic of a duration.
func lasted(d record.Duration, ms int64) string {
	if d.Turns == 0 {
		return "-"
	}
	return inSeconds(float64(ms))
}

func inSeconds(ms float64) string {
	return strconv.FormatFloat(ms/float64(time.Second/time.Millisecond), 'f', 1, 64) + " s"
}
