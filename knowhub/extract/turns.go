package extract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/conversation"
	"intenthint/internal/text"
	"intenthint/payload"
)

// Bounds of what a model sees of a conversation. Older turns were read when the
// session's earlier runs ended.
const (
	maxMessages   = 400
	maxTurns      = 30     // of each role
	maxUserChars  = 2_000  // of one text
	maxReplyChars = 4_000  // of one text
	maxTranscript = 40_000 // of all texts, in characters
)

// transcript returns what a model sees of messages, oldest first: user messages
// and final answers, cleaned (contract §5). Whole turns are taken, the newest
// first, as long as there is room. It is empty if there are only greetings, or
// if no answer is an outcome.
func transcript(messages []payload.Message, opts Options) []payload.Turn {
	messages = messages[max(0, len(messages)-maxMessages):]
	window := conversation.Window{
		User:      conversation.Side{Turns: maxTurns, Chars: maxUserChars},
		Assistant: conversation.Side{Turns: maxTurns, Chars: maxReplyChars},
	}
	read := conversation.Redacted
	if opts.Relaxed {
		read = conversation.History
	}
	turns := read(people(messages), conversation.ModeRecent, window)
	// The window may begin with an answer to a message that is not in it.
	for len(turns) > 0 && turns[0].Role != payload.RoleUser {
		turns = turns[1:]
	}
	turns = newest(turns, maxTranscript)
	if !slices.ContainsFunc(turns, func(t payload.Turn) bool { return !isGreeting(t.Text) }) {
		return nil
	}
	// User messages alone may be submitted as notes; runs that all failed are not
	// work.
	isAnswer := func(role string) bool { return role == payload.RoleAssistant }
	if slices.ContainsFunc(messages, func(m payload.Message) bool { return isAnswer(m.Role) }) &&
		!slices.ContainsFunc(turns, func(t payload.Turn) bool { return isAnswer(t.Role) }) {
		return nil
	}
	return turns
}

// newest returns the newest whole turns that fit.
func newest(turns []payload.Turn, room int) []payload.Turn {
	from := len(turns)
	for end := len(turns); end > 0; {
		begin := end - 1
		for begin > 0 && turns[begin].Role != payload.RoleUser {
			begin--
		}
		for _, turn := range turns[begin:end] {
			room -= utf8.RuneCountInString(turn.Text)
		}
		if room < 0 {
			break
		}
		from, end = begin, begin
	}
	return turns[from:]
}

// unfinished are the stop reasons of answers that are not an outcome: a model
// call that failed or was stopped, and text before a tool call.
var unfinished = []string{"error", "aborted", "toolUse"}

// people returns the messages without answers that are not an outcome and without
// what gateways put in front of a person's words, and with gateway texts marked as
// not written by the user. Package conversation leaves those out, with the answers
// to them.
func people(messages []payload.Message) []payload.Message {
	out := make([]payload.Message, 0, len(messages))
	for _, m := range messages {
		switch m.Role {
		case payload.RoleAssistant:
			if slices.Contains(unfinished, m.StopReason) {
				continue
			}
		case payload.RoleUser:
			said := strings.Join(m.Content.Texts(), "\n")
			rest := withoutEvents(said)
			switch {
			case said == "":
			case rest == "", isSystem(conversation.Latest(rest)):
				m.Provenance.Kind = payload.InterSession
			case rest != said:
				m.Content = payload.ContentOf(rest)
			}
		}
		out = append(out, m)
	}
	return out
}

// systemTexts are the beginnings, in lower case, of texts that a gateway sends
// as user messages.
var systemTexts = []string{
	"a new session was started", "continue the current task from the existing transcript", "the previous attempt did not produce",
	"[subagent context]", "[cron:", "<<<begin_openclaw_internal_context>>>", "follow the heartbeat monitor", "read heartbeat.md",
	"system:", "[system", "system event:", "pre-compaction memory flush", "run your session startup", "you are running a boot check",
	"this is an unattended scheduled run", "you are a helpful assistant", "/new ", "/reset ",
}

// systemEvent matches one of the lines that gateways put in front of a person's
// message: what happened since the last one.
var systemEvent = regexp.MustCompile(`(?i)^\s*(?:system(?: \(untrusted\))?:[^\n]*(?:\n|$)\s*)+`)

// withoutEvents returns a text without the lines of that kind at its beginning.
func withoutEvents(s string) string { return s[len(systemEvent.FindString(s)):] }

// isSystem reports whether a message comes from the gateway rather than a person.
func isSystem(words string) bool {
	s := strings.ToLower(text.Cut(words, 100)) + " "
	return slices.ContainsFunc(systemTexts, func(begin string) bool { return strings.HasPrefix(s, begin) })
}

// Turn is a message of a user and what followed it until the next one.
type Turn struct {
	Messages []payload.Message
	// At is when the user's message entered the transcript, in Unix milliseconds by the
	// gateway's clock; 0 if unknown.
	At int64
}

// Turns returns the turns of messages, oldest first. A message that got no answer is a
// turn, too; what comes before the first message of a user belongs to none.
func Turns(messages []payload.Message) []Turn {
	var out []Turn
	for i, m := range messages {
		begins := m.Role == payload.RoleUser && strings.TrimSpace(strings.Join(m.Content.Texts(), "")) != ""
		if begins {
			out = append(out, Turn{messages[i:i], m.Timestamp})
		}
		if n := len(out); n > 0 {
			last := &out[n-1]
			last.Messages = last.Messages[:len(last.Messages)+1]
		}
	}
	return out
}

// Ended returns the messages of the turn with which a run ended: those of the last one
// that has an answer, and what the user wrote after it.
func Ended(turns []Turn) []Turn {
	for i, turn := range slices.Backward(turns) {
		if slices.ContainsFunc(turn.Messages, func(m payload.Message) bool { return m.Role == payload.RoleAssistant }) {
			return turns[i:]
		}
	}
	return turns
}

// Key identifies a turn within a session: what was said in it.
func (t Turn) Key(session string) string {
	h := sha256.New()
	_, _ = io.WriteString(h, session)
	for _, m := range t.Messages {
		if m.Role != payload.RoleUser && m.Role != payload.RoleAssistant {
			continue
		}
		for _, text := range append([]string{m.Role}, m.Content.Texts()...) {
			_, _ = fmt.Fprintf(h, "\x00%d\x00%s", len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
