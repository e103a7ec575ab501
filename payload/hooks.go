package payload

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

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

// DecodeAfterToolCall decodes the event of after_tool_call. The result's text is
// a part of raw.
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
			e.Text = resultText(value)
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
		if m.Role == RoleUser {
			break
		}
		if m.Role != RoleAssistant {
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
