package evaluate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"intenthint/intents"
)

// bins is the number of bins of the expected calibration error (contract §10).
const bins = 15

// Outcome is one labelled message and what was answered.
type Outcome struct {
	Text string
	// Line is the number of its line.
	Line int
	// Want and Got are intent ids; [intents.FallbackID] is out of scope.
	Want, Got string
	// Also are further ids that are right.
	Also []string
	// Source is the source of the answer (Hint-Source).
	Source string
	// RunnerUp is the next intent of the classifier in this process, and
	// RunnerUpConfidence the probability that it is right; "" and 0 without an
	// answer.
	RunnerUp           string
	RunnerUpConfidence float64
	// Misled is the example or trigger of a wrong Got that is nearest to the
	// message, and Similarity its cosine, 0–1; "" and 0 if the answer is right or
	// nothing of Got resembles the message.
	Misled     string
	Similarity float64
	// Forced is the best intent of the catalogue with the fallback ruled out; ""
	// without an answer.
	Forced string
	// Confidence is the confidence of Got, 0–1.
	Confidence float64
	// Complexity is that of the answer; "" without one.
	Complexity string
	Took       time.Duration
	// Err is why the classifier gave no answer; Got is then the fallback and
	// Confidence 0.
	Err error
}

// Right reports whether the answer is a label.
func (o *Outcome) Right() bool { return o.wants(o.Got) }

func (o *Outcome) wants(id string) bool { return id == o.Want || slices.Contains(o.Also, id) }

// inScope reports whether some intent is right.
func (o *Outcome) inScope() bool { return o.Want != intents.FallbackID || len(o.Also) > 0 }

// Metrics are the metrics of an evaluation (contract §10). A share of nothing,
// such as the recall if no message is out of scope, is 0.
type Metrics struct {
	// Accuracy is the share of in-scope messages that got their intent; the
	// fallback is a wrong answer to them.
	Accuracy float64 `json:"accuracy"`
	// AccuracyForced is Accuracy with the fallback ruled out.
	AccuracyForced float64 `json:"accuracyForced"`
	// OOSRecall is the share of out-of-scope messages that got the fallback.
	OOSRecall float64 `json:"oosRecall"`
	// OOSPrecision is the share of fallback answers that were right.
	OOSPrecision float64 `json:"oosPrecision"`
	// N counts all messages, NOOS those of them that are out of scope.
	N    int `json:"n"`
	NOOS int `json:"nOos"`
	// ECE is the expected calibration error over all messages.
	ECE float64 `json:"ece"`
	// P50Us and P99Us are quantiles of the time for an answer, in microseconds.
	P50Us float64 `json:"p50Us"`
	P99Us float64 `json:"p99Us"`
}

// Measure computes the metrics of outcomes.
func Measure(outcomes []Outcome) Metrics {
	m := Metrics{N: len(outcomes), ECE: ECE(outcomes)}
	var right, forced, found, rejected, rightlyRejected int
	took := make([]time.Duration, 0, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		took = append(took, o.Took)
		if o.Got == intents.FallbackID {
			rejected++
			if o.Right() {
				rightlyRejected++
			}
		}
		switch {
		case !o.inScope():
			m.NOOS++
			if o.Right() {
				found++
			}
		default:
			if o.Right() {
				right++
			}
			if o.wants(o.Forced) {
				forced++
			}
		}
	}
	m.Accuracy = share(right, m.N-m.NOOS)
	m.AccuracyForced = share(forced, m.N-m.NOOS)
	m.OOSRecall = share(found, m.NOOS)
	m.OOSPrecision = share(rightlyRejected, rejected)
	slices.Sort(took)
	m.P50Us = microseconds(Quantile(took, 0.5))
	m.P99Us = microseconds(Quantile(took, 0.99))
	return m
}

// ECE returns the expected calibration error: answers fall into 15 bins of
// equal width by their confidence, and the distances between the mean
// confidence of a bin and the share of right answers in it are averaged by the
// size of the bins. A confidence on the border of two bins belongs to the lower
// one.
func ECE(outcomes []Outcome) float64 {
	var right, confidence [bins]float64
	for i := range outcomes {
		o := &outcomes[i]
		bin := min(max(int(math.Ceil(o.Confidence*bins))-1, 0), bins-1)
		confidence[bin] += o.Confidence
		if o.Right() {
			right[bin]++
		}
	}
	var distance float64
	for bin := range bins {
		distance += math.Abs(confidence[bin] - right[bin])
	}
	return distance / float64(max(len(outcomes), 1))
}

// Quantile returns the smallest of the sorted durations that at least the share
// q, 0–1, of them do not exceed; 0 for an empty list.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// IntentScore is how well one intent, or the fallback, is told from the others.
type IntentScore struct {
	Intent string
	// N counts the messages labelled with the intent (of several labels, the one
	// that was answered counts, else the first), Answers those that got it as the
	// answer, and Right those with both.
	N, Answers, Right int
}

// Recall returns the share of the intent's messages that got it; 0 without
// messages.
func (s IntentScore) Recall() float64 { return share(s.Right, s.N) }

// Precision returns the share of the intent's answers that were right; 0
// without answers.
func (s IntentScore) Precision() float64 { return share(s.Right, s.Answers) }

// ByIntent counts for every intent that is a label or an answer, worst first: by
// recall, then by precision. Answers that are not a label come last.
func ByIntent(outcomes []Outcome) []IntentScore {
	position := map[string]int{}
	var scores []IntentScore
	of := func(id string) *IntentScore {
		i, ok := position[id]
		if !ok {
			i = len(scores)
			position[id] = i
			scores = append(scores, IntentScore{Intent: id})
		}
		return &scores[i]
	}
	for i := range outcomes {
		o := &outcomes[i]
		label := o.Want
		if o.Right() {
			label = o.Got
			of(label).Right++
		}
		of(label).N++
		of(o.Got).Answers++
	}
	slices.SortFunc(scores, func(a, b IntentScore) int {
		if (a.N == 0) != (b.N == 0) {
			return cmp.Compare(b.N, a.N)
		}
		return cmp.Or(cmp.Compare(a.Recall(), b.Recall()), cmp.Compare(a.Precision(), b.Precision()), strings.Compare(a.Intent, b.Intent))
	})
	return scores
}

// Confusion is a label and a wrong answer that was given for it.
type Confusion struct {
	Want string `json:"want"`
	Got  string `json:"got"`
	N    int    `json:"n"`
	// Example is the message that got this answer with the highest confidence.
	Example string `json:"example"`
}

// Confusions returns the pairs of label and wrong answer, the most frequent
// first.
func Confusions(outcomes []Outcome) []Confusion {
	type pair struct{ want, got string }
	type found struct{ n, surest int }
	pairs := map[pair]found{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Right() {
			continue
		}
		p := pair{o.Want, o.Got}
		f, again := pairs[p]
		if !again || o.Confidence > outcomes[f.surest].Confidence {
			f.surest = i
		}
		f.n++
		pairs[p] = f
	}
	out := make([]Confusion, 0, len(pairs))
	for p, f := range pairs {
		out = append(out, Confusion{p.want, p.got, f.n, outcomes[f.surest].Text})
	}
	slices.SortFunc(out, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Want, b.Want), strings.Compare(a.Got, b.Got))
	})
	return out
}

func share(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
