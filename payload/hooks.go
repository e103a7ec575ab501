package payload

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// BeforePromptBuild is the event of before_prompt_build. Messages is the
// earlier history, without the current message.
type BeforePromptBuild struct {
	// Prompt is the model's input: the user's message with the gateway's
	// additions.
	Prompt string
	// Current is the bare user's message; nil from gateways that do not send it,
	// "" if the run has none.
	Current  *string
	Messages []Message
}

// Message returns what the user asks: the current message, else the prompt
// (contract §5).
func (e BeforePromptBuild) Message() string {
	if e.Current != nil {
		return *e.Current
	}
	return e.Prompt
}

// Beside returns the current message if it differs from the prompt, else "".
func (e BeforePromptBuild) Beside() string {
	if message := e.Message(); message != e.Prompt {
		return message
	}
	return ""
}

// DecodeBeforePromptBuild decodes the event of a before_prompt_build request.
// An absent prompt is "", a null prompt is an error; a null currentUserMessage
// counts as absent. The history's texts are parts of raw.
func DecodeBeforePromptBuild(raw json.RawMessage) (e BeforePromptBuild, err error) {
	err = decodeEvent(raw, field{"messages", &e.Messages}, field{"currentUserMessage", func(o object, value gjson.Result) error {
		if value.Type == gjson.Null {
			return nil
		}
		e.Current = new(string)
		return o.text("currentUserMessage", value, e.Current)
	}}, field{"prompt", func(o object, value gjson.Result) error {
		if value.Type == gjson.Null {
			return o.wrongType("prompt", "a string", value)
		}
		return o.text("prompt", value, &e.Prompt)
	}})
	return e, err
}

// AfterToolCall is the event of after_tool_call.
type AfterToolCall struct {
	ToolName   string
	Params     json.RawMessage
	RunID      string
	ToolCallID string
	// Text is the result as text: a string unchanged, else the first text part of
	// its content, else "".
	Text string
	// Error is "" for a call that did not fail.
	Error      string
	DurationMs float64
}

// DecodeAfterToolCall decodes the event of after_tool_call. The result's text is
// a part of raw.
func DecodeAfterToolCall(raw json.RawMessage) (e AfterToolCall, err error) {
	err = decodeEvent(raw,
		field{"toolName", &e.ToolName}, field{"runId", &e.RunID}, field{"toolCallId", &e.ToolCallID},
		field{"durationMs", &e.DurationMs}, failureField(&e.Error),
		field{"params", func(_ object, value gjson.Result) error {
			e.Params = json.RawMessage(value.Raw)
			return nil
		}},
		field{"result", func(_ object, value gjson.Result) error {
			e.Text = resultText(value)
			return nil
		}})
	return e, err
}

// resultText returns a tool's result as text: a string unchanged, else the
// first text part of its content, else "".
func resultText(value gjson.Result) string {
	if value.IsObject() {
		value = value.Get("content")
	}
	if texts := textsOf(value); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// failureField reads an error as gateways report it: a string, or an object with
// a message.
func failureField(to *string) field {
	return field{"error", func(o object, value gjson.Result) error {
		if value.IsObject() {
			*to = strings.Clone(cmp.Or(value.Get("message").String(), value.Raw))
			return nil
		}
		return o.text("error", value, to)
	}}
}

// AgentEnd is the event of agent_end. Messages is the whole session.
type AgentEnd struct {
	Messages []Message
	RunID    string
	Error    string
}

// DecodeAgentEnd decodes the event of agent_end. The history's texts are parts
// of raw.
func DecodeAgentEnd(raw json.RawMessage) (e AgentEnd, err error) {
	err = decodeEvent(raw, field{"messages", &e.Messages}, field{"runId", &e.RunID}, failureField(&e.Error))
	return e, err
}

// Outcome returns the result of the run, the last assistant text after the
// last user message, and its error: the event's, else that of the last
// assistant message when its stop reason is "error" (contract §8).
func (e AgentEnd) Outcome() (result, failure string) {
	failure = e.Error
	last := true
	for _, m := range slices.Backward(e.Messages) {
		if m.Role == RoleUser {
			break
		}
		if m.Role != RoleAssistant {
			continue
		}
		if last && failure == "" && m.StopReason == "error" {
			failure = cmp.Or(strings.Clone(m.ErrorMessage), "the model call failed")
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
func DecodeSessionEnd(raw json.RawMessage) (e SessionEnd, err error) {
	err = decodeEvent(raw, field{"sessionId", &e.SessionID}, field{"sessionKey", &e.SessionKey}, field{"reason", &e.Reason})
	return e, err
}
