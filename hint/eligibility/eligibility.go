// Package eligibility decides which turns get a hint (contract §4). Everything in
// it is a pure function.
package eligibility

import (
	"slices"
	"strings"

	"intenthint/internal/glob"
	"intenthint/internal/text"
	"intenthint/payload"
)

// Skip is why a turn got no hint; it is the value of Hint-Skip (contract §3), or [Late].
type Skip string

// Policy reasons, in the order in which they are checked.
const (
	// None is the reason of a turn that gets a hint.
	None            Skip = ""
	NotUserTrigger  Skip = "not_user_trigger"
	InternalSession Skip = "internal_session"
	InternalInput   Skip = "internal_input"
	AgentDisabled   Skip = "agent_disabled"
	NotInteractive  Skip = "not_interactive"
	DeniedChatType  Skip = "chat_type"
	DeniedChatID    Skip = "chat_id"
	EmptyPrompt     Skip = "empty_prompt"
	NoIntents       Skip = "no_intents"
	// Unchanged is the reason of a turn whose session already knows the hint
	// (contract §6). The message is still classified.
	Unchanged Skip = "unchanged"
	// Holdout is the reason of a turn that would have got a hint, or been Unchanged,
	// if its session were not held out (HINT_HOLDOUT).
	Holdout Skip = "holdout"
)

// Failure reasons, and reasons counted as failures.
const (
	ClassifyFailed Skip = "classify_failed"
	LowConfidence  Skip = "low_confidence"
	Deadline       Skip = "deadline"
	Overloaded     Skip = "overloaded"
	// Late is the reason of a turn whose hint came too late, by the gateway. It is no
	// value of Hint-Skip.
	Late Skip = "late"
)

var (
	policy = []Skip{
		NotUserTrigger, InternalSession, InternalInput, AgentDisabled, NotInteractive,
		DeniedChatType, DeniedChatID, EmptyPrompt, NoIntents, Unchanged, Holdout,
	}
	failures = []Skip{ClassifyFailed, LowConfidence, Deadline, Overloaded, Late}
)

// Policy reports whether the turn was skipped on purpose. [None] is neither
// policy nor failure.
func (s Skip) Policy() bool { return slices.Contains(policy, s) }

// All returns every reason, policy first.
func All() []Skip { return slices.Concat(policy, failures) }

// Chat types (HINT_ALLOWED_CHAT_TYPES).
const (
	ChatDirect   = "direct"
	ChatGroup    = "group"
	ChatChannel  = "channel"
	ChatExplicit = "explicit"
	ChatUnknown  = "unknown"
)

const (
	webchat = "webchat"

	// DefaultMainKey is the last part of the session key of an agent's main
	// session, unless the gateway is configured otherwise.
	DefaultMainKey = "main"
)

// Rules are an operator's settings. Comparisons ignore case.
type Rules struct {
	// Agents are globs of the agents that get hints; none allows no agent.
	Agents []string
	// AllowedChatTypes are values of the Chat constants.
	AllowedChatTypes []string
	// AllowedChatIDs allows every chat when it is empty.
	AllowedChatIDs []string
	// DeniedChatIDs wins over AllowedChatIDs.
	DeniedChatIDs []string
	// MainKey is the gateway's main session key if it is not [DefaultMainKey];
	// else "".
	MainKey string
}

// Check returns the first rule of contract §4 that the turn fails, or [None].
// hasIntents reports whether an enabled intent is left after the deny list.
func Check(rules Rules, ctx payload.Context, prompt string, hasIntents bool) Skip {
	switch {
	case ctx.OtherTrigger():
		return NotUserTrigger
	case ctx.InternalSession():
		return InternalSession
	case ctx.Provenance.Kind == payload.InterSession:
		return InternalInput
	case !glob.MatchAny(rules.Agents, ctx.Agent()):
		return AgentDisabled
	case !interactive(ctx):
		return NotInteractive
	case !containsFold(rules.AllowedChatTypes, chatType(ctx, rules.MainKey)):
		return DeniedChatType
	case !chatAllowed(rules, ctx):
		return DeniedChatID
	case text.Blank(prompt):
		return EmptyPrompt
	case !hasIntents:
		return NoIntents
	}
	return None
}

