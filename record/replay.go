package record

import (
	"cmp"
	"slices"
	"strings"

	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/redact"
)

// Answer is the actual or hypothetical answer to a message.
type Answer struct {
	// Intent is the intent of the hint; [intents.FallbackID] for no hint: the
	// fallback, or too little confidence.
	Intent string
	// Chosen is the classifier's intent, with or without a hint.
	Chosen string
	// Confidence is 0–1, Source one of the payload.Source constants.
	Confidence float64
	Source     string
	// RunnerUp is the likeliest other intent by the local classifier; "" for none.
	RunnerUp string
}

// answerOf returns the answer of a classification. Below minConfidence there is
// no hint.
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

// Then returns the recorded answer of a turn, given HINT_MIN_CONFIDENCE; ok is
// false for a turn without an answer. Feedback does not change it.
func (t *Turn) Then(minConfidence float64) (a Answer, ok bool) {
	if t.Confidence == nil {
		return Answer{}, false
	}
	a = newAnswer(cmp.Or(t.Answered, t.Intent), *t.Confidence, t.Source, minConfidence)
	a.RunnerUp = t.RunnerUp
	return a, true
}

// Altered reports whether the recorded text or conversation is not what the
// classifier read: they were redacted, or the message was cut to fit into an
// event.
func (t *Turn) Altered() bool {
	if strings.HasSuffix(t.Text, conversation.Truncated) || redact.Marked(t.Text) {
		return true
	}
	marked := func(before payload.Turn) bool { return redact.Marked(before.Text) }
	return slices.ContainsFunc(t.History, marked) || slices.ContainsFunc(t.Earlier, marked)
}

// Difference is a turn that would now be answered differently. Its JSON is a
// line of `consumer replay --jsonl` (contract §10).
type Difference struct {
	Session string `json:"session"`
	RunID   string `json:"runId"`
	// TS is when the turn began, in Unix milliseconds.
	TS   int64  `json:"ts"`
	Text string `json:"text"`
	// From is the old and To the new intent, [intents.FallbackID] for no hint.
	From string `json:"from"`
	To   string `json:"to"`
	// FromConfidence and ToConfidence are 0–1.
	FromConfidence float64 `json:"fromConfidence"`
	ToConfidence   float64 `json:"toConfidence"`
	FromSource     string  `json:"fromSource,omitempty"`
	ToSource       string  `json:"toSource"`
	// FromAnswered and ToAnswered are the classifier's choices if there was, or
	// would be, no hint.
	FromAnswered string `json:"fromAnswered,omitempty"`
	ToAnswered   string `json:"toAnswered,omitempty"`
	// FromRunnerUp and ToRunnerUp are the old and the new likeliest other intent
	// by the local classifier; "" if unknown.
	FromRunnerUp string `json:"fromRunnerUp,omitempty"`
	ToRunnerUp   string `json:"toRunnerUp,omitempty"`
	// Right is the right intent according to people; "" if unknown.
	Right string `json:"right,omitempty"`
}

// compare returns the difference between the old and the new answer of a turn;
// ok is false if there is none. Ids are compared ignoring case, as in
// catalogues. A different confidence in the same intent is not a difference.
func compare(t *Turn, then, now Answer) (d Difference, ok bool) {
	if strings.EqualFold(then.Intent, now.Intent) {
		return Difference{}, false
	}
	return Difference{
		Session: t.Session, RunID: t.RunID, TS: t.TS, Text: t.Text,
		From: then.Intent, To: now.Intent, FromConfidence: then.Confidence, ToConfidence: now.Confidence,
		FromSource: then.Source, ToSource: now.Source,
		FromAnswered: then.choiceWithoutHint(), ToAnswered: now.choiceWithoutHint(), FromRunnerUp: then.RunnerUp, ToRunnerUp: now.RunnerUp, Right: t.right(then),
	}, true
}

// choiceWithoutHint returns the classifier's choice if there was no hint.
func (a Answer) choiceWithoutHint() string {
	if a.Chosen == a.Intent {
		return ""
	}
	return a.Chosen
}

// right returns the right intent of a turn according to people; "" if unknown.
func (t *Turn) right(then Answer) string {
	switch {
	case t.Feedback == nil:
		return ""
	case t.Feedback.Named() != "":
		return t.Feedback.Named()
	case t.Feedback.Verdict == payload.VerdictRight:
		return then.Intent
	}
	return ""
}

// Pair counts the turns that change from one intent to another.
type Pair struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Turns int    `json:"turns"`
}

// pairs counts differences by old and new intent, the most frequent first.
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
	// Turns is the total; Compared and LeftOut add up to it.
	Turns    int     `json:"turns"`
	Compared int     `json:"compared"`
	LeftOut  LeftOut `json:"leftOut"`
	// Changed counts the compared turns that would be answered differently. Gained
	// of them had no intent and would have one, Lost the reverse, and the others
	// would have another one.
	Changed int `json:"changed"`
	Gained  int `json:"gained"`
	Lost    int `json:"lost"`
	// Better and Worse count changed turns whose right intent is known from
	// people: now it would be given, or no longer.
	Better int `json:"better"`
	Worse  int `json:"worse"`
	// Pairs are the pairs of the changed turns.
	Pairs []Pair `json:"pairs"`
}

// WithFeedback returns how many changed turns have a right intent by people.
func (s Summary) WithFeedback() int { return s.Better + s.Worse }

// LeftOut counts turns that were not compared, by reason.
type LeftOut struct {
	// Model counts turns that a language model answered; they are compared on
	// request.
	Model int `json:"model"`
	// Unanswered counts turns without a classification; they are compared on
	// request.
	Unanswered int `json:"unanswered"`
	// Altered counts turns that would be answered differently, but whose record is
	// not what the classifier read (see [Turn.Altered]); they are compared on
	// request.
	Altered int `json:"altered"`
	// Blank counts turns without text.
	Blank int `json:"blank"`
	// Failed counts turns that could not be classified now.
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
