package workbench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// SessionsTurns is `consumer sessions turns`.
type SessionsTurns struct {
	Intent   string    `placeholder:"ID" help:"Only turns with this intent, whether or not a hint was given."`
	Below    *float64  `placeholder:"P" help:"Only turns with a confidence below P (0-1), and those without an answer."`
	Since    cli.Since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time."`
	Feedback string    `placeholder:"F" help:"Only turns whose latest feedback is right or wrong, or that have any or no feedback."`
	JSONL    bool      `name:"jsonl" help:"Print lines that consumer eval reads."`
}

// Help is the longer text of `consumer sessions turns --help`.
func (SessionsTurns) Help() string {
	return `Prints the turns of all sessions, including those in history files, newest last.

--jsonl prints {"text", "intent", "session", "runId", "confidence", "source", "runnerUp", "runnerUpConfidence", "ts"} and, if present, "history" and "earlier": the message and the conversation as the classifier read them and, if the conversation has no message of the user, the user's last messages of the session. "ts" is in Unix milliseconds. The runner-up is the likeliest other intent by the local classifier. "intent" is OTHER if there was no hint: the fallback was chosen, there was no answer, or its confidence is below HINT_MIN_CONFIDENCE; the classifier's choice is then in "answered". Correct the intents, and measure with consumer eval --data. Turns without text are left out.

Feedback labels a turn: "feedback" is {"verdict", "intent", "by", "at"}, and if it names an intent, that is the line's "intent". If a turn was marked wrong without naming the right intent, --jsonl leaves it out and counts it; --feedback wrong lists such turns, and consumer feedback RUN wrong --intent ID completes them.`
}

// Validate rejects a confidence that no turn can have, and unknown feedback.
func (c *SessionsTurns) Validate() error {
	if !slices.Contains([]string{"", payload.VerdictRight, payload.VerdictWrong, record.FeedbackAny, record.FeedbackNone}, c.Feedback) {
		return fmt.Errorf("--feedback must be one of right, wrong, any and none, not %q", c.Feedback)
	}
	if c.Below != nil && !(*c.Below >= 0 && *c.Below <= 1) {
		return errors.New("--below must be a number from 0 to 1")
	}
	return nil
}

// Run is called by kong.
func (c *SessionsTurns) Run(inv *cli.Invocation) error {
	filter := record.Filter{Intent: c.Intent, Below: c.Below, Since: c.Since.Time, Feedback: c.Feedback}
	if c.JSONL {
		turns, err := turnsToClassify(inv, filter, nil)
		if err != nil {
			return err
		}
		return printTurnLines(inv, turns)
	}
	var turns []record.Turn
	err := eachTurn(inv, func(s store.Summary, turn *store.Turn) {
		if t := record.NewTurn(s, turn, inv.Config.Classifier.MinConfidence); filter.Selects(&t) {
			t.History = nil // not shown
			turns = append(turns, t)
		}
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(turns, func(a, b record.Turn) int { return a.Compare(&b) })
	return printTurns(inv, turns)
}

func printTurnLines(inv *cli.Invocation, turns []record.Turn) error {
	enc := json.NewEncoder(inv.Stdout)
	enc.SetEscapeHTML(false)
	blank, unlabelled := 0, 0
	for _, t := range turns {
		if t.Text == "" {
			blank++
			continue
		}
		if t.Unlabelled() {
			unlabelled++
			continue
		}
		if err := enc.Encode(t); err != nil {
			return err
		}
	}
	if blank > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "left out: %s without text\n", cli.Count(blank, "turn"))
	}
	if unlabelled > 0 {
		_, _ = fmt.Fprintf(inv.Stderr, "left out: %s marked wrong without an intent (consumer feedback RUN wrong --intent ID)\n", cli.Count(unlabelled, "turn"))
	}
	return nil
}

func printTurns(inv *cli.Invocation, turns []record.Turn) error {
	if len(turns) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no such turns in %s\n", cli.StoreName(inv.Config))
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "BEGAN\tSESSION\tRUN\tINTENT\tCONFIDENCE\tRUNNER-UP\tSOURCE\tFEEDBACK\tINPUT")
	for _, t := range turns {
		intent, confidence, second, feedback := t.Intent, "-", "-", "-"
		if t.RunnerUp != "" {
			second = fmt.Sprintf("%s %.2f", text.OneLine(t.RunnerUp, 44), t.RunnerUpConfidence)
		}
		if t.Answered != "" {
			intent += " (" + t.Answered + ")"
		}
		if t.Confidence != nil {
			confidence = fmt.Sprintf("%.2f", *t.Confidence)
		}
		if t.Feedback != nil {
			feedback = Verdict(t.Feedback.Verdict, t.Feedback.Intent)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(t.TS).Local().Format(time.DateTime),
			text.OneLine(t.Session, 44), text.OneLine(t.RunID, 44), text.OneLine(intent, 60), confidence, second, cmp.Or(t.Source, "-"), text.OneLine(feedback, 80), text.OneLine(t.Text, 50))
	}
	return w.Flush()
}

// Verdict shows a verdict and the intent that would have been right.
func Verdict(verdict, intent string) string {
	if intent == "" {
		return verdict
	}
	return verdict + " (" + text.OneLine(intent, 60) + ")"
}
