package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Context is what we read of the second argument of a hook handler. Absent
// fields are "".
type Context struct {
	RunID           string `json:"runId,omitempty"`
	AgentID         string `json:"agentId,omitempty"`
	SessionKey      string `json:"sessionKey,omitempty"`
	SessionID       string `json:"sessionId,omitempty"`
	Trigger         string `json:"trigger,omitempty"`
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

// Provenance says where the input of a run came from.
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

// DecodeContext decodes the ctx of an envelope.
func DecodeContext(raw json.RawMessage) (Context, error) {
	var c Context
	return c, unmarshal(raw, &c, "ctx")
}

// Message is one message of a gateway's history.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
	// StopReason and ErrorMessage stand on assistant messages; a failed model
	// call has stop reason "error".
	StopReason   string `json:"stopReason"`
	ErrorMessage string `json:"errorMessage"`
}

// Content is the text of a message: one element for a string, one for each
// text part otherwise. Thinking, tool calls, images and parts of unknown shape
// are left out.
type Content []string

// UnmarshalJSON accepts a string or an array of parts. Anything else is no
// text, and not an error: gateways put objects of their own there.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = nil
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = Content{s}
	case '[':
		var parts []part
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			if p.isText {
				*c = append(*c, p.text)
			}
		}
	}
	return nil
}

type part struct {
	isText bool
	text   string
}

func (p *part) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	var raw struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		// A part of unknown shape; the syntax was checked by the decoder
		// that called us.
		return nil //nolint:nilerr
	}
	if raw.Type == "text" && len(raw.Text) > 0 && raw.Text[0] == '"' {
		p.isText = true
		return json.Unmarshal(raw.Text, &p.text)
	}
	return nil
}

// BeforePromptBuild is the event of before_prompt_build. Messages is the
// earlier history, without the current message.
type BeforePromptBuild struct {
	Prompt   string    `json:"prompt"`
	Messages []Message `json:"messages"`
}

// DecodeBeforePromptBuild decodes the event of a before_prompt_build request.
// An absent prompt is "", a null one is an error.
func DecodeBeforePromptBuild(raw json.RawMessage) (BeforePromptBuild, error) {
	var e struct {
		Prompt   json.RawMessage `json:"prompt"`
		Messages []Message       `json:"messages"`
	}
	if err := unmarshal(raw, &e, "event"); err != nil {
		return BeforePromptBuild{}, err
	}
	out := BeforePromptBuild{Messages: e.Messages}
	if len(e.Prompt) == 0 {
		return out, nil
	}
	if e.Prompt[0] != '"' {
		return BeforePromptBuild{}, fmt.Errorf("%w: prompt of event must be a string", ErrInvalid)
	}
	return out, unmarshal(e.Prompt, &out.Prompt, "prompt")
}

// AfterToolCall is the event of after_tool_call.
type AfterToolCall struct {
	ToolName   string          `json:"toolName"`
	Params     json.RawMessage `json:"params"`
	RunID      string          `json:"runId"`
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result"`
	// Error is "" for a call that did not fail.
	Error      ErrorText `json:"error"`
	DurationMs float64   `json:"durationMs"`
}

// DecodeAfterToolCall decodes the event of after_tool_call.
func DecodeAfterToolCall(raw json.RawMessage) (AfterToolCall, error) {
	var e AfterToolCall
	return e, unmarshal(raw, &e, "event")
}

// Text is the result as text: a string as it is, else the first text part of
// its content, else "".
func (e AfterToolCall) Text() string {
	raw := bytes.TrimSpace(e.Result)
	if len(raw) == 0 {
		return ""
	}
	var content Content
	switch raw[0] {
	case '"', '[':
		_ = content.UnmarshalJSON(raw)
	case '{':
		var result struct {
			Content Content `json:"content"`
		}
		if json.Unmarshal(raw, &result) == nil {
			content = result.Content
		}
	}
	if len(content) == 0 {
		return ""
	}
	return content[0]
}

