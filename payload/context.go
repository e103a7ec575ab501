package payload

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Context is what is read of the second argument of a hook handler. Absent
// fields are "".
type Context struct {
	RunID           string `json:"runId,omitempty"`
	AgentID         string `json:"agentId,omitempty"`
	SessionKey      string `json:"sessionKey,omitempty"`
	SessionID       string `json:"sessionId,omitempty"`
	Trigger         string `json:"trigger,omitempty"`
	EmptyTrigger    bool   `json:"-"` // the trigger is present, but ""
	Channel         string `json:"channel,omitempty"`
	MessageProvider string `json:"messageProvider,omitempty"`
	ChannelID       string `json:"channelId,omitempty"`
	ChatID          string `json:"chatId,omitempty"`
	ChatType        string `json:"chatType,omitempty"`
	SenderID        string `json:"senderId,omitempty"`
	// ToolName and ToolCallID are set in the contexts of tool hooks.
	ToolName        string     `json:"toolName,omitempty"`
	ToolCallID      string     `json:"toolCallId,omitempty"`
	ModelProviderID string     `json:"modelProviderId,omitempty"`
	ModelID         string     `json:"modelId,omitempty"`
	Provenance      Provenance `json:"inputProvenance,omitzero"`
	// KeepsHints and RecallsLater are added by the plugin to before_prompt_build (see
	// [DecodeRequestContext]):
	// the gateway keeps hints in the history that it sends to models, and it
	// requests experiences for this prompt separately.
	KeepsHints   bool `json:"-"` // keepsHints
	RecallsLater bool `json:"-"` // recallLater
	// KeptSince is since when the gateway keeps hints, in Unix milliseconds: when it
	// was started. 0 if unknown.
	KeptSince float64 `json:"-"` // keptSince
}

// InterSession is the kind of an input that another session sent, for example a
// subagent that announces its end.
const InterSession = "inter_session"

// userTrigger is the trigger of a run that a person's message started.
const userTrigger = "user"

// Provenance tells where a message or the input of a run came from.
type Provenance struct {
	// Kind is [InterSession] or another value of the gateway; "" if unknown.
	Kind string `json:"kind,omitempty"`
}

// Provider returns the messaging provider of the turn: the message provider,
// else the channel; "" for a turn from the gateway's own CLI.
func (c Context) Provider() string {
	return cmp.Or(c.MessageProvider, c.Channel)
}

// Agent returns the agent id: the context's, else the second part of a session
// key of the form agent:<id>:…, else "main" (contract §4).
func (c Context) Agent() string {
	if c.AgentID != "" {
		return c.AgentID
	}
	if rest, ok := strings.CutPrefix(c.SessionKey, "agent:"); ok {
		if id, _, ok := strings.Cut(rest, ":"); ok && id != "" {
			return id
		}
	}
	return "main"
}

// Chats returns the address of a chat, a session key or a chat id, and those of the
// chats that it stands under as their topic or thread, the nearest first:
// "telegram:group:-5" for "telegram:group:-5:topic:42" (contract §4.7).
func Chats(address string) []string {
	out := []string{address}
	lower := strings.ToLower(address)
	for {
		i := max(strings.LastIndex(lower, ":topic:"), strings.LastIndex(lower, ":thread:"))
		if i < 0 || len(lower) != len(address) {
			return out
		}
		lower, address = lower[:i], address[:i]
		out = append(out, address)
	}
}

// Session returns the identity of the conversation: the session id, else the
// session key, else "".
func (c Context) Session() string {
	return cmp.Or(c.SessionID, c.SessionKey)
}

// OfPerson reports whether a turn may come from a person, in any kind of chat:
// a turn of a gateway without triggers may. The rules are 1 to 3 of contract
// §4.
func (c Context) OfPerson() bool {
	return !c.OtherTrigger() && !c.InternalSession() && c.Provenance.Kind != InterSession
}

// OtherTrigger reports whether something other than a person's message is known to
// have started the run. An absent trigger is unknown; an empty one is another.
func (c Context) OtherTrigger() bool {
	return c.EmptyTrigger || c.Trigger != "" && c.Trigger != userTrigger
}

// ByUser reports whether a person's message is known to have started the run.
func (c Context) ByUser() bool { return c.Trigger == userTrigger }

// InternalSession reports whether the session belongs to a subagent, to the
// gateway's memory, or to this system itself.
func (c Context) InternalSession() bool {
	key := strings.ToLower(c.SessionKey)
	return strings.Contains(key, ":active-memory:") ||
		strings.Contains(key, ":intention-hint:") ||
		strings.Contains(key, ":subagent:") ||
		strings.HasPrefix(c.SessionID, "active-memory-") ||
		strings.HasPrefix(c.SessionID, "intention-hint-")
}

// Model returns the run's own model as provider/model, or "".
func (c Context) Model() string {
	if c.ModelProviderID == "" || c.ModelID == "" {
		return ""
	}
	return c.ModelProviderID + "/" + c.ModelID
}

// DecodeContext decodes the ctx of a decoded envelope. Like the other decoders of
// parts, it relies on the envelope's decoder having checked the JSON.
func DecodeContext(raw json.RawMessage) (Context, error) { return decodeContext(raw, false) }

// DecodeRequestContext is DecodeContext for a request, which has fields of its own.
func DecodeRequestContext(raw json.RawMessage) (Context, error) { return decodeContext(raw, true) }

func decodeContext(raw json.RawMessage, request bool) (c Context, err error) {
	o, err := view(raw, "ctx")
	if err != nil {
		return c, err
	}
	fields := []field{
		{"runId", &c.RunID},
		{"agentId", &c.AgentID},
		{"sessionKey", &c.SessionKey},
		{"sessionId", &c.SessionID},
		{"trigger", &c.Trigger},
		{"channel", &c.Channel},
		{"messageProvider", &c.MessageProvider},
		{"channelId", &c.ChannelID},
		{"chatId", &c.ChatID},
		{"chatType", &c.ChatType},
		{"senderId", &c.SenderID},
		{"toolName", &c.ToolName},
		{"toolCallId", &c.ToolCallID},
		{"modelProviderId", &c.ModelProviderID},
		{"modelId", &c.ModelID},
		{"inputProvenance", &c.Provenance},
		{"keepsHints", &c.KeepsHints},
		{"recallLater", &c.RecallsLater},
		{"keptSince", &c.KeptSince},
	}
	if !request { // the last three are of requests only
		fields = fields[:len(fields)-3]
	}
	err = o.read(fields...)
	c.EmptyTrigger = c.Trigger == "" && o.Get("trigger").Type == gjson.String
	return c, err
}
