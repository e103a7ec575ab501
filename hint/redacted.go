package hint

import (
	"slices"
	"strings"

	"intenthint/payload"
	"intenthint/redact"
)

// redacted returns a turn without personal data and secrets. Its conversation is
// redacted already; conversation and earlier are what the classifier saw,
// unredacted.
func redacted(turn payload.TurnBegun, conversation, earlier []payload.Turn) payload.TurnBegun {
	var q redact.Quotes
	turn.Prompt, turn.Message = q.Add(turn.Prompt), q.Add(turn.Message)
	for i, t := range conversation {
		if i < len(turn.Conversation) {
			q.AddRedacted(t.Text, turn.Conversation[i].Text)
		}
	}
	for _, t := range earlier {
		q.Add(t.Text)
	}
	turn.Hint = redactedHint(&q, turn.Hint)
	if turn.Result != nil {
		c := *turn.Result // the run's answer stays as it is
		c.Reason, c.Goal, c.Suggestion = q.Text(c.Reason), q.Text(c.Goal), q.Text(c.Suggestion)
		turn.Result = &c
	}
	turn.Skills = slices.Clone(turn.Skills)
	for i := range turn.Skills {
		s := &turn.Skills[i]
		s.Name, s.Path = redact.Text(s.Name), redact.Text(s.Path)
	}
	return turn
}

// redactedHint redacts a hint. Only the lines that depend on the message quote it.
func redactedHint(q *redact.Quotes, hint string) string {
	lines := strings.SplitAfter(redact.Text(hint), "\n")
	for i, line := range lines {
		if name, _, _ := strings.Cut(line, ": "); name == "reason" || name == "goal" || name == "suggestion" {
			lines[i] = q.Text(line)
		}
	}
	return strings.Join(lines, "")
}