// Admits reports whether agent and chat of a turn are admitted, of whatever type the
// chat is (4 and 7 of contract §4): reminders go by that.
func (r Rules) Admits(ctx payload.Context) bool {
	return glob.MatchAny(r.Agents, ctx.Agent()) && chatAllowed(r, ctx)
}

// Serves reports whether the rules about agents and chats admit a turn (4, 6 and 7 of
// contract §4): extraction goes by them (contract §12). Of a session whose
// key tells no type, a context without a provider leaves open whether it is direct, so
// there either type will do.
func (r Rules) Serves(ctx payload.Context) bool {
	kind := chatType(ctx, r.MainKey)
	allowed := containsFold(r.AllowedChatTypes, kind) ||
		kind == ChatUnknown && ctx.Provider() == "" && containsFold(r.AllowedChatTypes, ChatDirect)
	return allowed && r.Admits(ctx)
}

func interactive(ctx payload.Context) bool {
	return ctx.ByUser() &&
		(ctx.SessionKey != "" || isWebchat(ctx) || ctx.ChannelID != "")
}

func isWebchat(ctx payload.Context) bool { return strings.EqualFold(ctx.Provider(), webchat) }

// chatType returns the type of the chat that a turn belongs to, one of the
// Chat constants: the gateway's word, else what the session key says. mainKey is the gateway's main session key if it is not
// [DefaultMainKey].
func chatType(ctx payload.Context, mainKey string) string {
	if given := strings.ToLower(ctx.ChatType); slices.Contains(gatewayTypes, given) {
		return given
	}
	key := strings.ToLower(ctx.SessionKey)
	rest, ofAgent := afterAgent(key)
	switch {
	case ofAgent && strings.HasPrefix(rest, ChatExplicit):
		return ChatExplicit
	case strings.Contains(key, ":group:"):
		return ChatGroup
	case strings.Contains(key, ":channel:"):
		return ChatChannel
	case strings.Contains(key, ":direct:"), strings.Contains(key, ":dm:"):
		return ChatDirect
	case ofAgent && isMain(rest, mainKey) && ctx.ChannelID != "" && ctx.Provider() != "" && !isWebchat(ctx):
		return ChatDirect
	case isWebchat(ctx):
		return ChatDirect
	}
	return ChatUnknown
}

// gatewayTypes are the chat types that a gateway tells (contract §4.6).
var gatewayTypes = []string{ChatDirect, ChatGroup, ChatChannel, ChatExplicit}

func isMain(rest, mainKey string) bool {
	return rest == DefaultMainKey || mainKey != "" && strings.EqualFold(rest, mainKey)
}

// afterAgent returns what follows agent:<id>: in a session key.
func afterAgent(key string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(key, "agent:"); !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, ":")
	return rest, ok
}

// chatID returns the chat id of a turn, in lower case: the provider and, for a
// session key of four or more parts, the key from its third part on, joined by
// a colon; one of them if the other is missing. "telegram:telegram:direct:123"
// belongs to key "agent:main:telegram:direct:123" on Telegram.
func chatID(ctx payload.Context) string {
	provider := strings.ToLower(ctx.Provider())
	peer := strings.ToLower(peerOf(ctx.SessionKey))
	switch {
	case peer == "":
		return provider
	case provider == "":
		return peer
	}
	return provider + ":" + peer
}

// peerOf returns a session key of four or more parts from its third part on.
func peerOf(key string) string {
	if strings.Count(key, ":") < 3 {
		return ""
	}
	_, rest, _ := strings.Cut(key, ":")
	_, rest, _ = strings.Cut(rest, ":")
	return rest
}

func chatAllowed(rules Rules, ctx payload.Context) bool {
	if len(rules.DeniedChatIDs) == 0 && len(rules.AllowedChatIDs) == 0 {
		return true
	}
	id := chatID(ctx)
	if covers(rules.DeniedChatIDs, id) {
		return false
	}
	return len(rules.AllowedChatIDs) == 0 || covers(rules.AllowedChatIDs, id)
}

// covers reports whether a list names a chat, or the chat whose topic or thread it is.
func covers(list []string, id string) bool {
	return slices.ContainsFunc(payload.Chats(id), func(chat string) bool { return containsFold(list, chat) })
}

func containsFold(list []string, value string) bool {
	return slices.ContainsFunc(list, func(item string) bool { return strings.EqualFold(item, value) })
}
