package workbench

import (
	"encoding/json"
	"fmt"
	"io"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/record"
)

// replayReport is the outcome of a replay and its settings.
type replayReport struct {
	record.Replayed
	// Intents is the directory, "" for the built-in definitions.
	Intents string
	// Model is provider/model, "" for the local classifier.
	Model         string
	MinConfidence float64
}

// ReplaySummary is what --json prints.
type ReplaySummary struct {
	record.Summary
	Intents       string  `json:"intents"`
	Model         string  `json:"model,omitempty"`
	MinConfidence float64 `json:"minConfidence"`
}

func (c *Replay) print(inv *cli.Invocation, r *replayReport) error {
	switch {
	case c.JSON:
		return cli.PrintJSON(inv, ReplaySummary{r.Summary, r.Intents, r.Model, r.MinConfidence})
	case c.JSONL:
		enc := json.NewEncoder(inv.Stdout)
		enc.SetEscapeHTML(false)
		for i := range r.Differences {
			if err := enc.Encode(&r.Differences[i]); err != nil {
				return err
			}
		}
		figures, err := tableOf("replay figures", r)
		if err != nil {
			return err
		}
		_, err = io.WriteString(inv.Stderr, figures)
		return err
	}
	return report(inv.Stdout, "replay.tmpl", r)
}

// ChangedShare returns which share of the compared turns changed, 0–1.
func (r *replayReport) ChangedShare() float64 {
	return float64(r.Changed) / float64(max(r.Compared, 1))
}

// replayAnswer formats an answer with its confidence, and the classifier's
// choice if there was no hint.
func replayAnswer(intent, answered string, confidence float64) string {
	out := fmt.Sprintf("%s %.2f", text.OneLine(intent, shownID), confidence)
	if answered != "" {
		out += " (" + text.OneLine(answered, shownID) + ")"
	}
	return out
}
