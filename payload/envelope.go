package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tidwall/gjson"
)

// ErrInvalid is wrapped by every decoding error of this package. The text
// describes the fault for the author of a gateway.
var ErrInvalid = errors.New("invalid message")

// Envelope is one message. Event and Ctx are JSON objects, exactly the two
// arguments that a gateway gives to a hook handler.
type Envelope struct {
	Hook  string          `json:"hook"`
	Event json.RawMessage `json:"event"`
	Ctx   json.RawMessage `json:"ctx"`
	// TS is Unix milliseconds at the gateway, of a time from 1970 to 9999; 0
	// when absent from a request, and for any other time.
	TS int64 `json:"ts,omitempty"`
	// ID is unique for the event; "" when absent from a request.
	ID string `json:"id,omitempty"`
}

// maxTS is the end of the year 9999. A later time is probably in another unit, and
// would stay the newest turn of its session for ever.
const maxTS = 253402300799999

// DecodeRequest decodes a request: hook, event and ctx are required. Event and
// Ctx are parts of data.
func DecodeRequest(data []byte) (Envelope, error) {
	e, _, err := decodeEnvelope(data)
	return e, err
}

// decodeEnvelope decodes what all messages have. wrongTS reports a ts that is
// not a time.
func decodeEnvelope(data []byte) (e Envelope, wrongTS bool, err error) {
	o, err := check(data, "message")
	if err != nil {
		return Envelope{}, false, err
	}
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
			e.TS = 0
			if wrongTS = value.Type != gjson.Null && !(ms >= 1 && ms <= maxTS); !wrongTS {
				e.TS = int64(ms)
			}
		case "id":
			return o.text(name, value, &e.ID)
		}
		return nil
	})
	switch {
	case err != nil:
		return Envelope{}, false, err
	case e.Hook == "":
		return Envelope{}, false, missing("hook")
	case e.Event == nil:
		return Envelope{}, false, missing("event")
	case e.Ctx == nil:
		return Envelope{}, false, missing("ctx")
	}
	return e, wrongTS, nil
}

// DecodeEvent decodes an event: ts is required as well, and the id, which
// msgID (the header Nats-Msg-Id) may stand in for.
func DecodeEvent(data []byte, msgID string) (Envelope, error) {
	e, wrongTS, err := decodeEnvelope(data)
	if err != nil {
		return Envelope{}, err
	}
	if e.ID == "" {
		e.ID = msgID
	}
	switch {
	case wrongTS:
		return Envelope{}, fmt.Errorf("%w: ts must be a time in milliseconds since 1970", ErrInvalid)
	case e.TS == 0:
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
