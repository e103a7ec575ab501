// Package payload decodes what travels in message bodies: the envelope and the
// events and contexts of the hooks this program handles (contract §3).
package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tidwall/gjson"
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

// DecodeRequest decodes a request: hook, event and ctx are required. Event and
// Ctx are parts of data.
func DecodeRequest(data []byte) (Envelope, error) {
	o, err := check(data, "message")
	if err != nil {
		return Envelope{}, err
	}
	var e Envelope
	err = o.fields(func(name string, value gjson.Result) error {
		switch name {
		case "hook":
			return o.text(name, value, &e.Hook)
		case "event":
			return o.object(name, value, &e.Event)
		case "ctx":
			return o.object(name, value, &e.Ctx)
		case "ts":
			var ms float64
			if err := o.number(name, value, &ms); err != nil {
				return err
			}
			e.TS = int64(ms)
		case "id":
			return o.text(name, value, &e.ID)
		}
		return nil
	})
	switch {
	case err != nil:
		return Envelope{}, err
	case e.Hook == "":
		return Envelope{}, missing("hook")
	case e.Event == nil:
		return Envelope{}, missing("event")
	case e.Ctx == nil:
		return Envelope{}, missing("ctx")
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

// object keeps the raw text of a field that must be an object.
func (o object) object(field string, value gjson.Result, to *json.RawMessage) error {
	if !value.IsObject() {
		return o.wrongType(field, "an object", value)
	}
	// A part of the body, see share.
	*to = unsafe.Slice(unsafe.StringData(value.Raw), len(value.Raw)) //nolint:gosec // read only
	return nil
}
