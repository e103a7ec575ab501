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
	// StopReason and ErrorMessage are set on assistant messages; a failed model
	// call has stop reason "error".
	StopReason   string
	ErrorMessage string
	// Provenance tells where a user message came from; the zero value means the
	// user.
	Provenance Provenance
	// Timestamp is when the message entered the transcript, in Unix milliseconds; 0
	// if the gateway does not send it.
	Timestamp int64
}

// Content is the content of a message as undecoded JSON: most of a history is
// never read.
type Content string

// ContentOf returns a text as content.
func ContentOf(text string) Content { return Content(gjson.AppendJSONString(nil, text)) }

// Texts returns one text for a string, and otherwise one for each text part.
// Thinking, tool calls, images and parts of unknown shape are left out; so is
// content that is neither a string nor a list, which is not an error: gateways
// put their own objects there.
func (c Content) Texts() []string {
	if c == "" {
		return nil
	}
	return textsOf(gjson.Parse(string(c)))
}

// messages reads a history. Its texts are parts of the body.
func (o object) messages(field string, list gjson.Result, to *[]Message) error {
	*to = make([]Message, 0, min(strings.Count(list.Raw, `"role"`), 1<<16))
	return o.elements(field, list, func(element object) (err error) {
		var m Message
		element.ForEach(func(name, value gjson.Result) bool {
			switch name.Str {
			case "role":
				err = element.shared("role", value, &m.Role)
			case "content":
				m.Content = Content(value.Raw)
			case "stopReason":
				err = element.shared("stopReason", value, &m.StopReason)
			case "errorMessage":
				err = element.shared("errorMessage", value, &m.ErrorMessage)
			case "timestamp":
				if at := value.Num; value.Type == gjson.Number && at >= 1 && at <= maxTS {
					m.Timestamp = int64(at)
				}
			case "provenance":
				// Gateways put other values there, which is not an error.
				if value.IsObject() {
					m.Provenance.Kind = value.Get("kind").Str
				}
			}
			return err == nil
		})
		*to = append(*to, m)
		return err
	})
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
		if part.IsObject() && part.Get("type").Str == "text" {
			if text := part.Get("text"); text.Type == gjson.String {
				out = append(out, text.Str)
			}
		}
		return true
	})
	return out
}
