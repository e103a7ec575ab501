package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/hint/conversation"
	"intenthint/intents"
	"intenthint/internal/app"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/store"
)

type sessionsTurnsCmd struct {
	Intent   string   `placeholder:"ID" help:"Only turns with this intent, whether or not a hint was given."`
	Below    *float64 `placeholder:"P" help:"Only turns with a confidence below P (0-1), and those without an answer."`
	Since    since    `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time."`
	Feedback string   `enum:",right,wrong,any,none" default:"" placeholder:"F" help:"Only turns whose latest feedback is right or wrong, that have any, or that have none."`
	JSONL    bool     `name:"jsonl" help:"Print lines that consumer eval reads."`
}

// Help is the longer text of `consumer sessions turns --help`.
func (sessionsTurnsCmd) Help() string {
	return `Prints the turns of all sessions, those of the history files too, the newest last.

--jsonl prints {"text", "intent", "session", "runId", "confidence", "source", "ts"} and, where there is one, "history": the message and the conversation as the classifier read them. "ts" is in Unix milliseconds. "intent" is OTHER when nothing was said: the fallback was chosen, there was no answer, or its confidence is below HINT_MIN_CONFIDENCE; the classifier's choice is then in "answered". Correct the intents, and measure with consumer eval --data. Turns without text are left out.

Feedback labels a turn: "feedback" is {"verdict", "intent", "by", "at"}, and where it names an intent that one is the line's "intent". Of a turn that was marked wrong without saying what would have been right, only that is known, so --jsonl leaves it out and counts it; --feedback wrong lists such turns, and consumer feedback RUN wrong --intent ID completes them.`
}

// Validate refuses a confidence that no turn can have.
func (c *sessionsTurnsCmd) Validate() error {
	if c.Below != nil && !(*c.Below >= 0 && *c.Below <= 1) {
		return errors.New("--below must be a number from 0 to 1")
	}
	return nil
}

// since is the beginning of a time range; the zero value is no limit.
type since struct{ time.Time }

// UnmarshalText reads a duration before the present, or a time.
func (s *since) UnmarshalText(raw []byte) error {
	value := string(raw)
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		s.Time = at
		return nil
	}
	ago, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		ago = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || ago <= 0 {
		return fmt.Errorf("%q is neither a duration (24h, 7d) nor an RFC 3339 time", value)
	}
	s.Time = time.Now().Add(-ago)
	return nil
}

