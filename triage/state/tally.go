package state

import (
	"math"
	"slices"
)

// Tally sums up the decisions in a group, or in all groups.
type Tally struct {
	// Group is "" for all groups.
	Group    string `json:"group,omitempty"`
	Messages int    `json:"messages"`
	Answered int    `json:"answered"`
	Skipped  int    `json:"skipped"`
	// Reasons counts messages by Triage-Reason.
	Reasons map[string]int `json:"reasons"`
	// Marked counts the messages that people marked: of these, Missed were skipped
	// but deserved an answer, and Wasted were answered but did not.
	Marked int `json:"marked"`
	Missed int `json:"missed"`
	Wasted int `json:"wasted"`
	// Asked counts the messages that a model was asked about, and Tokens the
	// tokens that took.
	Asked  int    `json:"asked"`
	Tokens Tokens `json:"tokens"`
	// Response is how long the gate took to decide.
	Response Response `json:"response"`
	// Avoided is the number of turns that were not run, Saved the tokens that this
	// saves; negative if the gate costs more.
	Avoided int   `json:"turnsAvoided"`
	Saved   int64 `json:"tokensSaved"`

	took []float64 // of the decisions, in ms
}

// Response are quantiles of the time until a decision, in milliseconds; 0 without
// decisions.
type Response struct {
	MedianMs float64 `json:"medianMs"`
	P95Ms    float64 `json:"p95Ms"`
}

// Add counts a decision. mark is a person's verdict, "" for an unmarked
// message.
func (t *Tally) Add(d Decision, mark string) {
	if t.Reasons == nil {
		t.Reasons = map[string]int{}
	}
	t.Messages++
	t.took = append(t.took, d.ElapsedMs)
	t.Reasons[d.Reason]++
	if d.Verdict == Skip {
		t.Skipped++
	} else {
		t.Answered++
	}
	if d.Model != "" || d.Tokens != (Tokens{}) {
		t.Asked++
	}
	t.Tokens.In += d.Tokens.In
	t.Tokens.Out += d.Tokens.Out
	if mark != "" {
		t.Marked++
	}
	switch {
	case mark == Respond && d.Verdict == Skip:
		t.Missed++
	case mark == Skip && d.Verdict == Respond:
		t.Wasted++
	}
}

// Spent returns the tokens that the gate's model used.
func (t *Tally) Spent() int64 { return int64(t.Tokens.In) + int64(t.Tokens.Out) }

// Price computes the savings of the gate if a turn takes turnTokens tokens, and the
// response times.
func (t *Tally) Price(turnTokens int) {
	slices.Sort(t.took)
	t.Response = Response{quantile(t.took, 0.5), quantile(t.took, 0.95)}
	t.Avoided = t.Skipped
	t.Saved = int64(t.Avoided)*int64(turnTokens) - t.Spent()
}

// quantile returns the smallest of the sorted values that at least the share q of them
// do not exceed; 0 without values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// Message names a message of a group.
type Message struct{ Group, ID string }

// Verdicts returns people's verdicts by message.
func Verdicts(marks []Mark) map[Message]string {
	out := make(map[Message]string, len(marks))
	for _, m := range marks {
		out[Message{m.Group, m.MessageID}] = m.Verdict
	}
	return out
}
