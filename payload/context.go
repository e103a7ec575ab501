package payload

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Context is what we read of the second argument of a hook handler. Absent
// fields are "".
type Context struct {
	RunID           string `json:"runId,omitempty"`
	AgentID         string `json:"agentId,omitempty"`
	SessionKey      string `json:"sessionKey,omitempty"`
	SessionID       string `json:"sessionId,omitempty"`
	Trigger         string `json:"trigger,omitempty"`
	EmptyTrigger    bool   `json:"-"` // a trigger is there, and is ""
	Channel         string `json:"channel,omitempty"`
	MessageProvider string `json:"messageProvider,omitempty"`
	ChannelID       string `json:"channelId,omitempty"`
	ChatID          string `json:"chatId,omitempty"`
	SenderID        string `json:"senderId,omitempty"`
	// ToolName and ToolCallID stand in the contexts of tool hooks.
	ToolName        string     `json:"toolName,omitempty"`
	ToolCallID      string     `json:"toolCallId,omitempty"`
	ModelProviderID string     `json:"modelProviderId,omitempty"`
	ModelID         string     `json:"modelId,omitempty"`
	Provenance      Provenance `json:"inputProvenance,omitzero"`
}

// Provenance is where the input of a run came from.
type Provenance struct {
	Kind string `json:"kind,omitempty"`
}

// Provider is the messaging provider of the turn: the message provider, else
// the channel; "" for a turn from the gateway's own CLI.
func (c Context) Provider() string {
	if c.MessageProvider != "" {
		return c.MessageProvider
	}
	return c.Channel
}

// Agent is the agent id: the context's, else the second part of a session key
// of the form agent:<id>:…, else "main" (contract §4).
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

// Session is what identifies the conversation: the session id, else the
// session key, else "".
func (c Context) Session() string {
	if c.SessionID != "" {
		return c.SessionID
	}
	return c.SessionKey
}

// Model is the run's own model as provider/model, or "".
func (c Context) Model() string {
	if c.ModelProviderID == "" || c.ModelID == "" {
		return ""
	}
	return c.ModelProviderID + "/" + c.ModelID
}

// DecodeContext decodes the ctx of a decoded envelope. Like its siblings it
// relies on the JSON having been checked there.
func DecodeContext(raw json.RawMessage) (Context, error) {
	var c Context
	o, err := view(raw, "ctx")
	if err != nil {
		return c, err
	}
	return c, o.fields(func(name string, value gjson.Result) error {
		if name == "trigger" {
			c.EmptyTrigger = value.Type == gjson.String && value.Str == ""
		}
		if to := c.field(name); to != nil {
			return o.text(name, value, to)
		}
		if name != "inputProvenance" || value.Type == gjson.Null {
			return nil
		}
		if !value.IsObject() {
			return o.wrongType(name, "an object", value)
		}
		return o.text("inputProvenance.kind", value.Get("kind"), &c.Provenance.Kind)
	})
}

// field returns where the text of a field goes, nil for one that is not read.
func (c *Context) field(name string) *string {
	switch name {
	case "runId":
		return &c.RunID
	case "agentId":
		return &c.AgentID
	case "sessionKey":
		return &c.SessionKey
	case "sessionId":
		return &c.SessionID
	case "trigger":
		return &c.Trigger
	case "channel":
		return &c.Channel
	case "messageProvider":
		return &c.MessageProvider
	case "channelId":
		return &c.ChannelID
	case "chatId":
		return &c.ChatID
	case "senderId":
		return &c.SenderID
	case "toolName":
		return &c.ToolName
	case "toolCallId":
		return &c.ToolCallID
	case "modelProviderId":
		return &c.ModelProviderID
	case "modelId":
		return &c.ModelID
	}
	return nil
}
