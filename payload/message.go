package payload

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Roles of the messages that are part of a conversation (contract §5).
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one message of a gateway's history.
type Message struct {
	Role    string
	Content Content
	// StopReason and ErrorMessage stand on assistant messages; a failed model
	// call has stop reason "error".
	StopReason   string
	ErrorMessage string
}

// Content is the content of a message as undecoded JSON: most of a history is
// never read.
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
	element := o.in(field + "[].")
	read := func(name, value gjson.Result) bool {
		switch name.Str {
		case "role":
			err = element.part("role", value, &m.Role)
		case "content":
			m.Content = Content(value.Raw)
		case "stopReason":
			err = element.part("stopReason", value, &m.StopReason)
		case "errorMessage":
			err = element.part("errorMessage", value, &m.ErrorMessage)
		}
		return err == nil
	}
	list.ForEach(func(_, message gjson.Result) bool {
		if !message.IsObject() {
			err = o.wrongType(field+"[]", "an object", message)
			return false
		}
		m = Message{}
		message.ForEach(read)
		out = append(out, m)
		return err == nil
	})
	return out, err
}

func textsOf(value gjson.Result) []string {
	if value.Type == gjson.String {
		return []string{value.Str}
	}
	if !value.IsArray() {
		return nil
	}
	var out []string
	value.ForEach(func(_, part gjson.Result) bool {
		if !part.IsObject() {
			return true
		}
		var kind, text gjson.Result
		part.ForEach(func(name, value gjson.Result) bool {
			switch name.Str {
			case "type":
				kind = value
			case "text":
				text = value
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
