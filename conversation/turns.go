package conversation

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/redact"
)

// maxLatestChars bounds the latest message, in characters (contract §5).
const maxLatestChars = 4000

// Truncated is appended to a text that was cut to fit into an event (contract §2).
const Truncated = text.Truncated

// QueryMode is how much history goes to a classifier (HINT_QUERY_MODE).
type QueryMode string

// Query modes of contract §5.
const (
	// ModeMessage sends the latest message alone.
	ModeMessage QueryMode = "message"
	// ModeRecent sends the turns within the [Window].
	ModeRecent QueryMode = "recent"
	// ModeFull sends the whole conversation, untruncated.
	ModeFull QueryMode = "full"
)

// Side bounds the turns of one role.
type Side struct {
	// Turns is how many of the last turns are taken.
	Turns int `json:"turns"`
	// Chars is how many characters of each turn are kept, with the mark of the cut.
	Chars int `json:"chars"`
}

// Window bounds the turns of [ModeRecent] (HINT_CONTEXT_WINDOW).
type Window struct {
	User      Side `json:"user"`
	Assistant Side `json:"assistant"`
}

// Bounds of a window (contract §9), to which package config clamps it.
const (
	MaxUserTurns      = 20
	MaxAssistantTurns = 10
	MinChars          = 40
	MaxChars          = 1000
)

// defaultChars is how many characters of a user's message [DefaultWindow] keeps.
const defaultChars = 500

// DefaultWindow is the window of contract §9.
func DefaultWindow() Window {
	return Window{User: Side{Turns: 5, Chars: defaultChars}, Assistant: Side{Turns: 3, Chars: 300}}
}

// History returns the turns that the mode sends to a classifier, cleaned, paired
// and oldest first (contract §5). The window applies to [ModeRecent] only;
// messages too old for it are not read.
func History(messages []payload.Message, mode QueryMode, window Window) []payload.Turn {
	switch mode {
	case ModeMessage:
		return nil
	case ModeFull:
		return last(messages, math.MaxInt, math.MaxInt)
	default:
		return window.cut(last(messages, window.User.Turns, window.Assistant.Turns))
	}
}

// Said returns what the assistant said last, cut in the middle to as much as the
// latest message may have, if a mode sends it and it is the last turn; else "". An
// offer may stand where the window's cut is (contract §5).
func Said(messages []payload.Message, mode QueryMode, window Window) string {
	if mode == ModeMessage || mode == ModeRecent && window.Assistant.Turns == 0 {
		return ""
	}
	turns := last(messages, 1, 1)
	if n := len(turns) - 1; n >= 0 && turns[n].Role == payload.RoleAssistant {
		return text.Middle(turns[n].Text, maxLatestChars)
	}
	return ""
}

// Earlier returns a user's message, as returned by [Latest], in the form that
// it has in a later conversation under [DefaultWindow].
func Earlier(latest string) string {
	return text.Middle(latest, defaultChars)
}

// EarlierTurns returns how many of the user's earlier messages a classifier
// sees in a mode.
func EarlierTurns(mode QueryMode, window Window) int {
	switch mode {
	case ModeMessage:
		return 0
	case ModeFull:
		return math.MaxInt
	default:
		return window.User.Turns
	}
}

// Redacted is [History] with every text redacted before it is cut, and in mode full as
// long as texts are stored.
func Redacted(messages []payload.Message, mode QueryMode, window Window) []payload.Turn {
	switch mode {
	case ModeMessage:
		return nil
	case ModeFull:
		return StoredTurns(last(messages, math.MaxInt, math.MaxInt), true)
	default:
		turns := last(messages, window.User.Turns, window.Assistant.Turns)
		for i := range turns {
			turns[i].Text = text.Fold(redact.Ends(turns[i].Text, window.chars(turns[i].Role)))
		}
		return window.cut(turns)
	}
}

// Before returns the messages before the latest one. A gateway may also pass
// the latest message as the last of messages: it is not part of the
// conversation (contract §5). Nor are tool results, messages of a gateway's own kinds and
// texts of the assistant that are empty, so it is the last in front of those as well.
func Before(latest string, messages []payload.Message) []payload.Message {
	n := len(messages) - 1
	for n >= 0 && messages[n].Role != payload.RoleUser {
		if messages[n].Role == payload.RoleAssistant && textOf(&messages[n]) != "" {
			return messages
		}
		n--
	}
	if n < 0 {
		return messages
	}
	if text.Middle(textOf(&messages[n]), maxLatestChars) != latest {
		return messages
	}
	return messages[:n]
}

