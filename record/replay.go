package record

import (
	"cmp"
	"slices"
	"strings"

	"intenthint/hint/conversation"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/redact"
)

// Answer is what was, or would be, said of a message.
type Answer struct {
	// Intent is what was said, [intents.FallbackID] for nothing: the fallback, or
	// too little confidence.
	Intent string
	// Chosen is the classifier's intent, whether or not it was said.
	Chosen string
	// Confidence is 0–1, Source one of the payload.Source constants.
	Confidence float64
	Source     string
	// RunnerUp is the likeliest other intent by the local classifier; "" for none.
	RunnerUp string
}

// answerOf is what a classification says. Below minConfidence it says nothing.
func answerOf(c payload.Classification, minConfidence float64) Answer {
	a := newAnswer(c.Intent, c.Confidence, c.Source, minConfidence)
	a.RunnerUp = c.RunnerUp
	return a
}

func newAnswer(intent string, confidence float64, source string, minConfidence float64) Answer {
	a := Answer{Intent: intent, Chosen: intent, Confidence: confidence, Source: source}
	if confidence < minConfidence {
		a.Intent = intents.FallbackID
	}
	return a
}

// Then is what was said of a turn by HINT_MIN_CONFIDENCE; ok is false for one
// without an answer. Feedback does not change it.
func (t *Turn) Then(minConfidence float64) (a Answer, ok bool) {
	if t.Confidence == nil {
		return Answer{}, false
	}
	a = newAnswer(cmp.Or(t.Answered, t.Intent), *t.Confidence, t.Source, minConfidence)
	a.RunnerUp = t.RunnerUp
	return a, true
}

// Altered reports whether the recorded text or conversation is not what the
// classifier read: it was redacted, or the message was cut to fit into an event.
func (t *Turn) Altered() bool {
	if strings.HasSuffix(t.Text, conversation.Truncated) || redact.Marked(t.Text) {
		return true
	}
	marked := func(before payload.Turn) bool { return redact.Marked(before.Text) }
	return slices.ContainsFunc(t.History, marked) || slices.ContainsFunc(t.Earlier, marked)
}

// Difference is a turn of which something else would be said. Its JSON is a line of
// `consumer replay --jsonl` (contract §10).
type Difference struct {
	Session string `json:"session"`
	RunID   string `json:"runId"`
	// TS is when the turn began, in Unix milliseconds.
	TS   int64  `json:"ts"`
	Text string `json:"text"`
	// From was said and To would be, [intents.FallbackID] for nothing.
	From string `json:"from"`
	To   string `json:"to"`
	// FromConfidence and ToConfidence are 0–1.
	FromConfidence float64 `json:"fromConfidence"`
	ToConfidence   float64 `json:"toConfidence"`
	FromSource     string  `json:"fromSource,omitempty"`
	ToSource       string  `json:"toSource"`
	// FromAnswered and ToAnswered are the classifier's choices where nothing was,
	// or would be, said of them.
	FromAnswered string `json:"fromAnswered,omitempty"`
	ToAnswered   string `json:"toAnswered,omitempty"`
	// FromRunnerUp was, and ToRunnerUp would be, the likeliest other intent by the
	// local classifier; "" where that is not known.
	FromRunnerUp string `json:"fromRunnerUp,omitempty"`
	ToRunnerUp   string `json:"toRunnerUp,omitempty"`
	// Right is the intent that people said is right; "" for none.
	Right string `json:"right,omitempty"`
}

// compare returns what differs between what was said of a turn and what would be;
// ok is false when nothing does. Ids are compared in any case of letters, as
// catalogues do. A different confidence in the same intent is no difference.
func compare(t *Turn, then, now Answer) (d Difference, ok bool) {
	if strings.EqualFold(then.Intent, now.Intent) {
		return Difference{}, false
	}
	return Difference{
		Session: t.Session, RunID: t.RunID, TS: t.TS, Text: t.Text,
		From: then.Intent, To: now.Intent, FromConfidence: then.Confidence, ToConfidence: now.Confidence,
		FromSource: then.Source, ToSource: now.Source,
		FromAnswered: then.unsaid(), ToAnswered: now.unsaid(), FromRunnerUp: then.RunnerUp, ToRunnerUp: now.RunnerUp, Right: t.right(then),
	}, true
}

// unsaid is the classifier's choice if it was not said.
func (a Answer) unsaid() string {
	if a.Chosen == a.Intent {
		return ""
	}
	return a.Chosen
}

// right is what people said is right of a turn; "" if they did not.
func (t *Turn) right(then Answer) string {
	switch {
	case t.Feedback == nil:
		return ""
	case t.Feedback.Intent != "":
		return t.Feedback.Intent
	case t.Feedback.Verdict == payload.VerdictRight:
		return then.Intent
	}
	return ""
}

// Pair counts the turns of which one intent was said and another would be.
type Pair struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Turns int    `json:"turns"`
}

// pairs counts differences by what was said and would be, the most frequent first.
func pairs(differences []Difference) []Pair {
	counts := map[[2]string]int{}
	for i := range differences {
		counts[[2]string{differences[i].From, differences[i].To}]++
	}
	out := make([]Pair, 0, len(counts))
	for key, n := range counts {
		out = append(out, Pair{From: key[0], To: key[1], Turns: n})
	}
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// Summary counts the outcomes of a replay. Its JSON is that of
// `consumer replay --json` (contract §10).
type Summary struct {
	// Turns are all; Compared and LeftOut add up to it.
	Turns    int     `json:"turns"`
	Compared int     `json:"compared"`
	LeftOut  LeftOut `json:"leftOut"`
	// Changed are the compared turns of which something else would be said. Gained
	// had no intent and would have one, Lost the other way round, and the others
	// would have another one.
	Changed int `json:"changed"`
	Gained  int `json:"gained"`
	Lost    int `json:"lost"`
	// Better and Worse are changed turns of which people said what is right: now
	// that would be said, and now it would not.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	// Pairs are of the changed turns.
	Pairs []Pair `json:"pairs"`
}

// LeftOut counts turns that were not compared, by reason.
type LeftOut struct {
	// Model are those that a language model answered, compared when asked for.
	Model int `json:"model"`
	// Unanswered had no classification, compared when asked for.
	Unanswered int `json:"unanswered"`
	// Altered would be answered otherwise, but their record is not what the
	// classifier read, compared when asked for. See [Turn.Altered].
	Altered int `json:"altered"`
	// Blank have no text.
	Blank int `json:"blank"`
	// Failed could not be classified now.
	Failed int `json:"failed"`
}

// fold counts a changed turn.
func (s *Summary) fold(d *Difference) {
	s.Changed++
	switch {
	case d.From == intents.FallbackID:
		s.Gained++
	case d.To == intents.FallbackID:
		s.Lost++
	}
	switch {
	case d.Right == "":
	case strings.EqualFold(d.Right, d.To):
		s.Better++
	case strings.EqualFold(d.Right, d.From):
		s.Worse++
	}
}
