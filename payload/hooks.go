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

// DecodeContext decodes the ctx of a decoded envelope. Like its siblings it
// relies on the JSON having been checked there.
func DecodeContext(raw json.RawMessage) (Context, error) {
	var c Context
	o, err := view(raw, "ctx")
	if err != nil {
		return c, err
	}
	return c, o.fields(func(name string, value gjson.Result) error {
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

// Message is one message of a gateway's history.
type Message struct {
	Role    string
	Content Content
	// StopReason and ErrorMessage stand on assistant messages; a failed model
	// call has stop reason "error".
	StopReason   string
	ErrorMessage string
}

// Content is what a message says, as JSON: most of a history is never looked
// at.
type Content string

// Texts returns the texts: one for a string, one for each text part otherwise.
// Thinking, tool calls, images and parts of unknown shape are left out; so is
// content that is neither a string nor a list, which is not an error: gateways
// put objects of their own there.
func (c Content) Texts() []string {
	if c == "" {
		return nil
	}
	return textsOf(gjson.Parse(string(c)))
}

// messages reads a history. Its contents are parts of the body.
func (o object) messages(field string, list gjson.Result) ([]Message, error) {
	if list.Type == gjson.Null {
		return nil, nil
	}
	if !list.IsArray() {
		return nil, o.wrongType(field, "an array", list)
	}
	var (
		out = make([]Message, 0, min(strings.Count(list.Raw, `"role"`), 1<<16))
		m   Message
		err error
	)
	read := func(name, value string) bool {
		switch name {
		case "role":
			err = o.part(field, "role", value, &m.Role)
		case "content":
			m.Content = Content(value)
		case "stopReason":
			err = o.part(field, "stopReason", value, &m.StopReason)
		case "errorMessage":
			err = o.part(field, "errorMessage", value, &m.ErrorMessage)
		}
		return err == nil
	}
	eachElement(list.Raw, func(message string) bool {
		if message[0] != '{' {
			err = o.wrongType(field+"[]", "an object", gjson.Parse(message))
			return false
		}
		m = Message{}
		eachField(message, read)
		out = append(out, m)
		return err == nil
	})
	return out, err
}

// part reads a string of an element that stays a part of the body.
func (o object) part(list, field, raw string, to *string) error {
	if len(raw) >= 2 && raw[0] == '"' && strings.IndexByte(raw, '\\') < 0 {
		*to = raw[1 : len(raw)-1]
		return nil
	}
	value := gjson.Parse(raw)
	if value.Type != gjson.String && value.Type != gjson.Null {
		return o.wrongType(list+"[]."+field, "a string", value)
	}
	*to = value.Str
	return nil
}

func textsOf(value gjson.Result) []string {
	if value.Type == gjson.String {
		return []string{value.Str}
	}
	if !value.IsArray() {
		return nil
	}
	var out []string
	eachElement(value.Raw, func(part string) bool {
		if part[0] != '{' {
			return true
		}
		var kind, text gjson.Result
		eachField(part, func(name, value string) bool {
			switch name {
			case "type":
				kind = gjson.Parse(value)
			case "text":
				text = gjson.Parse(value)
			}
			return true
		})
		if kind.Str == "text" && text.Type == gjson.String {
			out = append(out, text.Str)
		}
		return true
	})
	return out
}

// BeforePromptBuild is the event of before_prompt_build. Messages is the
// earlier history, without the current message.
type BeforePromptBuild struct {
	Prompt   string
	Messages []Message
}

// DecodeBeforePromptBuild decodes the event of a before_prompt_build request.
// An absent prompt is "", a null one is an error. The history's texts are parts
// of raw.
func DecodeBeforePromptBuild(raw json.RawMessage) (BeforePromptBuild, error) {
	var e BeforePromptBuild
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) (err error) {
		switch name {
		case "prompt":
			if value.Type == gjson.Null {
				return o.wrongType(name, "a string", value)
			}
			return o.text(name, value, &e.Prompt)
		case "messages":
			e.Messages, err = o.messages(name, value)
		}
		return err
	})
}

// AfterToolCall is the event of after_tool_call.
type AfterToolCall struct {
	ToolName   string
	Params     json.RawMessage
	RunID      string
	ToolCallID string
	// Text is the result as text: a string as it is, else the first text part
	// of its content, else "".
	Text string
	// Error is "" for a call that did not fail.
	Error      string
	DurationMs float64
}

// DecodeAfterToolCall decodes the event of after_tool_call.
func DecodeAfterToolCall(raw json.RawMessage) (AfterToolCall, error) {
	var e AfterToolCall
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) error {
		switch name {
		case "toolName":
			return o.text(name, value, &e.ToolName)
		case "params":
			e.Params = json.RawMessage(value.Raw)
		case "runId":
			return o.text(name, value, &e.RunID)
		case "toolCallId":
			return o.text(name, value, &e.ToolCallID)
		case "result":
			e.Text = strings.Clone(resultText(value))
		case "error":
			return o.failure(name, value, &e.Error)
		case "durationMs":
			return o.number(name, value, &e.DurationMs)
		}
		return nil
	})
}

