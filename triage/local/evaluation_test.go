package local

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Measure counts what a gate did with messages that it was not trained on.
type Measure struct {
	Messages  int // that reach the gate
	Deserving int // of them, that deserve an answer
	Skipped   int // sure to skip
	Missed    int // of them, deserving
	Answered  int // sure to answer
	Wasted    int // of them, not deserving
}

func (m *Measure) add(o Measure) {
	m.Messages += o.Messages
	m.Deserving += o.Deserving
	m.Skipped += o.Skipped
	m.Missed += o.Missed
	m.Answered += o.Answered
	m.Wasted += o.Wasted
}

// Saved is the share of messages that no model is asked about.
func (m Measure) Saved() float64 { return share(m.Skipped+m.Answered, m.Messages) }

// MissedShare is the share of deserving messages that were skipped.
func (m Measure) MissedShare() float64 { return share(m.Missed, m.Deserving) }

func share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// Report is a measure of each language and group, and of all.
type Report struct {
	All        Measure
	ByLanguage map[string]Measure
	ByGroup    map[string]Measure
}

// Evaluate measures by cross-validation over groups: each group is judged by a
// gate that was trained, thresholds included, on the others. There is a report for
// each of first: without that many messages at the beginning of each group.
// Messages that hold the bot's name, and those of fewer than two characters,
// are not counted: other rules decide them.
func Evaluate(examples []Example, first ...int) []Report {
	out := make([]Report, len(first))
	for i := range out {
		out[i] = newReport()
	}
	for own, rest := range apart(examples) {
		gate := Train(rest)
		for i, n := range first {
			out[i].judge(gate, own[beginning(own, n):])
		}
	}
	return out
}

// EvaluateMarked is [Evaluate] where the messages at the beginning of a group are
// not only left out, but also marks.
func EvaluateMarked(examples []Example, first int) Report {
	out := newReport()
	for own, rest := range apart(examples) {
		n := beginning(own, first)
		out.judge(Train(slices.Concat(rest, marked(own[:n]))), own[n:])
	}
	return out
}

func newReport() Report {
	return Report{ByLanguage: map[string]Measure{}, ByGroup: map[string]Measure{}}
}

func beginning(own []Example, first int) int { return min(max(first, 0), len(own)) }

// apart yields the examples of each group, and those of all others.
func apart(examples []Example) iter.Seq2[[]Example, []Example] {
	var groups []string
	for _, e := range examples {
		if e.Group != "" && !slices.Contains(groups, e.Group) {
			groups = append(groups, e.Group)
		}
	}
	return func(yield func(own, rest []Example) bool) {
		for _, group := range groups {
			var own, rest []Example
			for _, e := range examples {
				if e.Group == group {
					own = append(own, e)
				} else {
					rest = append(rest, e)
				}
			}
			if !yield(own, rest) {
				return
			}
		}
	}
}

func (r *Report) judge(g *Gate, examples []Example) {
	for _, e := range examples {
		m := read(e.Text, maxText)
		if m.chars < 2 || named(&m, e.BotName) {
			continue
		}
		one := Measure{Messages: 1}
		respond, sure, _ := g.Judge(e.Input)
		if e.Respond {
			one.Deserving = 1
		}
		switch {
		case sure && respond:
			one.Answered = 1
			one.Wasted = 1 - one.Deserving
		case sure:
			one.Skipped = 1
			one.Missed = one.Deserving
		}
		r.All.add(one)
		l, o := r.ByLanguage[e.Language], r.ByGroup[e.Group]
		l.add(one)
		o.add(one)
		r.ByLanguage[e.Language], r.ByGroup[e.Group] = l, o
	}
}

// String returns the report as a table.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %8s %9s %8s %12s %8s %12s %7s\n",
		"", "messages", "deserving", "skipped", "missed", "answered", "wasted", "saved")
	row := func(name string, m Measure) {
		fmt.Fprintf(&b, "%-18s %8d %9d %8d %4d (%4.1f%%) %8d %4d (%4.1f%%) %6.1f%%\n", name,
			m.Messages, m.Deserving, m.Skipped, m.Missed, 100*m.MissedShare(),
			m.Answered, m.Wasted, 100*share(m.Wasted, m.Answered), 100*m.Saved())
	}
	for _, byName := range []map[string]Measure{r.ByGroup, r.ByLanguage} {
		names := make([]string, 0, len(byName))
		for name := range byName {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			row(name, byName[name])
		}
	}
	row("all", r.All)
	return b.String()
}
