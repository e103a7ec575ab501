// Package payload decodes what travels in message bodies: the envelope and the
// events and contexts of the hooks this program handles (contract §3).
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrInvalid is the kind of every decoding error of this package; its text
// says what is wrong in words a gateway's author understands.
var ErrInvalid = errors.New("invalid message")

// Envelope is one message. Event and Ctx are JSON objects, exactly the two
// arguments that a gateway gives to a hook handler.
type Envelope struct {
	Hook  string          `json:"hook"`
	Event json.RawMessage `json:"event"`
	Ctx   json.RawMessage `json:"ctx"`
	// TS is Unix milliseconds at the gateway; 0 when absent from a request.
	TS int64 `json:"ts,omitempty"`
	// ID is unique for the event; "" when absent from a request.
	ID string `json:"id,omitempty"`
}

// DecodeRequest decodes a request: hook, event and ctx are required.
func DecodeRequest(data []byte) (Envelope, error) {
	var e Envelope
	if err := unmarshal(data, &e, "message"); err != nil {
		return Envelope{}, err
	}
	switch {
	case e.Hook == "":
		return Envelope{}, missing("hook")
	case !isObject(e.Event):
		return Envelope{}, notAnObject("event", e.Event)
	case !isObject(e.Ctx):
		return Envelope{}, notAnObject("ctx", e.Ctx)
	}
	return e, nil
}

// DecodeEvent decodes an event: ts is required as well, and the id, which
// msgID (the header Nats-Msg-Id) may stand in for.
func DecodeEvent(data []byte, msgID string) (Envelope, error) {
	e, err := DecodeRequest(data)
	if err != nil {
		return Envelope{}, err
	}
	if e.ID == "" {
		e.ID = msgID
	}
	switch {
	case e.TS <= 0:
		return Envelope{}, missing("ts")
	case e.ID == "":
		return Envelope{}, missing("id")
	}
	return e, nil
}

func missing(field string) error { return fmt.Errorf("%w: %s is missing", ErrInvalid, field) }

func notAnObject(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return missing(field)
	}
	return fmt.Errorf("%w: %s must be an object", ErrInvalid, field)
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// unmarshal decodes data into v and words a failure for the reader of a reply
// or a dead letter; what names the part that was decoded.
func unmarshal(data []byte, v any, what string) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		field := wrongType.Field
		if field == "" {
			return fmt.Errorf("%w: %s must be %s, not a %s", ErrInvalid, what, article(wrongType.Type.Kind().String()), wrongType.Value)
		}
		return fmt.Errorf("%w: %s of %s must be %s, not a %s", ErrInvalid, field, what, article(wrongType.Type.Kind().String()), wrongType.Value)
	}
	if errors.Is(err, ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %s is not valid JSON: %w", ErrInvalid, what, err)
}

func article(kind string) string {
	switch kind {
	case "slice", "array":
		return "an array"
	case "struct", "map", "ptr":
		return "an object"
	case "int64", "float64":
		return "a number"
	case "bool":
		return "a boolean"
	default:
		return "a " + kind
	}
}
