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
