package evaluate

import (
	"strings"

	"intenthint/intents"
)

// Hints are the metrics of the hints that a HINT_MIN_CONFIDENCE lets through
// (contract §10). As in the running system, an answer of at least that
// confidence is a hint, the fallback too.
type Hints struct {
	// Hinted is the share of messages that get a hint.
	Hinted float64 `json:"hinted"`
	// Precision is the share of the hints that are right.
	Precision float64 `json:"hintPrecision"`
	// OOSHinted is the share of out-of-scope messages that get a hint.
	OOSHinted float64 `json:"oosHinted"`
}

// Threshold holds the metrics at one HINT_MIN_CONFIDENCE.
type Threshold struct {
	MinConfidence float64 `json:"minConfidence"`
	Hints
	// OOSMisled is the share of out-of-scope messages whose hint names an intent,
	// not the fallback.
	OOSMisled float64 `json:"oosMisled"`
}

// Hinted reports whether the answer is a hint. A failure is not one.
func (o *Outcome) Hinted(minConfidence float64) bool {
	return o.Err == nil && o.Confidence >= minConfidence
}

// HintsAt returns the metrics of hints at a HINT_MIN_CONFIDENCE.
func HintsAt(outcomes []Outcome, minConfidence float64) Threshold {
	var hinted, right, oos, oosHinted, oosMisled int
	for i := range outcomes {
		o := &outcomes[i]
		if !o.inScope() {
			oos++
		}
		if !o.Hinted(minConfidence) {
			continue
		}
		hinted++
		if o.Right() {
			right++
		}
		if !o.inScope() {
			oosHinted++
			if o.Got != intents.FallbackID {
				oosMisled++
			}
		}
	}
	return Threshold{
		MinConfidence: minConfidence,
		Hints:         Hints{share(hinted, len(outcomes)), share(right, hinted), share(oosHinted, oos)},
		OOSMisled:     share(oosMisled, oos),
	}
}

// Thresholds returns the metrics for 0, 0.05 and so on up to 0.95.
func Thresholds(outcomes []Outcome) []Threshold {
	const steps = 20 // of 0.05, as finely as settings are chosen
	out := make([]Threshold, steps)
	for i := range out {
		out[i] = HintsAt(outcomes, float64(i)/steps)
	}
	return out
}

// Comparison is the difference between the outcomes of the same messages under
// two catalogues. Its values are positions.
type Comparison struct {
	// Better outcomes were wrong before and are right after, Worse the reverse.
	// Changed outcomes have another answer that is equally right or wrong.
	Better, Worse, Changed []int
}

// Compare compares outcomes of the same lines.
func Compare(before, after []Outcome) Comparison {
	var c Comparison
	for i := range before {
		b, a := &before[i], &after[i]
		switch {
		case a.Right() && !b.Right():
			c.Better = append(c.Better, i)
		case b.Right() && !a.Right():
			c.Worse = append(c.Worse, i)
		case !strings.EqualFold(a.Got, b.Got):
			c.Changed = append(c.Changed, i)
		}
	}
	return c
}