// cut shortens the texts of turns in place.
func (w Window) cut(turns []payload.Turn) []payload.Turn {
	for i := range turns {
		turns[i].Text = text.Middle(turns[i].Text, w.chars(turns[i].Role))
	}
	return turns
}

// chars returns how many characters of a text are kept.
func (w Window) chars(role string) int {
	if role == payload.RoleAssistant {
		return w.Assistant.Chars
	}
	return w.User.Chars
}

// Latest returns a prompt as a classifier sees it: the user's words, cut
// in the middle to [maxLatestChars].
func Latest(prompt string) string { return text.Middle(Read(prompt).Words, maxLatestChars) }

// Beside returns the user's words of a turn if they are not the whole prompt: the
// gateway's word for them, without the frames that it may have itself, else what a
// framed prompt holds; "" if they are (contract §5, §8).
func Beside(e payload.BeforePromptBuild) string {
	if words := Read(e.Message()).Words; words != text.Fold(e.Message()) {
		return words
	}
	return e.Beside()
}

// Context returns the turns that a prompt itself holds besides its words: what
// is quoted or forwarded, and the messages that were queued before the last one.
// They stand between the history and the latest message. Their texts are cut as
// those of the history, once stored has made of them what may be kept; nil keeps
// all.
func Context(prompt string, mode QueryMode, window Window, stored func(string) string) []payload.Turn {
	m := Read(prompt)
	turns := make([]payload.Turn, 0, len(m.Quoted)+len(m.Earlier))
	for i, said := range slices.Concat(m.Quoted, m.Earlier) {
		if stored != nil {
			said = stored(said)
		}
		turns = append(turns, payload.Turn{Role: payload.RoleUser, Text: said, Quoted: i < len(m.Quoted)})
	}
	if mode == ModeFull {
		return turns
	}
	return window.cut(turns)
}

// last returns, oldest first, the last users user turns and the last
// assistants assistant turns. It goes through the messages from the end, so
// that the cost depends on the turns taken, not on the length of the history.
//
// Heartbeats are dropped before turns are paired, so an alert that answers a
// poll becomes the last answer to the message before it. Messages from other
// sessions and those without a text are dropped together with their answers.
func last(messages []payload.Message, users, assistants int) []payload.Turn {
	var (
		out      []payload.Turn // newest first
		answer   string         // the last answer to the user message that comes next
		anyAfter bool           // a user message was found after the present one
	)
	for i := len(messages) - 1; i >= 0 && (users > 0 || assistants > 0); i-- {
		m := &messages[i]
		switch {
		case m.Role == payload.RoleAssistant && answer == "":
			if text := textOf(m); text != heartbeatAnswer {
				answer = text
			}
		case m.Role == payload.RoleUser && (answer != "" || !anyAfter):
			text := textOf(m)
			if isHeartbeatPoll(text) {
				continue
			}
			if text == "" || isInternal(m, text) {
				answer = ""
				continue
			}
			anyAfter = true
			if answer != "" && assistants > 0 {
				assistants--
				out = append(out, payload.Turn{Role: payload.RoleAssistant, Text: answer})
			}
			answer = ""
			if users > 0 {
				users--
				out = append(out, payload.Turn{Role: payload.RoleUser, Text: text})
			}
		}
	}
	slices.Reverse(out)
	return out
}

func textOf(m *payload.Message) string {
	return clean(strings.Join(m.Content.Texts(), "\n"), m.Role)
}

const (
	heartbeatAnswer = "HEARTBEAT_OK"
	heartbeatPoll   = "heartbeat poll"
)

// internalMarks are the prefixes of texts from another session, for gateways
// that do not keep their provenance.
var internalMarks = [...]string{"[Inter-session message]", "[Internal task completion event]"}

// isInternal reports whether a user message with this cleaned text comes from
// another session (contract §5).
func isInternal(m *payload.Message, text string) bool {
	if m.Provenance.Kind == payload.InterSession {
		return true
	}
	for _, mark := range internalMarks {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}

func isHeartbeatPoll(text string) bool {
	for {
		i := strings.IndexAny(text, "hH")
		if i < 0 || len(text)-i < len(heartbeatPoll) {
			return false
		}
		if strings.EqualFold(text[i:i+len(heartbeatPoll)], heartbeatPoll) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		text = text[i+n:]
	}
}
