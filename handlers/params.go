package handlers

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"intenthint/payload"
)

// maxParams bounds the parameters of a tool call together, in bytes: a document holds
// many calls and is written as a whole. What a call says of itself takes far less.
const maxParams = 4 << 10

// params returns the parameters of a tool call as they are stored: each cut as a result
// is (contract §8). One that is no string, and is too long, becomes the beginning of its
// JSON; parameters beyond maxParams are left out.
func (d Decoder) params(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxResult {
		return bytes.Clone(raw) // which does not hold the event, that may be megabytes
	}
	all := gjson.ParseBytes(raw)
	if !all.IsObject() {
		return d.param(all)
	}
	out := []byte{'{'}
	all.ForEach(func(name, value gjson.Result) bool {
		cut := d.param(value)
		if len(out)+len(name.Raw)+len(cut)+len(",:}") > maxParams {
			return true // a later one may fit
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name.Raw...), ':'), cut...)
		return true
	})
	return append(out, '}')
}

// param returns one parameter as it is stored.
func (d Decoder) param(value gjson.Result) []byte {
	switch {
	case value.Type == gjson.String:
		if cut := d.head(value.Str, maxResult); cut != value.Str {
			return payload.JSON(cut)
		}
	case len(value.Raw) > maxResult:
		return payload.JSON(d.head(value.Raw, maxResult))
	}
	return []byte(value.Raw)
}
