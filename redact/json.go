package redact

import (
	"bytes"
	"encoding/json"
)

// JSON returns raw with every string value as [Text] would have it. Names of
// fields, numbers, white space and the escapes of what is kept stay byte for
// byte. A string value of a field whose name says that it is a secret
// ("password", "apiKey") is judged as it would be in name=value. What is not a
// JSON document is redacted as text. It returns raw itself when there is nothing
// to redact, and never changes raw.
func JSON(raw []byte) []byte {
	w := pool.Get().(*work)
	defer w.release()
	if !json.Valid(raw) {
		out, changed := w.redact(raw, false, none)
		if !changed {
			return raw
		}
		return bytes.Clone(out)
	}
	var out []byte
	at := 0        // raw[:at] is in out
	field := none  // of the name before the value
	isKey := false // the next string is a name
	var objects []bool
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			objects = append(objects, true)
			isKey = true
		case '[':
			// The strings of an array are values of the array's field.
			objects = append(objects, false)
			isKey = false
		case '}', ']':
			objects = objects[:len(objects)-1]
			field = none
		case ',':
			isKey = objects[len(objects)-1]
		case ':':
			isKey = false
		case '"':
			end := i + 1 + stringLength(raw[i+1:])
			inside := raw[i+1 : end]
			if isKey {
				field = w.nameKind(inside)
			} else if value, changed := w.redact(inside, true, field); changed {
				if out == nil {
					out = make([]byte, 0, len(raw)+64)
				}
				out = append(append(out, raw[at:i+1]...), value...)
				at = end
			}
			i = end
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[at:]...)
}

// stringLength returns how many bytes of s stand before the quote that ends the
// JSON string.
func stringLength(s []byte) int {
	for i := 0; ; i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
}
