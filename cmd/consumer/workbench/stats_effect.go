package workbench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/record"
)

func (c *Stats) printEffect(inv *cli.Invocation, out record.EffectReport) error {
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	return writeEffect(inv.Stdout, &out)
}

// writeEffect writes the effect of hints, in total and per intent.
func writeEffect(to io.Writer, out *record.EffectReport) error {
	all := &out.Total
	_, err := fmt.Fprintf(to, "with hints: %s, %s; held out: %s, %s\nleft out: %s that changed sides, %d from a time without a holdout (HINT_HOLDOUT)\n",
		cli.Count(all.Hinted.Sessions, "session"), cli.Count(all.Hinted.Turns, "turn"),
		cli.Count(all.HeldOut.Sessions, "session"), cli.Count(all.HeldOut.Turns, "turn"),
		cli.Count(out.Mixed, "session"), out.Outside)
	if err != nil || all.Hinted.Sessions+all.HeldOut.Sessions == 0 {
		return err
	}
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "\nINTENT\tSESSIONS\tPER TURN\tWITH HINTS\tHELD OUT\tDIFFERENCE\t95 % INTERVAL\t\n")
	writeComparison(w, "all", all, out.MinSessions)
	for i := range out.Intents {
		writeComparison(w, text.OneLine(out.Intents[i].Name, 60), &out.Intents[i], out.MinSessions)
	}
	return w.Flush()
}

// agentsOwn marks what is of the agent's own model.
const agentsOwn = " (agent)"

// writeComparison writes one line per outcome, the first with the name.
func writeComparison(w io.Writer, name string, c *record.Comparison, minSessions int) {
	sessions := fmt.Sprintf("%d+%d", c.Hinted.Sessions, c.HeldOut.Sessions)
	for _, row := range []struct {
		outcome string
		d       *record.Contrast
		show    func(float64) string
	}{
		{"tool calls", &c.ToolCalls, decimals},
		{"failed tool calls", &c.ToolErrors, decimals},
		{"corrections", &c.Corrections, decimals},
		{"duration", &c.DurationMs, inSeconds},
		{"model calls" + agentsOwn, &c.Agent.ModelCalls, decimals},
		{"input tokens" + agentsOwn, &c.Agent.InputTokens, whole},
		{"cached tokens" + agentsOwn, &c.Agent.CachedTokens, whole},
		{"output tokens" + agentsOwn, &c.Agent.OutputTokens, whole},
		{"cost" + agentsOwn, &c.Agent.Cost, money},
	} {
		if row.d.Hinted == 0 && row.d.HeldOut == 0 && strings.HasSuffix(row.outcome, agentsOwn) {
			continue // gateways do not tell it
		}
		interval, verdict := verdictOn(row.d, minSessions, row.show)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, sessions, row.outcome,
			row.show(row.d.Hinted), row.show(row.d.HeldOut), signed(row.show, row.d.Difference), interval, verdict)
		name, sessions = "", ""
	}
}

// verdictOn returns an interval and what it means.
func verdictOn(d *record.Contrast, minSessions int, show func(float64) string) (interval, verdict string) {
	if d.Interval == nil {
		if d.NotEnough == record.FewSessions {
			return "-", fmt.Sprintf("not enough: fewer than %d sessions", minSessions)
		}
		return "-", "not enough: nothing differs"
	}
	interval = signed(show, d.Interval[0]) + " to " + signed(show, d.Interval[1])
	switch {
	case d.Interval[1] < 0:
		return interval, "less with hints"
	case d.Interval[0] > 0:
		return interval, "more with hints"
	}
	return interval, "no clear difference"
}

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// money formats an amount of the currency of HINT_PRICES: a turn may cost a
// hundredth of its smallest coin.
func money(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

func decimals(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// signed formats a difference with its sign; a value that is shown as zero has
// none.
func signed(show func(float64) string, v float64) string {
	out := show(math.Abs(v))
	switch {
	case !strings.ContainsAny(out, "123456789"):
		return out
	case v < 0:
		return "-" + out
	}
	return "+" + out
}
