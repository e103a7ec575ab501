package payload

import (
	"encoding/json"
	"fmt"
)

// Kinds of a feedback event (contract §11).
const (
	FeedbackTriage   = "triage"   // about a decision of the triage gate
	FeedbackHint     = "hint"     // about a turn's hint
	FeedbackDecision = "decision" // about the answer to a typed question (contract §15)
)

// Verdicts of a feedback event, by kind.
const (
	VerdictRespond = "respond" // triage: the message deserved an answer
	VerdictSkip    = "skip"    // triage: it did not
	VerdictRight   = "right"   // hint: the intent is right
	VerdictWrong   = "wrong"   // hint: it is not
)

// ByConsole is who marks on the pages: they do not know people's names, and only an
// operator sees them.
const ByConsole = "console"

// Feedback is the event of feedback: a person's verdict on a decision (contract
// §11).
type Feedback struct {
	// Kind is one of the Feedback constants.
	Kind string `json:"kind"`
	// MessageID and Group identify the message of [FeedbackTriage]. Group is the
	// session key of the group.
	MessageID string `json:"messageId,omitempty"`
	Group     string `json:"group,omitempty"`
	// RunID names the turn of [FeedbackHint].
	RunID string `json:"runId,omitempty"`
	// ID and Label are the decision of [FeedbackDecision], and the answer that is right.
	ID    string `json:"id,omitempty"`
	Label string `json:"label,omitempty"`
	// Verdict is one of the Verdict constants of the kind; "" for [FeedbackDecision].
	Verdict string `json:"verdict,omitempty"`
	// Intent is the id that would have been right; "" if the person named none.
	Intent string `json:"intent,omitempty"`
	// By is the person; "" if unknown.
	By string `json:"by,omitempty"`
}

// DecodeFeedback decodes the event of feedback. A kind or verdict that is not
// one of the constants, and a missing id that the kind requires, are errors.
func DecodeFeedback(raw json.RawMessage) (e Feedback, err error) {
	err = decodeEvent(raw,
		field{"kind", &e.Kind}, field{"messageId", &e.MessageID}, field{"group", &e.Group}, field{"runId", &e.RunID},
		field{"id", &e.ID}, field{"label", &e.Label}, field{"verdict", &e.Verdict}, field{"intent", &e.Intent}, field{"by", &e.By})
	if err != nil {
		return e, err
	}
	return e, e.validate()
}

func (e Feedback) validate() error {
	switch {
	case e.Kind != FeedbackTriage && e.Kind != FeedbackHint && e.Kind != FeedbackDecision:
		return fmt.Errorf("%w: kind of feedback must be %s, %s or %s, not %q", ErrInvalid, FeedbackTriage, FeedbackHint, FeedbackDecision, e.Kind)
	case e.Kind == FeedbackTriage && e.Verdict != VerdictRespond && e.Verdict != VerdictSkip:
		return fmt.Errorf("%w: verdict of triage feedback must be %s or %s, not %q", ErrInvalid, VerdictRespond, VerdictSkip, e.Verdict)
	case e.Kind == FeedbackHint && e.Verdict != VerdictRight && e.Verdict != VerdictWrong:
		return fmt.Errorf("%w: verdict of hint feedback must be %s or %s, not %q", ErrInvalid, VerdictRight, VerdictWrong, e.Verdict)
	case e.Kind == FeedbackTriage && e.MessageID == "":
		return missing("messageId")
	case e.Kind == FeedbackTriage && e.Group == "":
		return missing("group")
	case e.Kind == FeedbackHint && e.RunID == "":
		return missing("runId")
	case e.Kind == FeedbackDecision && e.ID == "":
		return missing("id")
	case e.Kind == FeedbackDecision && e.Label == "":
		return missing("label")
	}
	return nil
}