// ErrorText is an error as gateways report it: a string, or an object with a
// message.
type ErrorText string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *ErrorText) UnmarshalJSON(data []byte) error {
	*t = ""
	switch data[0] {
	case 'n':
		return nil
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '{':
		var e struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		*t = ErrorText(e.Message)
		if e.Message == "" {
			*t = ErrorText(data)
		}
		return nil
	default:
		return fmt.Errorf("%w: error of event must be a string", ErrInvalid)
	}
}

// AgentEnd is the event of agent_end. Messages is the whole session.
type AgentEnd struct {
	Messages []Message `json:"messages"`
	RunID    string    `json:"runId"`
	Error    ErrorText `json:"error"`
}

// DecodeAgentEnd decodes the event of agent_end.
func DecodeAgentEnd(raw json.RawMessage) (AgentEnd, error) {
	var e AgentEnd
	return e, unmarshal(raw, &e, "event")
}

// Outcome returns the result of the run, the last assistant text after the
// last user message, and its error: the event's, else that of the last
// assistant message when its stop reason is "error" (contract §8).
func (e AgentEnd) Outcome() (result, failure string) {
	failure = string(e.Error)
	last := true
	for i := len(e.Messages) - 1; i >= 0; i-- {
		m := &e.Messages[i]
		if m.Role == "user" {
			break
		}
		if m.Role != "assistant" {
			continue
		}
		if last && failure == "" && m.StopReason == "error" {
			failure = m.ErrorMessage
			if failure == "" {
				failure = "the model call failed"
			}
		}
		last = false
		if text := strings.Join(m.Content, "\n"); strings.TrimSpace(text) != "" {
			return text, failure
		}
	}
	return "", failure
}

// SessionEnd is the event of session_end.
type SessionEnd struct {
	SessionID  string `json:"sessionId"`
	SessionKey string `json:"sessionKey"`
	Reason     string `json:"reason"`
}

// DecodeSessionEnd decodes the event of session_end.
func DecodeSessionEnd(raw json.RawMessage) (SessionEnd, error) {
	var e SessionEnd
	return e, unmarshal(raw, &e, "event")
}

// Turn is one cleaned text of a conversation.
type Turn struct {
	// Role is "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Sources of a classification (contract §3, Hint-Source).
const (
	SourceLLM   = "llm"
	SourceLocal = "local"
	SourceCache = "cache"
)

// Classification is what a model or the local classifier says of a message,
// in the shape in which it stands in a session file (contract §8).
type Classification struct {
	// Intent is an id of the catalogue, or "OTHER".
	Intent string `json:"intent"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Goal   string `json:"goal"`
	// Confidence is 0–1.
	Confidence float64 `json:"confidence"`
	// Complexity is "low", "medium" or "high".
	Complexity string `json:"complexity"`
	Suggestion string `json:"suggestion,omitempty"`
	// Source is one of the Source constants, never SourceCache.
	Source string `json:"source"`
	// Model is provider/model when a model answered.
	Model string `json:"model,omitempty"`
	// ElapsedMs is the time in the consumer, in milliseconds.
	ElapsedMs float64 `json:"elapsedMs"`
}

// TurnBegun is the event of turn_begun, which the consumer publishes before it
// replies to a before_prompt_build that passes the rules of contract §4.
type TurnBegun struct {
	RunID        string `json:"runId,omitempty"`
	Prompt       string `json:"prompt"`
	Conversation []Turn `json:"conversation"`
	// Result is nil when nothing could be classified.
	Result *Classification `json:"result,omitempty"`
	// Hint is the text that was given to the gateway; "" for none.
	Hint string `json:"hint,omitempty"`
	// Skip says why there is no hint (Hint-Skip); "" when there is one.
	Skip string `json:"skip,omitempty"`
}

// DecodeTurnBegun decodes the event of turn_begun.
func DecodeTurnBegun(raw json.RawMessage) (TurnBegun, error) {
	var e TurnBegun
	return e, unmarshal(raw, &e, "event")
}
