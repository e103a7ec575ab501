package hint

import (
	"slices"
	"strings"

	"intenthint/payload"
	"intenthint/redact"
)

// redacted returns a turn without personal data and secrets. Its prompt, message and
// conversation are redacted already; conversation and said are what the classifier saw
// of them and beside them, unredacted.
func redacted(turn payload.TurnBegun, conversation, said []payload.Turn) payload.TurnBegun {
	var q redact.Quotes
	left := len(conversation) - len(turn.Conversation) // the oldest, left out
	for i, t := range turn.Conversation {
		if left+i >= 0 {
			q.AddRedacted(conversation[left+i].Text, t.Text)
		}
	}
	for _, t := range said {
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
