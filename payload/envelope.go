package payload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
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
	// TS is Unix milliseconds at the gateway, of a time from 2001 to 9999; 0
	// when absent from a request, and for any other time.
	TS int64 `json:"ts,omitempty"`
	// ID is unique for the event; "" when absent from a request.
	ID string `json:"id,omitempty"`
}

// minTS and maxTS are the beginning of 2001 and the end of 9999 in milliseconds
// (contract §3). Any other time is probably in another unit: seconds are too small,
// and what is too large would stay the newest turn of its session forever.
const (
	minTS = 978307200000
	maxTS = 253402300799999
)

// maxShownHook bounds a wrong hook in an error, in characters: names of hooks have at
// most 30.
const maxShownHook = 60

// inSeconds says so if ts is a time in seconds.
func inSeconds(ts float64) string {
	if ms := ts * 1000; ms >= minTS && ms <= maxTS {
		return "; it is in seconds"
	}
	return ""
}

// DecodeRequest decodes a request: hook, event and ctx are required. A ts in seconds is
// refused, any other that is no time counts as absent. Event and Ctx are parts of data.
func DecodeRequest(data []byte) (Envelope, error) {
	e, ts, err := decodeEnvelope(data)
	if err == nil && inSeconds(ts) != "" {
		return Envelope{}, wrongTime(ts)
	}
	return e, err
}

// wrongTime returns the error of a ts that is no time in milliseconds.
func wrongTime(ts float64) error {
	return fmt.Errorf("%w: ts must be a time in milliseconds since 1970, from 2001 to 9999%s", ErrInvalid, inSeconds(ts))
}

// decodeEnvelope decodes the fields that all messages have. ts is the raw
// value, which may not be a valid time.
func decodeEnvelope(data []byte) (e Envelope, ts float64, err error) {
	o, err := check(data, "message")
	if err != nil {
		return Envelope{}, 0, err
	}
	err = o.read(
		field{"hook", &e.Hook}, field{"event", &e.Event}, field{"ctx", &e.Ctx}, field{"ts", &ts}, field{"id", &e.ID})
	switch {
	case err != nil:
		return Envelope{}, 0, err
	case e.Hook == "":
		return Envelope{}, 0, missing("hook")
	case e.Event == nil:
		return Envelope{}, 0, missing("event")
	case e.Ctx == nil:
		return Envelope{}, 0, missing("ctx")
	case ts >= minTS && ts <= maxTS:
		e.TS = int64(ts)
	}
	return e, ts, nil
}

// DecodeEvent decodes an event: ts is required as well, and the id, which
// msgID (the header Nats-Msg-Id) may stand in for. hook is the one that the event's
// subject names, "" where that does not matter. Rights are given by subject, so a
// body that names another hook is refused (contract §2).
func DecodeEvent(hook, msgID string, data []byte) (Envelope, error) {
	e, ts, err := decodeEnvelope(data)
	if err != nil {
		return Envelope{}, err
	}
	e.ID = cmp.Or(e.ID, msgID)
	switch {
	case hook != "" && e.Hook != hook:
		return Envelope{}, fmt.Errorf("%w: hook is %s, but the subject names %s", ErrInvalid, text.OneLine(e.Hook, maxShownHook), hook)
	case ts == 0:
		return Envelope{}, missing("ts")
	case e.TS == 0:
		return Envelope{}, wrongTime(ts)
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
