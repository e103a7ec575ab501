package payload

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
)

// SkippedTag is the tag around the messages of a group that were not answered, in
// front of the prompt of the next turn (contract §11).
const SkippedTag = "skipped-messages"

// BeforeDispatch is what is read of a before_dispatch request.
// Absent fields are "". Fields missing in the event are taken from the context.
type BeforeDispatch struct {
	MessageID string
	// Text is the event's content, else its body.
	Text       string
	SessionKey string
	SenderID   string
	// IsGroup is nil if the gateway does not send it.
	IsGroup *bool
	// Timestamp is when the message was sent, in Unix milliseconds; 0 if the
	// gateway does not send it.
	Timestamp int64
	// AgentNames are the names of the agent, which the plugin adds to the context:
	// agentName first, then agentNames.
	AgentNames []string
	// WasMentioned reports whether the channel says that the message mentions the
	// agent.
	WasMentioned bool
	// ReplyToID and ReplyToSender name the message that this one replies to.
	ReplyToID, ReplyToSender string
}

// DecodeBeforeDispatch decodes the event and the context of a before_dispatch
// request.
func DecodeBeforeDispatch(event, ctx json.RawMessage) (e BeforeDispatch, err error) {
	var body string
	var timestamp float64
	err = decodeEvent(event,
		field{"messageId", &e.MessageID}, field{"content", &e.Text}, field{"body", &body}, field{"sessionKey", &e.SessionKey},
		field{"senderId", &e.SenderID}, field{"timestamp", &timestamp}, flagField("isGroup", &e.IsGroup),
		field{"wasMentioned", &e.WasMentioned}, field{"replyToId", &e.ReplyToID}, field{"replyToSender", &e.ReplyToSender})
	if err != nil {
		return e, err
	}
	var own struct{ messageID, sessionKey, senderID, replyToID, name string }
	o, err := view(ctx, "ctx")
	if err == nil {
		err = o.read(
			field{"agentName", &own.name}, field{"agentNames", &e.AgentNames}, field{"messageId", &own.messageID},
			field{"sessionKey", &own.sessionKey}, field{"senderId", &own.senderID}, field{"replyToId", &own.replyToID})
	}
	e.Text = cmp.Or(e.Text, body)
	e.MessageID = cmp.Or(e.MessageID, own.messageID)
	e.SessionKey = cmp.Or(e.SessionKey, own.sessionKey)
	e.SenderID = cmp.Or(e.SenderID, own.senderID)
	e.ReplyToID = cmp.Or(e.ReplyToID, own.replyToID)
	if own.name != "" && !slices.Contains(e.AgentNames, own.name) {
		e.AgentNames = slices.Insert(e.AgentNames, 0, own.name)
	}
	if timestamp >= 1 && timestamp <= maxTS {
		e.Timestamp = int64(timestamp)
	}
	return e, err
}

// flagField reads true or false; null counts as absent.
func flagField(name string, to **bool) field {
	return field{name, func(o object, value gjson.Result) error {
		switch {
		case value.Type == gjson.Null:
			return nil
		case !value.IsBool():
			return o.wrongType(name, "true or false", value)
		}
		flag := value.Bool()
		*to = &flag
		return nil
	}}
}

// MessageSent is what is read of the event of message_sent: a message that the
// agent sent.
type MessageSent struct {
	MessageID  string
	Text       string
	SessionKey string
	// Failed reports whether the channel rejected the message.
	Failed bool
}

// DecodeMessageSent decodes the event and the context of message_sent.
func DecodeMessageSent(event, ctx json.RawMessage) (e MessageSent, err error) {
	var success *bool
	err = decodeEvent(event,
		field{"messageId", &e.MessageID}, field{"content", &e.Text}, field{"sessionKey", &e.SessionKey}, flagField("success", &success))
	if err != nil {
		return e, err
	}
	e.Failed = success != nil && !*success
	var key string
	o, err := view(ctx, "ctx")
	if err == nil {
		err = o.read(field{"sessionKey", &key})
	}
	e.SessionKey = cmp.Or(e.SessionKey, key)
	return e, err
}
