package state

// Tally is what was decided in a group, or in all of them.
type Tally struct {
	// Group is "" for all.
	Group    string `json:"group,omitempty"`
	Messages int    `json:"messages"`
	Answered int    `json:"answered"`
	Skipped  int    `json:"skipped"`
	// Reasons counts messages by Triage-Reason.
	Reasons map[string]int `json:"reasons"`
	// Marked counts those that people marked; of them Missed were skipped and
	// deserved an answer, Wasted were answered and did not.
	Marked int `json:"marked"`
	Missed int `json:"missed"`
	Wasted int `json:"wasted"`
	// Asked counts messages that a model was asked about, and Tokens what it took.
	Asked  int    `json:"asked"`
	Tokens Tokens `json:"tokens"`
	// Avoided are the turns that were not run, Saved the tokens that this saves,
	// negative where the gate costs more.
	Avoided int   `json:"turnsAvoided"`
	Saved   int64 `json:"tokensSaved"`
}

// Add counts a decision. mark is the verdict of a person, "" for a message that
// nobody marked.
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
	if d.Model != "" {
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

// Spent is what the gate's model took, in tokens.
func (t *Tally) Spent() int64 { return int64(t.Tokens.In) + int64(t.Tokens.Out) }

// Price works out what the gate saves where a turn takes so many tokens.
func (t *Tally) Price(turnTokens int) {
	t.Avoided = t.Skipped
	t.Saved = int64(t.Avoided)*int64(turnTokens) - t.Spent()
}

// Message names a message of a group.
type Message struct{ Group, ID string }

// Verdicts are what people said, by message.
func Verdicts(marks []Mark) map[Message]string {
	out := make(map[Message]string, len(marks))
	for _, m := range marks {
		out[Message{m.Group, m.MessageID}] = m.Verdict
	}
	return out
}
