package workbench

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
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

// writeStats writes a table per group, each with the total as its last line.
func writeStats(to io.Writer, out *record.StatsReport) error {
	_, err := fmt.Fprintf(to, "%s of %s; of %d classified, %s are OTHER\n", cli.Count(out.Total.Turns, "turn"), cli.Count(out.Total.Sessions, "session"),
		out.Total.Classified, share(out.Total.OtherShare))
	if err != nil {
		return err
	}
	for _, group := range []struct {
		name    string
		tallies []record.Tally
	}{{"INTENT", out.Intents}, {"SOURCE", out.Sources}, {"AGENT", out.Agents}, {"DAY", out.Days}} {
		if err := writeTallies(to, group.name, group.tallies, out.Total); err != nil {
			return err
		}
	}
	if err := writeSkills(to, out.Skills); err != nil {
		return err
	}
	if err := writeAgentCost(to, out.Total.Agent); err != nil {
		return err
	}
	return writeSample(to, out.Sample)
}

// writeAgentCost writes what agents asked of their own models, if gateways tell it.
func writeAgentCost(to io.Writer, a record.AgentCost) error {
	if a.Turns+a.Calls == 0 {
		return nil
	}
	_, err := fmt.Fprintf(to, "\nthe agents' own models: %s; of %s, tokens of input %d, read from cache %d, written to cache %d, of output %d; cost %s (HINT_PRICES), without a price: %s\n",
		cli.Count(a.Calls, "call"), cli.Count(a.Turns, "turn"), a.Input, a.CacheRead, a.CacheWrite, a.Output, money(a.Cost), cli.Count(a.Unpriced, "turn"))
	return err
}

func writeSample(to io.Writer, s record.SampleReport) error {
	if s.Marked == 0 {
		_, err := fmt.Fprintf(to, "\naccuracy unknown: none of %s is marked (consumer sample)\n", cli.Count(s.Drawn, "random turn"))
		return err
	}
	_, err := fmt.Fprintf(to, "\naccuracy %s, 95 %% interval %s to %s: %d right of %d marked, of %s (consumer sample)\n",
		share(*s.Accuracy), share(s.Interval[0]), share(s.Interval[1]), s.Right, s.Marked, cli.Count(s.Drawn, "random turn"))
	return err
}

func writeTallies(to io.Writer, group string, tallies []record.Tally, total record.Tally) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "\n%s\tTURNS\tSHARE\tCONFIDENCE\tLOW\tUNCHANGED\tHELD OUT\tLATE\tCORRECTED\tERRORS\tTOOL CALLS\tFAILED\tMEDIAN\tP95\tMODEL CALLS\tTOKENS\tSKILLS\n", group)
	line := func(name string, t *record.Tally) {
		confidence := "-"
		if t.Confidence != nil {
			confidence = fmt.Sprintf("%.2f", *t.Confidence)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d/%d\t%d/%d\n", name, t.Turns, share(t.Share), confidence,
			t.Low, t.Unchanged, t.HeldOut, t.Late, t.Corrected, t.Errors, t.ToolCalls, t.FailedToolCalls,
			lasted(t.Duration, t.Duration.MedianMs), lasted(t.Duration, t.Duration.P95Ms), modelCalls(t), t.Tokens.In, t.Tokens.Out, t.SkillsHinted, t.SkillsUsed)
	}
	for i := range tallies {
		line(text.OneLine(cmp.Or(tallies[i].Name, "-"), 60), &tallies[i])
	}
	line("all", &total)
	return w.Flush()
}

// modelCalls formats the number of model calls, and how many of them failed.
func modelCalls(t *record.Tally) string {
	if t.FailedModelCalls == 0 {
		return strconv.Itoa(t.ModelCalls)
	}
	return fmt.Sprintf("%d (%d failed)", t.ModelCalls, t.FailedModelCalls)
}

func writeSkills(to io.Writer, skills []record.SkillCount) error {
	if len(skills) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "\nSKILL\tHINTED\tUSED\tREAD\n")
	for _, s := range skills {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", text.OneLine(s.Name, 60), s.Hinted, s.Used, s.Read)
	}
	return w.Flush()
}

func share(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

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
