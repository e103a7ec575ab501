package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/triage/state"
)

type triageStatsCmd struct {
	Since cli.Since `placeholder:"D" help:"Only decisions made since then: a duration (24h, 7d) or an RFC 3339 time. Default: all stored decisions."`
	// The default is the size of a captured gateway request with almost no
	// history: 40 kB, at four bytes per token.
	TurnTokens int    `default:"10000" placeholder:"N" help:"Tokens that a turn of your agent takes. Default: 10000, about the size of a short session."`
	By         string `enum:"group,day" default:"group" placeholder:"KEY" help:"Count by group or by day (in HINT_USER_TIMEZONE)."`
	JSON       bool   `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer triage stats --help`.
func (triageStatsCmd) Help() string {
	return `Counts the decisions of the gates of all consumers, per group and in total: messages by decision and by reason, marks against decisions, response times, tokens of the gate's model, avoided turns, and the tokens saved:

  saved = skipped × turn-tokens − tokens of the gate's model

missed: skipped, but marked respond. wasted: answered, but marked skip. A message counts once, however often it arrives. Direct chats and groups that the gate does not apply to are not counted. Decisions are kept as long as events (HINT_STREAM_MAX_AGE).

  consumer triage stats --since 7d
  consumer triage stats --by day
  consumer triage stats --turn-tokens 35000 --json`
}

// Validate rejects a negative number of tokens.
func (c *triageStatsCmd) Validate() error {
	if c.TurnTokens < 0 {
		return errors.New("--turn-tokens must be 0 or more")
	}
	return nil
}

// triageStats is what --json prints.
type triageStats struct {
	// Since is the beginning of the counted period; absent for all stored
	// decisions.
	Since *time.Time `json:"since,omitempty"`
	// TurnTokens is the assumed cost of a turn, Formula how the saved tokens are
	// computed from it.
	TurnTokens int           `json:"turnTokens"`
	Formula    string        `json:"formula"`
	Total      state.Tally   `json:"total"`
	Groups     []state.Tally `json:"groups"`
	// Days are named like 2026-11-22, the earliest first.
	Days []dayTally `json:"days"`

	by string // group or day
}

// dayTally sums up the decisions of a day.
type dayTally struct {
	Day string `json:"day"`
	state.Tally
}

const savedFormula = "tokensSaved = skipped * turnTokens - tokens.in - tokens.out"

func (c *triageStatsCmd) Run(inv *cli.Invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	marks, err := shared.Marks(inv.Ctx)
	if err != nil {
		return err
	}
	marked := state.Verdicts(marks)
	out := triageStats{TurnTokens: c.TurnTokens, Formula: savedFormula, Groups: []state.Tally{}, Days: []dayTally{}, by: c.By, Total: state.Tally{Reasons: map[string]int{}}}
	if !c.Since.IsZero() {
		out.Since = &c.Since.Time
	}
	groups, days := map[string]*state.Tally{}, map[string]*state.Tally{}
	err = shared.Decisions(inv.Ctx, c.Since.Time, func(d state.Decision) error {
		if groups[d.Group] == nil {
			groups[d.Group] = &state.Tally{Group: d.Group}
		}
		mark := marked[state.Message{Group: d.Group, ID: d.MessageID}]
		day := d.Decided.In(inv.Config.Timezone.Location).Format(time.DateOnly)
		if days[day] == nil {
			days[day] = &state.Tally{}
		}
		groups[d.Group].Add(d, mark)
		days[day].Add(d, mark)
		out.Total.Add(d, mark)
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range groups {
		t.Price(c.TurnTokens)
		out.Groups = append(out.Groups, *t)
	}
	for day, t := range days {
		t.Price(c.TurnTokens)
		out.Days = append(out.Days, dayTally{day, *t})
	}
	slices.SortFunc(out.Days, func(a, b dayTally) int { return strings.Compare(a.Day, b.Day) })
	out.Total.Price(c.TurnTokens)
	slices.SortFunc(out.Groups, func(a, b state.Tally) int { return cmp.Or(b.Messages-a.Messages, strings.Compare(a.Group, b.Group)) })
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	if out.Total.Messages == 0 {
		_, err := fmt.Fprintln(inv.Stderr, "no decisions")
		return err
	}
	return out.print(inv.Stdout)
}

// rows returns the lines of the table, with their names in Group.
func (s *triageStats) rows() (heading string, rows []state.Tally) {
	heading, rows = "GROUP", slices.Clone(s.Groups)
	if s.by == "day" {
		heading, rows = "DAY", nil
		for _, d := range s.Days {
			d.Group = d.Day
			rows = append(rows, d.Tally)
		}
	}
	total := s.Total
	total.Group = "all"
	return heading, append(rows, total)
}

// print writes a table of the groups or days, and the totals.
func (s *triageStats) print(to io.Writer) error {
	heading, rows := s.rows()
	reasons := slices.Sorted(maps.Keys(s.Total.Reasons))
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\tMESSAGES\tANSWERED\tSKIPPED\t%s\tMARKED\tMISSED\tWASTED\tMEDIAN\tP95\tTOKENS\tSAVED\n", heading, strings.ToUpper(strings.Join(reasons, "\t")))
	for _, t := range rows {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d", text.OneLine(t.Group, 100), t.Messages, t.Answered, t.Skipped)
		for _, reason := range reasons {
			_, _ = fmt.Fprintf(w, "\t%d", t.Reasons[reason])
		}
		_, _ = fmt.Fprintf(w, "\t%d\t%d\t%d\t%.1f ms\t%.1f ms\t%d\t%d\n", t.Marked, t.Missed, t.Wasted, t.Response.MedianMs, t.Response.P95Ms, t.Spent(), t.Saved)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, `
missed: skipped, but marked respond; wasted: answered, but marked skip
tokens of the gate's model: %d in and %d out, for %s
turns avoided: %d
tokens saved: %d skipped × %d a turn (--turn-tokens) − %d of the gate's model = %d
`, s.Total.Tokens.In, s.Total.Tokens.Out, cli.Count(s.Total.Asked, "message"), s.Total.Avoided, s.Total.Skipped, s.TurnTokens, s.Total.Spent(), s.Total.Saved)
	return err
}
