package state

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
	// Avoided is the number of turns that were not run, Saved the tokens that this
	// saves; negative if the gate costs more.
	Avoided int   `json:"turnsAvoided"`
	Saved   int64 `json:"tokensSaved"`
}

// Add counts a decision. mark is a person's verdict, "" for an unmarked
// message.
func (t *Tally) Add(d Decision, mark string) {
	if t.Reasons == nil {
		t.Reasons = map[string]int{}
	}
	t.Messages++
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

// Price computes the savings of the gate if a turn takes turnTokens tokens.
func (t *Tally) Price(turnTokens int) {
	t.Avoided = t.Skipped
	t.Saved = int64(t.Avoided)*int64(turnTokens) - t.Spent()
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
