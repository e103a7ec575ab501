package triage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"intenthint/conversation"
	"intenthint/internal/glob"
	"intenthint/internal/text"
	"intenthint/internal/text/fold"
	"intenthint/model"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/triage/state"
)

// Reason is why a message was answered or skipped; it is the value of
// Triage-Reason.
type Reason string

// Reasons, in the order in which they are checked.
const (
	Direct    Reason = "direct"     // not a group
	Excluded  Reason = "excluded"   // one of ExcludeGroups
	NotListed Reason = "not_listed" // not one of Groups
	TooShort  Reason = "too_short"  // fewer than two characters
	BotName   Reason = "bot_name"   // contains the name of the agent
	Keyword   Reason = "keyword"    // contains one of Keywords
	Quiet     Reason = "quiet"      // the group has few messages
	ByLocal   Reason = "local"      // the trained gate was sure
	ByModel   Reason = "model"      // the model, or no model was left to ask

	// Failed means that something went wrong.
	Failed Reason = "error"
)

var reasons = []Reason{Direct, Excluded, NotListed, TooShort, BotName, Keyword, Quiet, ByLocal, ByModel, Failed}

// Settings determine the gate's decisions (HINT_TRIAGE). They are immutable: a
// change of the configuration makes new settings, and a message is decided
// under the same settings from beginning to end.
type Settings struct {
	Enabled bool
	// Model is provider/model; "" means HINT_MODEL.
	Model string
	// Prompt replaces the built-in system prompt; GroupPrompts replaces it for
	// single groups, by id.
	Prompt       string
	GroupPrompts map[string]string
	// Groups are globs of the groups that the gate applies to, none for all;
	// ExcludeGroups takes precedence.
	Groups, ExcludeGroups []string
	// BotName replaces the agent's own names (see [Message.Names]). Keywords are
	// matched ignoring case, anywhere in the text.
	BotName  string
	Keywords []string
	// Scores asks the model for a score of 1–10; Threshold is the least score at
	// which a message is answered.
	Scores    bool
	Threshold int
	// History is how many earlier messages the model sees.
	History int
	Quiet   QuietGroups
	// Examples is how many marked messages the model sees.
	Examples int
	// Recall is how many skipped messages the next turn is told.
	Recall int
	// Trained makes the trained gate decide where it is sure.
	Trained bool
	// MaxTokens bounds the model's answer.
	MaxTokens int
	// Timeout is how long a gateway waits for a decision.
	Timeout time.Duration
	// LogDecisions logs each decision, without its text.
	LogDecisions bool

	// What follows is set by [Make].

	// Asked is the triage model, asked within Limit; empty without one.
	Asked part.Asked
	Limit *model.Limit
	// Local is the trained gate, nil for none.
	Local Local
	// Redact redacts stored texts with package redact (HINT_REDACT).
	Redact bool
}

// Declared are the fields of HINT_TRIAGE (contract §11).
var Declared = part.Declare("triage", "decides which group messages get an answer",
	part.Set("enabled", func(s *Settings) *bool { return &s.Enabled }, false, part.Flag, "Switches the gate on.").AtStart().Showing(false),
	part.Set("triageModel", func(s *Settings) *string { return &s.Model }, "", part.Model, "Model, as provider/model; empty: model. A model that answers typed questions gets one instead of a prompt."),
	part.Set("triagePrompt", func(s *Settings) *string { return &s.Prompt }, "", part.Text, "System prompt."),
	part.Set("groupPrompts", func(s *Settings) *map[string]string { return &s.GroupPrompts }, nil, part.TextsOf("group"), "System prompts by group id."),
	part.Set("groups", func(s *Settings) *[]string { return &s.Groups }, nil, part.Texts, "Groups that the gate is for, as globs of group ids; empty: all. The plugin asks about no others."),
	part.Set("excludeGroups", func(s *Settings) *[]string { return &s.ExcludeGroups }, nil, part.Texts, "Groups that the gate is not for."),
	part.Set("botName", func(s *Settings) *string { return &s.BotName }, "", part.Text, "Name of the agent; a message that holds it always gets an answer. Empty: the names that the gateway knows."),
	part.Set("bypassKeywords", func(s *Settings) *[]string { return &s.Keywords }, nil, part.Texts, "Texts that always get an answer."),
	part.Set("useConfidenceScores", func(s *Settings) *bool { return &s.Scores }, false, part.Flag, "The model answers with 1 to 10 instead of RESPOND or SKIP."),
	part.Set("confidenceThreshold", func(s *Settings) *int { return &s.Threshold }, 5, part.Whole(1, 10), "From this score on a message gets an answer."),
	part.Set("historyCount", func(s *Settings) *int { return &s.History }, 0, part.Whole(0, 20), "Earlier messages of the group that the model sees."),
	part.Set("quiet", func(s *Settings) *QuietGroups { return &s.Quiet }, QuietGroups{Per: time.Hour}, quietGroups, "In a group with fewer messages than this in that time the model is not asked, and every message gets an answer."),
	part.Set("examples", func(s *Settings) *int { return &s.Examples }, 6, part.Whole(0, 20), "Marked messages that the model sees as examples."),
	part.Set("recallSkipped", func(s *Settings) *int { return &s.Recall }, 10, part.Whole(0, 50), "Skipped messages that the next answered turn is told."),
	part.Set("local", func(s *Settings) *bool { return &s.Trained }, false, part.Flag, "The trained gate answers what it is sure of, the model the rest."),
	part.Set("maxTriageTokens", func(s *Settings) *int { return &s.MaxTokens }, 10, part.Whole(1, math.MaxInt32), "Longest answer of the model, in tokens."),
	part.Set("timeoutMs", func(s *Settings) *time.Duration { return &s.Timeout }, 5*time.Second, part.Milliseconds(1, math.MaxInt32), "Time for an answer; a late one responds.").
		Showing(5000),
	part.Set("logDecisions", func(s *Settings) *bool { return &s.LogDecisions }, true, part.Flag, "Logs each decision."),
)

