package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/payload"
	"intenthint/store"
)

// Each calls yield with every turn of a session, including those that left its
// document, in no particular order. Each run comes once. An unknown session has
// no turns.
func Each(ctx context.Context, sessions store.Reader, session string, yield func(*store.Turn)) error {
	return descend(ctx, sessions, session, func(store.Key) bool { return true }, yield)
}

// descend is [Each], but reads the turns that left the document only if wants
// returns true for the beginning of the oldest turn still in it: they began
// before that.
func descend(ctx context.Context, sessions store.Reader, session string, wants func(older store.Key) bool, yield func(*store.Turn)) error {
	// The document is read first: a turn that is archived meanwhile is in both, and
	// the one in the document counts.
	raw, err := sessions.Get(ctx, session)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var document struct {
		Current json.RawMessage   `json:"current"`
		History []json.RawMessage `json:"history"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return fmt.Errorf("session %s: %w", session, err)
	}
	seen := map[string]bool{}
	var oldest *store.Key
	decode := func(all []json.RawMessage) error {
		for _, raw := range all {
			if len(raw) == 0 {
				continue
			}
			turn, err := store.DecodeTurn(raw)
			if err != nil {
				return fmt.Errorf("session %s: %w", session, err)
			}
			if oldest == nil || turn.Begin.Before(*oldest) {
				oldest = &turn.Begin
			}
			if !seen[turn.RunID] {
				seen[turn.RunID] = true
				yield(turn)
			}
		}
		return nil
	}
	if err := decode(append([]json.RawMessage{document.Current}, document.History...)); err != nil {
		return err
	}
	if oldest != nil && !wants(*oldest) {
		return nil
	}
	retired, err := sessions.Retired(ctx, session)
	if err != nil {
		return err
	}
	return decode(retired)
}

// Find returns the name of the session with this id, key or token. A key may have
// had several sessions: the one that changed last counts. If no session is
// found or it cannot be read, the name is returned for the caller to handle.
func Find(ctx context.Context, sessions store.Reader, id string) (string, error) {
	if _, err := sessions.Get(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return id, nil
	}
	list, err := sessions.List(ctx)
	if i := slices.IndexFunc(list, func(s store.Summary) bool { return s.SessionKey == id }); i >= 0 {
		return list[i].Name(), nil
	}
	return id, err
}

// All calls yield with every turn of every session, the most recently changed
// session first. progress, if not nil, receives the number of sessions read.
func All(ctx context.Context, sessions store.Reader, progress func(done, of int), yield func(store.Summary, *store.Turn)) error {
	list, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	for i, s := range list {
		if progress != nil {
			progress(i, len(list))
		}
		if err := Each(ctx, sessions, s.Name(), func(t *store.Turn) { yield(s, t) }); err != nil {
			return err
		}
	}
	return nil
}

// Turn is a turn in a list. In JSON, its first fields are those of a line that
// `consumer eval` reads.
type Turn struct {
	Text string `json:"text"`
	// Intent is the intent that a person said would have been right, else the
	// intent of the hint; [intents.FallbackID] for no hint.
	Intent string `json:"intent"`
	// History is the conversation before the message.
	History []payload.Turn `json:"history,omitempty"`
	// Earlier are the session's messages that the classifier was given in addition
	// to History. They are set by [Recall].
	Earlier []payload.Turn `json:"earlier,omitempty"`
	Session string         `json:"session"`
	RunID   string         `json:"runId"`
	// Agent is the agent that was asked.
	Agent string `json:"-"`
	// Confidence and Source are those of the classification; absent without one.
	Confidence *float64 `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	// RunnerUp is the likeliest other intent by the local classifier, with its
	// probability (0–1); "" for none.
	RunnerUp           string  `json:"runnerUp,omitempty"`
	RunnerUpConfidence float64 `json:"runnerUpConfidence,omitempty"`
	// Answered is the classifier's intent if it is not Intent.
	Answered string `json:"answered,omitempty"`
	// Hinted reports whether the turn got a hint. Skip is why it got none (Hint-Skip);
	// "" if it got one, or if none was requested.
	Hinted bool   `json:"-"`
	Skip   string `json:"-"`
	// Feedback is the latest feedback of a person.
	Feedback *Feedback `json:"feedback,omitempty"`
	// TS is when the turn began, in Unix milliseconds.
	TS int64 `json:"ts"`

	begin store.Key
	// earlier is the number of Earlier. asked reports whether the system was asked
	// for a hint: otherwise no process knew of the turn.
	earlier int
	asked   bool
	paste   *conversation.Paste
}

// Feedback is the latest feedback on a turn.
type Feedback struct {
	store.Feedback
	// At is RFC 3339.
	At string `json:"at"`
}

// Unlabelled reports whether all that is known about a turn's intent is that it
// was wrong.
func (t *Turn) Unlabelled() bool {
	return t.Feedback != nil && t.Feedback.Verdict == payload.VerdictWrong && t.Feedback.Named() == ""
}

// Compare orders turns by their beginning.
func (t *Turn) Compare(other *Turn) int { return t.begin.Compare(other.begin) }

// NewTurn returns the list form of a turn of a session. Below minConfidence no
// hint was given.
func NewTurn(session store.Summary, turn *store.Turn, minConfidence float64) Turn {
	out := Turn{
		Text: conversation.Latest(turn.UserMessage()), Intent: intents.FallbackID, History: turn.Intent.Input,
		Session: cmp.Or(session.SessionID, session.SessionKey), RunID: turn.RunID, TS: turn.Begin.TS, begin: turn.Begin,
		paste: conversation.Pasted(turn.UserMessage()), earlier: turn.Intent.Earlier, asked: turn.Intent.Result != nil || turn.Intent.Skip != "",
		Agent: payload.Context{AgentID: session.AgentID, SessionKey: session.SessionKey}.Agent(), Skip: turn.Intent.Skip,
	}
	if r := turn.Intent.Result; r != nil {
		out.Confidence, out.Source = &r.Confidence, r.Source
		out.RunnerUp, out.RunnerUpConfidence = r.RunnerUp, r.RunnerUpConfidence
		if r.Confidence >= minConfidence {
			out.Intent = r.Intent
		} else if r.Intent != out.Intent {
			out.Answered = r.Intent
		}
		if r.Confidence < minConfidence {
			out.Skip = cmp.Or(out.Skip, skipUnsure) // of before the field existed
		}
		out.Hinted = out.Skip == ""
	}
	if f := turn.Feedback; f != nil {
		out.Feedback = &Feedback{f.Feedback, f.At}
		if named := f.Named(); named != "" {
			out.Intent, out.Answered = named, ""
		}
		if r := turn.Intent.Result; r != nil && r.Intent != out.Intent {
			out.Answered = r.Intent
		}
	}
	return out
}

// Recall sets [Turn.Earlier]: what the classifier was given of the turns
// before. turns must be all turns of their sessions, oldest first.
func Recall(turns []Turn) {
	said := map[string][]payload.Turn{}
	for i := range turns {
		t := &turns[i]
		before := said[t.Session]
		if t.earlier > 0 {
			t.Earlier = slices.Clip(before[max(0, len(before)-t.earlier):])
		}
		if t.asked && t.Text != "" {
			said[t.Session] = append(before, payload.Turn{Role: payload.RoleUser, Text: conversation.Earlier(t.Text)})
		}
	}
}

// Values of [Filter.Hint] other than a reason.
const (
	HintGiven = "yes"
	HintNone  = "no"
)

// Skips are the reasons that turns without a hint are recorded with (contract §3,
// Hint-Skip).
var Skips = []string{skipUnchanged, skipHoldout, skipUnsure, "classify_failed", "deadline", "overloaded", store.SkipLate}

// skipUnsure is the Hint-Skip of a turn whose confidence was too low for a hint.
const skipUnsure = "low_confidence"

// Values of [Filter.Feedback] other than a verdict.
const (
	FeedbackAny  = "any"
	FeedbackNone = "none"
)

// Filter selects turns. The zero value selects all.
type Filter struct {
	// Intent is an id, of the hint or of the classifier's choice.
	Intent string
	// Below selects turns with a lower confidence, and those without an answer.
	Below *float64
	// Since is the earliest beginning.
	Since time.Time
	// Feedback is a verdict, [FeedbackAny] or [FeedbackNone].
	Feedback string
	// Hint is [HintGiven], [HintNone], or why there was no hint (contract §3, Hint-Skip).
	Hint string
	// Source is the source of the classification (contract §3, Hint-Source).
	Source string
	// Session is a session id, key or token. Only [Recent] uses it.
	Session string
}

func (f *Filter) selectsSession(s store.Summary) bool {
	return f.Session == "" || f.Session == s.SessionID || f.Session == s.SessionKey || f.Session == s.Token
}

// Selects reports whether the filter selects a turn.
func (f *Filter) Selects(t *Turn) bool {
	switch {
	case !f.selectsFeedback(t.Feedback) || !f.selectsHint(t):
		return false
	case f.Intent != "" && !strings.EqualFold(f.Intent, t.Intent) && !strings.EqualFold(f.Intent, t.Answered):
		return false
	case f.Below != nil && t.Confidence != nil && *t.Confidence >= *f.Below:
		return false
	case f.Source != "" && f.Source != t.Source:
		return false
	case !f.Since.IsZero() && t.TS < f.Since.UnixMilli():
		return false
	}
	return true
}

// selectsHint is the part of Selects for Hint.
func (f *Filter) selectsHint(t *Turn) bool {
	switch f.Hint {
	case "":
		return true
	case HintGiven, HintNone:
		return t.Hinted == (f.Hint == HintGiven)
	default:
		return t.Skip == f.Hint
	}
}

// selectsFeedback is the part of Selects for Feedback.
func (f *Filter) selectsFeedback(said *Feedback) bool {
	switch f.Feedback {
	case "":
		return true
	case FeedbackNone:
		return said == nil
	case FeedbackAny:
		return said != nil
	default:
		return said != nil && said.Verdict == f.Feedback
	}
}
