package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/record"
)

// shownText is how much of a message a row shows, in characters.
const shownText = 200

// row is a turn in a list.
type row struct {
	// ID is unique, and valid as an attribute.
	ID    string
	Began time.Time
	// Token and RunID identify the turn; Session is a name for people.
	Token, RunID, Session string
	// Text is the message on one line.
	Text string
	// Intent is the classifier's intent, "" if there was no answer.
	Intent string
	// Confidence is nil if there was no answer.
	Confidence *float64
	// Unsure means that the confidence was too low for a hint.
	Unsure bool
	Source string
	// Hinted reports whether the turn got a hint; Skip is why not, "" if none was
	// requested.
	Hinted bool
	Skip   string
	// RunnerUp is the likeliest other intent, "" for none.
	RunnerUp           string
	RunnerUpConfidence float64
	Feedback           *record.Feedback
}

func rowOf(e record.Entry, minConfidence float64) row {
	r := row{
		ID: rowID(e.Session.Token, e.RunID), Began: time.UnixMilli(e.TS), Token: e.Session.Token, RunID: e.RunID,
		Session: line(cmp.Or(e.Turn.Session, e.Session.Token)), Text: line(e.Text),
		Confidence: e.Confidence, Source: e.Source, Hinted: e.Hinted, Skip: e.Skip, Feedback: e.Feedback,
		RunnerUp: e.RunnerUp, RunnerUpConfidence: e.RunnerUpConfidence,
	}
	if r.Confidence != nil {
		r.Intent = cmp.Or(e.Answered, e.Intent)
		r.Unsure = *r.Confidence < minConfidence
	}
	return r
}

// line returns the beginning of a text on one line. Invisible characters are
// handled by [visible].
func line(s string) string { return text.Clip(text.Fold(s), shownText) }

// rowID returns the id of a turn on pages.
func rowID(token, run string) string {
	sum := sha256.Sum256([]byte(token + "\n" + run))
	return hex.EncodeToString(sum[:8])
}

// SessionURL returns the page of the turn's session, at the turn.
func (r row) SessionURL() string { return sessionURL(r.Token) + "#e-" + r.ID }

// IntentURL returns the page of the turns with the same intent.
func (r row) IntentURL() string { return turnsPath + "?" + url.Values{"intent": {r.Intent}}.Encode() }

// SkipURL returns the page of the turns without a hint for the same reason.
func (r row) SkipURL() string { return turnsPath + "?" + url.Values{"hint": {r.Skip}}.Encode() }

// Wrong reports whether a person said that the intent is wrong.
func (r row) Wrong() bool { return r.Feedback != nil && r.Feedback.Verdict == payload.VerdictWrong }

// choice is an intent that a person may say is the right one.
type choice struct{ ID, Name string }

// choicesOf returns the intents of a catalogue, the fallback last.
func choicesOf(catalog *intents.Catalog) []choice {
	var out []choice
	for _, i := range catalog.Enabled() {
		out = append(out, choice{i.ID, i.Name})
	}
	return append(out, choice{intents.FallbackID, catalog.Fallback().Name})
}