// listedTurn is a line of sessions turns --jsonl. Its first fields are those of a
// line that consumer eval reads.
type listedTurn struct {
	Text string `json:"text"`
	// Intent is what a person said would have been right, else what the hint
	// said, [intents.FallbackID] for nothing.
	Intent string `json:"intent"`
	// History is the conversation before the message.
	History []payload.Turn `json:"history,omitempty"`
	Session string         `json:"session"`
	RunID   string         `json:"runId"`
	// Confidence and Source are those of the classification; absent without one.
	Confidence *float64 `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	// Answered is the classifier's intent if it is not Intent.
	Answered string `json:"answered,omitempty"`
	// Feedback is the latest that a person said.
	Feedback *judged `json:"feedback,omitempty"`
	// TS is when the turn began, in Unix milliseconds.
	TS int64 `json:"ts"`

	begin store.Key
}

// judged is the latest feedback on a turn.
type judged struct {
	store.Feedback
	// At is RFC 3339.
	At string `json:"at"`
}

// unlabelled reports whether all that is known of a turn's intent is that it is
// another one.
func (t *listedTurn) unlabelled() bool {
	return t.Feedback != nil && t.Feedback.Verdict == payload.VerdictWrong && t.Feedback.Intent == ""
}

// listTurn returns the line of a turn. Below minConfidence nothing was said.
func listTurn(session string, turn *store.Turn, minConfidence float64) listedTurn {
	out := listedTurn{
		Text: conversation.Latest(turn.Said()), Intent: intents.FallbackID, History: turn.Intent.Input,
		Session: session, RunID: turn.RunID, TS: turn.Begin.TS, begin: turn.Begin,
	}
	if r := turn.Intent.Result; r != nil {
		out.Confidence, out.Source = &r.Confidence, r.Source
		if r.Confidence >= minConfidence {
			out.Intent = r.Intent
		} else if r.Intent != out.Intent {
			out.Answered = r.Intent
		}
	}
	if f := turn.Feedback; f != nil {
		out.Feedback = &judged{f.Feedback, f.At}
		if f.Intent != "" {
			out.Intent, out.Answered = f.Intent, ""
		}
		if r := turn.Intent.Result; r != nil && r.Intent != out.Intent {
			out.Answered = r.Intent
		}
	}
	return out
}

// selects reports whether a turn is to be printed.
func (c *sessionsTurnsCmd) selects(t listedTurn) bool {
	switch {
	case !c.selectsFeedback(t.Feedback):
		return false
	case c.Intent != "" && !strings.EqualFold(c.Intent, t.Intent) && !strings.EqualFold(c.Intent, t.Answered):
		return false
	case c.Below != nil && t.Confidence != nil && *t.Confidence >= *c.Below:
		return false
	case !c.Since.IsZero() && t.TS < c.Since.UnixMilli():
		return false
	}
	return true
}

// selectsFeedback is the part of selects for --feedback.
func (c *sessionsTurnsCmd) selectsFeedback(f *judged) bool {
	switch c.Feedback {
	case "":
		return true
	case "none":
		return f == nil
	case "any":
		return f != nil
	default:
		return f != nil && f.Verdict == c.Feedback
	}
}

func (c *sessionsTurnsCmd) Run(inv *invocation) error {
	sessions, closeStore, err := sessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	list, err := sessions.List(inv.ctx)
	if err != nil {
		return err
	}
	var turns []listedTurn
	bar := newProgress(inv.stderr)
	bar.label = "sessions"
	for i, s := range list {
		bar.show(i, len(list))
		err := eachTurn(inv.ctx, sessions, s.Name(), func(turn *store.Turn) {
			t := listTurn(cmp.Or(s.SessionID, s.SessionKey), turn, inv.cfg.Classifier.MinConfidence)
			if c.selects(t) {
				if !c.JSONL {
					t.History = nil // not shown
				}
				turns = append(turns, t)
			}
		})
		if err != nil {
			bar.clear()
			return err
		}
	}
	bar.clear()
	slices.SortStableFunc(turns, func(a, b listedTurn) int { return a.begin.Compare(b.begin) })
	if c.JSONL {
		return printTurnLines(inv, turns)
	}
	return printTurns(inv, turns)
}

// eachTurn calls yield with every turn of a session. The document is read first:
// a turn that is archived meanwhile is in both, and the document's counts.
func eachTurn(ctx context.Context, sessions store.Reader, name string, yield func(*store.Turn)) error {
	raw, err := sessions.Get(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	var document struct {
		Current json.RawMessage   `json:"current"`
		History []json.RawMessage `json:"history"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return fmt.Errorf("session %s: %w", name, err)
	}
	retired, err := sessions.Retired(ctx, name)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, raw := range slices.Concat([]json.RawMessage{document.Current}, document.History, retired) {
		if len(raw) == 0 {
			continue
		}
		turn, err := store.DecodeTurn(raw)
		if err != nil {
			return fmt.Errorf("session %s: %w", name, err)
		}
		if !seen[turn.RunID] {
			seen[turn.RunID] = true
			yield(turn)
		}
	}
	return nil
}

func printTurnLines(inv *invocation, turns []listedTurn) error {
	enc := json.NewEncoder(inv.stdout)
	enc.SetEscapeHTML(false)
	blank, unlabelled := 0, 0
	for _, t := range turns {
		if t.Text == "" {
			blank++
			continue
		}
		if t.unlabelled() {
			unlabelled++
			continue
		}
		if err := enc.Encode(t); err != nil {
			return err
		}
	}
	if blank > 0 {
		_, _ = fmt.Fprintf(inv.stderr, "left out: %s without text\n", count(blank, "turn"))
	}
	if unlabelled > 0 {
		_, _ = fmt.Fprintf(inv.stderr, "left out: %s marked wrong without an intent (consumer feedback RUN wrong --intent ID)\n", count(unlabelled, "turn"))
	}
	return nil
}

func printTurns(inv *invocation, turns []listedTurn) error {
	if len(turns) == 0 {
		_, err := fmt.Fprintf(inv.stderr, "no such turns in %s\n", app.StoreName(inv.cfg))
		return err
	}
	w := tabwriter.NewWriter(inv.stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "BEGAN\tSESSION\tRUN\tINTENT\tCONFIDENCE\tSOURCE\tFEEDBACK\tINPUT")
	for _, t := range turns {
		intent, confidence, feedback := t.Intent, "-", "-"
		if t.Answered != "" {
			intent += " (" + t.Answered + ")"
		}
		if t.Confidence != nil {
			confidence = fmt.Sprintf("%.2f", *t.Confidence)
		}
		if t.Feedback != nil {
			feedback = verdictOf(t.Feedback.Verdict, t.Feedback.Intent)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(t.TS).Local().Format(time.DateTime),
			text.OneLine(t.Session, 44), text.OneLine(t.RunID, 44), text.OneLine(intent, 60), confidence, cmp.Or(t.Source, "-"), text.OneLine(feedback, 80), text.OneLine(t.Text, 50))
	}
	return w.Flush()
}
