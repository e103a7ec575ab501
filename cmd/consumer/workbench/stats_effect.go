package workbench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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

// effectView is what the template shows.
type effectView struct {
	*record.EffectReport
	Rows []effectRow
}

// effectRow is one outcome of one intent; the first of an intent has its name.
type effectRow struct {
	Name, Sessions, Outcome               string
	Hinted, HeldOut, Difference, Interval string
	Verdict                               string
}

// writeEffect writes the effect of hints, in total and per intent.
func writeEffect(to io.Writer, out *record.EffectReport) error {
	view := effectView{EffectReport: out}
	if out.Total.Hinted.Sessions+out.Total.HeldOut.Sessions > 0 {
		view.Rows = effectRows("all", &out.Total, out.MinSessions)
		for i := range out.Intents {
			view.Rows = append(view.Rows, effectRows(text.OneLine(out.Intents[i].Name, shownName), &out.Intents[i], out.MinSessions)...)
		}
	}
	return report(to, "effect.tmpl", &view)
}

// agentsOwn marks what is of the agent's own model.
const agentsOwn = " (agent)"

// effectRows returns one row per outcome.
func effectRows(name string, c *record.Comparison, minSessions int) (rows []effectRow) {
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
		shown := effectRow{
			Name: name, Sessions: sessions, Outcome: row.outcome,
			Hinted: row.show(row.d.Hinted), HeldOut: row.show(row.d.HeldOut), Difference: signed(row.show, row.d.Difference),
		}
		shown.Interval, shown.Verdict = verdictOn(row.d, minSessions, row.show)
		rows = append(rows, shown)
		name, sessions = "", ""
	}
	return rows
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
