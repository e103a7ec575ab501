package evaluate

import (
	"slices"

	"intenthint/payload"
)

// levels are those of complexity, the least first.
var levels = [...]string{payload.ComplexityLow, payload.ComplexityMedium, payload.ComplexityHigh}

// Complexity tells how often the complexity of messages was found, over the lines that
// have one.
type Complexity struct {
	N int `json:"n"`
	// Accuracy is the share of the lines whose complexity was found.
	Accuracy float64 `json:"accuracy"`
	// Confusion has a row for each level that occurs, the least first.
	Confusion []ComplexityRow `json:"confusion"`
}

// ComplexityRow counts the answers to the messages of one complexity.
type ComplexityRow struct {
	Want   string `json:"want"`
	Low    int    `json:"low"`
	Medium int    `json:"medium"`
	High   int    `json:"high"`
	// None got no answer.
	None int `json:"none,omitempty"`
}

// ComplexityOf measures the complexity of answers; nil if no line has one. Lines and
// outcomes are in the same order.
func ComplexityOf(lines []Line, outcomes []Outcome) *Complexity {
	rows := map[string]*ComplexityRow{}
	out := &Complexity{}
	found := 0
	for i, l := range lines {
		if l.Complexity == "" {
			continue
		}
		out.N++
		row := rows[l.Complexity]
		if row == nil {
			row = &ComplexityRow{Want: l.Complexity}
			rows[l.Complexity] = row
		}
		got := outcomes[i].Complexity //nolint:gosec // as many as lines
		if got == l.Complexity {
			found++
		}
		row.count(got)
	}
	if out.N == 0 {
		return nil
	}
	out.Accuracy = float64(found) / float64(out.N)
	for _, level := range levels {
		if row := rows[level]; row != nil {
			out.Confusion = append(out.Confusion, *row)
		}
	}
	return out
}

func (r *ComplexityRow) count(got string) {
	at := slices.Index(levels[:], got)
	if at < 0 {
		r.None++
		return
	}
	*[...]*int{&r.Low, &r.Medium, &r.High}[at]++
}