// QuietGroups are those with fewer than Messages messages in the given time: there the
// model is not asked. 0 messages means none.
type QuietGroups struct {
	Messages int
	Per      time.Duration
}

var quietGroups = part.Rule[QuietGroups]{
	Allowed: `{"messages": 0 or more, "per": "1h"} with a time of at most an hour`,
	Parse: func(value any) (q QuietGroups, ok bool) {
		fields, ok := value.(map[string]any)
		q.Per = time.Hour
		for name, v := range fields {
			if v == nil {
				continue
			}
			switch name {
			case "messages":
				var whole bool
				q.Messages, whole = quietMessages.Parse(v)
				ok = ok && whole
			case "per":
				text, _ := v.(string)
				d, err := part.ParseDuration(text)
				q.Per, ok = d, ok && err == nil && d > 0 && d <= maxQuiet
			default:
				ok = false
			}
		}
		return q, ok
	},
	Show: func(q QuietGroups) any {
		return struct {
			Messages int    `json:"messages"`
			Per      string `json:"per"`
		}{q.Messages, q.Per.String()}
	},
}

// maxQuiet is how long the messages of a group are remembered (contract §11).
const maxQuiet = time.Hour

var quietMessages = part.Whole(0, math.MaxInt32)

// Message is one message that the gate decides about.
type Message struct {
	// Group is the session key.
	Group  string
	ID     string
	Agent  string
	Sender string
	Text   string
	// Names are what the agent is called: its own name first, then names on the
	// channel, patterns and ids of mentions (contract §11).
	Names []string
	// Mentioned reports whether the channel says that the message mentions the agent.
	Mentioned bool
	// Bracketed is what stands in brackets at the beginning of the message, without
	// them: a channel's label, or a name ("[Max] come here").
	Bracketed string
	// ReplyTo and ReplyToSender are the id and the sender of the message that this one
	// replies to, "" for none.
	ReplyTo, ReplyToSender string
	// IsGroup is nil if the gateway does not send it.
	IsGroup *bool
	// At is when the message was sent, or received, if the gateway does not send
	// the time.
	At time.Time
}

// NewMessage returns the message of a request that was received at the given
// time. id is its id if the gateway sends none.
func NewMessage(e payload.BeforeDispatch, ctx payload.Context, id string, received time.Time) Message {
	m := Message{
		Group: cmp.Or(e.SessionKey, ctx.SessionKey), ID: cmp.Or(e.MessageID, id), Sender: e.SenderID, Text: words(e.Text), Bracketed: bracketed(e.Text),
		Names: e.AgentNames, Mentioned: e.WasMentioned, ReplyTo: e.ReplyToID, ReplyToSender: e.ReplyToSender,
		IsGroup: e.IsGroup, At: received,
	}
	ctx.SessionKey = m.Group
	m.Agent = ctx.Agent()
	if e.Timestamp > 0 {
		m.At = time.UnixMilli(e.Timestamp)
	}
	return m
}

// bracketed returns the text in brackets at the beginning of a message, "" without one.
func bracketed(content string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(content), "[")
	inside, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return ""
	}
	return strings.TrimSpace(inside)
}

// words returns the person's words of a message, with its lines. A message of
// frames alone, such as a picture, keeps its text.
func words(content string) string {
	if m := conversation.Read(content); m.Words != "" && m.Words != text.Fold(content) {
		return m.Words
	}
	return content
}

// isGroup reports whether a message belongs to a group. If the gateway does not
// say, the session key decides. A group without an id cannot be distinguished
// from others and does not count as a group.
func (m Message) isGroup() bool {
	if m.Group == "" {
		return false
	}
	if m.IsGroup != nil {
		return *m.IsGroup
	}
	key := strings.ToLower(m.Group)
	return strings.Contains(key, ":group:") || strings.Contains(key, ":channel:")
}

// Verdict is the decision about a message, and the reason.
type Verdict struct {
	Skip   bool
	Reason Reason
	// Score is 1–10 if the model was asked for one, else 0.
	Score int
}