// resultText is a tool's result as text: a string as it is, else the first text
// part of its content, else "".
func resultText(value gjson.Result) string {
	content := value
	if value.IsObject() {
		content = value.Get("content")
	}
	if texts := textsOf(content); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// failure reads an error as gateways report it: a string, or an object with a
// message.
func (o object) failure(field string, value gjson.Result, to *string) error {
	if value.IsObject() {
		*to = strings.Clone(value.Get("message").String())
		if *to == "" {
			*to = strings.Clone(value.Raw)
		}
		return nil
	}
	return o.text(field, value, to)
}

// AgentEnd is the event of agent_end. Messages is the whole session.
type AgentEnd struct {
	Messages []Message
	RunID    string
	Error    string
}

// DecodeAgentEnd decodes the event of agent_end. The history's texts are parts
// of raw.
func DecodeAgentEnd(raw json.RawMessage) (AgentEnd, error) {
	var e AgentEnd
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) (err error) {
		switch name {
		case "messages":
			e.Messages, err = o.messages(name, value)
		case "runId":
			return o.text(name, value, &e.RunID)
		case "error":
			return o.failure(name, value, &e.Error)
		}
		return err
	})
}

// Outcome returns the result of the run, the last assistant text after the
// last user message, and its error: the event's, else that of the last
// assistant message when its stop reason is "error" (contract §8).
func (e AgentEnd) Outcome() (result, failure string) {
	failure = e.Error
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
			failure = strings.Clone(m.ErrorMessage)
			if failure == "" {
				failure = "the model call failed"
			}
		}
		last = false
		if text := strings.Join(m.Content.Texts(), "\n"); strings.TrimSpace(text) != "" {
			return strings.Clone(text), failure
		}
	}
	return "", failure
}

// SessionEnd is the event of session_end.
type SessionEnd struct {
	SessionID  string
	SessionKey string
	Reason     string
}

// DecodeSessionEnd decodes the event of session_end.
func DecodeSessionEnd(raw json.RawMessage) (SessionEnd, error) {
	var e SessionEnd
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) error {
		switch name {
		case "sessionId":
			return o.text(name, value, &e.SessionID)
		case "sessionKey":
			return o.text(name, value, &e.SessionKey)
		case "reason":
			return o.text(name, value, &e.Reason)
		}
		return nil
	})
}

// Turn is one cleaned text of a conversation.
type Turn struct {
	// Role is "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Sources of a classification (contract §3, Hint-Source).
const (
	SourceLLM       = "llm"
	SourceLocal     = "local"
	SourceCache     = "cache"
	SourceEmbedding = "embedding"
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
	Conversation []Turn `json:"conversation,omitempty"`
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
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) (err error) {
		switch name {
		case "runId":
			return o.text(name, value, &e.RunID)
		case "prompt":
			return o.text(name, value, &e.Prompt)
		case "conversation":
			e.Conversation, err = o.turns(name, value)
			return err
		case "result":
			e.Result, err = o.classification(name, value)
			return err
		case "hint":
			return o.text(name, value, &e.Hint)
		case "skip":
			return o.text(name, value, &e.Skip)
		}
		return nil
	})
}

// turns reads a conversation.
func (o object) turns(field string, list gjson.Result) ([]Turn, error) {
	if list.Type == gjson.Null {
		return nil, nil
	}
	if !list.IsArray() {
		return nil, o.wrongType(field, "an array", list)
	}
	var (
		out []Turn
		err error
	)
	list.ForEach(func(_, value gjson.Result) bool {
		if !value.IsObject() {
			err = o.wrongType(field+"[]", "an object", value)
			return false
		}
		var t Turn
		err = object{value, o.what}.fields(func(name string, value gjson.Result) error {
			switch name {
			case "role":
				return o.text(field+"[].role", value, &t.Role)
			case "text":
				return o.text(field+"[].text", value, &t.Text)
			}
			return nil
		})
		out = append(out, t)
		return err == nil
	})
	return out, err
}

// classification reads what was classified; null is nil.
func (o object) classification(field string, value gjson.Result) (*Classification, error) {
	if value.Type == gjson.Null {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, o.wrongType(field, "an object", value)
	}
	var c Classification
	return &c, object{value, o.what}.fields(func(name string, value gjson.Result) error {
		switch name {
		case "intent":
			return o.text(field+".intent", value, &c.Intent)
		case "name":
			return o.text(field+".name", value, &c.Name)
		case "reason":
			return o.text(field+".reason", value, &c.Reason)
		case "goal":
			return o.text(field+".goal", value, &c.Goal)
		case "confidence":
			return o.number(field+".confidence", value, &c.Confidence)
		case "complexity":
			return o.text(field+".complexity", value, &c.Complexity)
		case "suggestion":
			return o.text(field+".suggestion", value, &c.Suggestion)
		case "source":
			return o.text(field+".source", value, &c.Source)
		case "model":
			return o.text(field+".model", value, &c.Model)
		case "elapsedMs":
			return o.number(field+".elapsedMs", value, &c.ElapsedMs)
		}
		return nil
	})
}
