package record

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/store"
)

const (
	// LessonConfidence is the least confidence of a model's answer that is learnt
	// from. It equals the default of HINT_LOCAL_ACCEPT, from which an answer is
	// used without asking further.
	LessonConfidence = 0.9
	// MaxLessons is how many lessons of one intent are learnt at a time. The
	// built-in intents have 200 to 700 examples each, so learnt examples do not
	// outweigh written ones.
	MaxLessons = 50
)

// Lesson is a message whose intent is known: from a person, or from a confident
// model. The text is redacted and on one line.
type Lesson struct {
	RunID   string `json:"runId"`
	Session string `json:"session"`
	// Chat identifies the chat of the session, which several sessions may have in turn:
	// a hash of the session key; "" if unknown.
	Chat   string `json:"chat,omitempty"`
	Text   string `json:"text"`
	Intent string `json:"intent"`
	// Source is [LessonFeedback] or [LessonModel].
	Source string `json:"source"`
	// By is the person, or the model as provider/model; "" if unknown.
	By string `json:"by,omitempty"`
	// At is the time of the feedback, or of the turn's beginning, in Unix
	// milliseconds, and ID that of the event.
	At int64  `json:"at"`
	ID string `json:"id,omitempty"`
}

// Values of [Lesson.Source].
const (
	LessonFeedback = "feedback"
	LessonModel    = payload.SourceLLM
)

// FromPerson reports whether the lesson comes from a person.
func (l *Lesson) FromPerson() bool { return l.Source == LessonFeedback }

// Compare orders lessons of one run, or of one text, by precedence: a person's
// first, then the newer one.
func (l *Lesson) Compare(other *Lesson) int {
	rank := func(l *Lesson) int {
		if l.FromPerson() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(l), rank(other)), cmp.Compare(l.At, other.At), cmp.Compare(l.ID, other.ID), cmp.Compare(l.RunID, other.RunID))
}

// Unfit is why a turn is not a [Lesson].
type Unfit string

// Reasons, in the order in which they are checked.
const (
	// Unjudged means that there is no feedback, and no model was sure.
	Unjudged Unfit = "unjudged"
	// Unnamed means that it was marked wrong, but nobody named the right intent.
	Unnamed Unfit = "unnamed"
	// WithoutHint means that it was marked right, but had no hint.
	WithoutHint Unfit = "unsaid"
	// Dependent means that the message cannot be understood without those before
	// it.
	Dependent Unfit = "dependent"
	// Long means that the message is longer than [intents.MaxExample].
	Long Unfit = "long"
	// Blank means that the message has no words.
	Blank Unfit = "blank"
	// Suspicious means that the message looks like a prompt injection. [LessonOf] does
	// not check that.
	Suspicious Unfit = "injection"
)

// LessonOf returns the lesson of a turn of a session, or why there is none. The
// turn had a hint if its confidence is at least minConfidence. A model's answer
// that no intent fits is not learnt: it says nothing about other messages.
func LessonOf(session string, turn *store.Turn, minConfidence float64) (Lesson, Unfit) {
	l, unfit := labelOf(turn, minConfidence)
	if unfit != "" {
		return Lesson{}, unfit
	}
	message := conversation.Latest(turn.UserMessage())
	switch {
	case local.Normalize(message) == "":
		return Lesson{}, Blank
	case utf8.RuneCountInString(message) > intents.MaxExample:
		return Lesson{}, Long
	case (len(turn.Intent.Input) > 0 || turn.Intent.Earlier > 0) && local.Dependent(message):
		return Lesson{}, Dependent
	}
	l.RunID, l.Session = turn.RunID, session
	// Redaction marks may be longer than the text they replace.
	if l.Text = text.OneLine(redact.Text(message), 2*intents.MaxExample); utf8.RuneCountInString(l.Text) > intents.MaxExample {
		return Lesson{}, Long
	}
	return l, ""
}

// labelOf returns the intent of a turn, and who named it.
func labelOf(turn *store.Turn, minConfidence float64) (Lesson, Unfit) {
	result := turn.Intent.Result
	if f := turn.Feedback; f != nil {
		l := Lesson{Intent: f.Named(), Source: LessonFeedback, By: f.By, At: f.TS, ID: f.ID}
		switch {
		case l.Intent != "":
			return l, ""
		case f.Verdict == payload.VerdictWrong:
			return Lesson{}, Unnamed
		case result == nil || result.Confidence < minConfidence:
			return Lesson{}, WithoutHint
		}
		l.Intent = result.Intent
		return l, ""
	}
	if result == nil || !payload.OfModel(result.Source) || result.Confidence < LessonConfidence || result.Intent == intents.FallbackID {
		return Lesson{}, Unjudged
	}
	return Lesson{Intent: result.Intent, Source: LessonModel, By: result.Model, At: turn.Begin.TS, ID: turn.Begin.ID}, ""
}

// BestFirst sorts lessons by precedence.
func BestFirst(lessons []Lesson) {
	slices.SortFunc(lessons, func(a, b Lesson) int { return b.Compare(&a) })
}
