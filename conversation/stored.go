package conversation

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/redact"
)

// MaxStored bounds a text of a turn as it is stored, in characters: a prompt, a
// message, a text of the conversation, a result (contract §8). Documents hold hundreds
// of turns, and what classifiers read of a text is shorter.
const MaxStored = 32_000

// Stored returns a text of a turn as it is stored: all of it, or its head and its tail,
// with a note of its length between them. With strict it is redacted, before it is cut;
// of a text of megabytes only the ends are read for that. It is idempotent.
func Stored(s string, strict bool) string {
	if len(s) <= MaxStored || utf8.RuneCountInString(s) <= MaxStored {
		if strict {
			return redact.Text(s)
		}
		return s
	}
	note := fmt.Sprintf("… (truncated..., %d characters) …", utf8.RuneCountInString(s))
	half := (MaxStored - utf8.RuneCountInString(note)) / 2
	if strict {
		s = redact.Ends(s, half)
	}
	tail := len(s)
	for range min(half, len(s)) {
		_, size := utf8.DecodeLastRuneInString(s[:tail])
		tail -= size
	}
	head := text.Cut(s, half)
	if len(head) >= tail { // marks are shorter than what they stand for
		return s
	}
	return head + note + s[tail:]
}

// maxStoredTurns bounds the texts of a conversation as it is stored, in characters: some
// long messages, and any number of usual ones.
const maxStoredTurns = 8 * MaxStored

// StoredTurns returns turns as they are stored, see [Stored]. Of very long
// conversations the oldest turns are left out.
func StoredTurns(turns []payload.Turn, strict bool) []payload.Turn {
	out := slices.Clone(turns)
	room := maxStoredTurns
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Text = Stored(out[i].Text, strict); utf8.RuneCountInString(out[i].Text) > room {
			return out[i+1:]
		}
		room -= utf8.RuneCountInString(out[i].Text)
	}
	return out
}