// Word returns the value of Triage-Decision.
func (v Verdict) Word() string {
	if v.Skip {
		return state.Skip
	}
	return state.Respond
}

// Outside returns the verdict about a message that the gate does not apply to;
// ok is false if the gate applies.
func (s *Settings) Outside(m Message) (v Verdict, ok bool) {
	switch {
	case !m.isGroup():
		return Verdict{Reason: Direct}, true
	case lists(s.ExcludeGroups, m.Group):
		return Verdict{Reason: Excluded}, true
	case len(s.Groups) > 0 && !lists(s.Groups, m.Group):
		return Verdict{Reason: NotListed}, true
	}
	return Verdict{}, false
}

// lists reports whether one of the globs names a group, or the chat whose topic or
// thread it is (contract §4.7).
func lists(globs []string, group string) bool {
	return slices.ContainsFunc(payload.Chats(group), func(chat string) bool { return glob.MatchAny(globs, chat) })
}

// ByText returns the verdict of the rules about the text of a message; ok is false
// if no rule applies.
func (s *Settings) ByText(m Message) (v Verdict, ok bool) {
	if tooShort(m.Text) {
		return Verdict{Skip: true, Reason: TooShort}, true
	}
	folded := fold.Case(m.Text)
	holds := func(word string) bool {
		word = fold.Case(strings.TrimSpace(word))
		return word != "" && strings.Contains(folded, word)
	}
	switch {
	case m.Mentioned, s.calls(m, m.Text), s.isName(m, m.Bracketed), m.ReplyToSender != "" && s.calls(m, m.ReplyToSender):
		return Verdict{Reason: BotName}, true
	case slices.ContainsFunc(s.Keywords, holds):
		return Verdict{Reason: Keyword}, true
	}
	return Verdict{}, false
}

// byReply returns the verdict about a reply to one of the agent's own messages, as far
// as they are kept; ok is false for any other message.
func byReply(m Message, before []state.RecentMessage) (v Verdict, ok bool) {
	own := func(said state.RecentMessage) bool { return said.Bot && said.ID == m.ReplyTo }
	return Verdict{Reason: BotName}, m.ReplyTo != "" && slices.ContainsFunc(before, own)
}

// names returns what the agent is called: BotName, else what the gateway sends.
func (s *Settings) names(m Message) []string {
	if own := strings.TrimSpace(s.BotName); own != "" {
		return []string{own}
	}
	return m.Names
}

// isName reports whether a text is a name of the agent and nothing else.
func (s *Settings) isName(m Message, text string) bool {
	bare := func(name string) string { return fold.Case(strings.TrimLeft(strings.TrimSpace(name), "@")) }
	return bare(text) != "" && slices.ContainsFunc(s.names(m), func(name string) bool { return bare(name) == bare(text) })
}

// calls reports whether a text names the agent.
func (s *Settings) calls(m Message, text string) bool {
	names := s.names(m)
	return len(names) > 0 && called(text, names)
}

// ByRate returns the verdict about a message in a quiet group, by the messages
// before it; ok is false in another group.
func (s *Settings) ByRate(m Message, before []state.RecentMessage) (v Verdict, ok bool) {
	if s.Quiet.Messages == 0 {
		return Verdict{}, false
	}
	from, n := m.At.Add(-s.Quiet.Per).UnixMilli(), 0
	for _, said := range before {
		// A message with a later time than this one was sent before a clock was set
		// back.
		if !said.Bot && said.At > from {
			n++
		}
	}
	return Verdict{Reason: Quiet}, n < min(s.Quiet.Messages, state.MaxPeople)
}

// keep returns how much of a group must be stored.
func (s *Settings) keep() state.Keep {
	k := state.Keep{Texts: s.History, People: s.Quiet.Messages}
	if s.Local != nil {
		k.Texts = state.MaxTexts
	}
	return k
}

// tooShort reports whether a text has fewer than two non-blank characters.
func tooShort(s string) bool {
	n := 0
	for _, r := range s {
		blank := unicode.IsSpace(r) || unicode.IsControl(r) || fold.Invisible(r)
		if !blank {
			n++
		}
		if n == 2 {
			return false
		}
	}
	return true
}

// Local is a trained gate.
type Local interface {
	// Judge reports whether a message deserves an answer, and whether that is
	// sure; if not, the model is asked. It must not block.
	Judge(in LocalInput) (respond, sure bool)
}

// LocalInput is the input of a trained gate.
type LocalInput struct {
	Text, Sender string
	// BotName is the name of the agent, "" if unknown.
	BotName string
	// Recent are the messages before it, oldest first, at most 20.
	Recent []Earlier
	Group  string // its id
	At     time.Time
}

// Earlier is a message before another one.
type Earlier struct {
	Sender, Text string
	At           time.Time
	// Bot reports whether it is the agent's own message, Answered whether the
	// agent was allowed to answer it.
	Bot, Answered bool
}
