package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON returns raw with every string value and every field name redacted as by
// [Text]. Names in one object that would become equal are numbered: "[EMAIL]",
// "[EMAIL] #2". Numbers, white space and the escapes of kept text stay byte for
// byte. A string value of a field with the name of a secret ("password",
// "apiKey") is judged as in name=value. Anything that is not a JSON document is
// redacted as text. JSON returns raw itself if there is nothing to redact, and
// never modifies raw.
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
	at := 0 // raw[:at] is in out
	replace := func(start, end int, text []byte) {
		if out == nil {
			out = make([]byte, 0, len(raw)+64)
		}
		out = append(append(out, raw[at:start]...), text...)
		at = end
	}
	field := none  // of the name before the value
	isKey := false // the next string is a name
	var around []container
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			around = append(around, container{isObject: true})
			isKey = true
		case '[':
			// The strings of an array are values of the array's field.
			around = append(around, container{})
			isKey = false
		case '}', ']':
			around = around[:len(around)-1]
			field = none
		case ',':
			isKey = around[len(around)-1].isObject
		case ':':
			isKey = false
		case '"':
			end := i + 1 + stringLength(raw[i+1:])
			inside := raw[i+1 : end]
			if isKey {
				field = w.nameKind(inside)
				if name := w.name(inside, &around[len(around)-1]); !bytes.Equal(name, inside) {
					replace(i+1, end, name)
				}
			} else if value, changed := w.redact(inside, true, field); changed {
				replace(i+1, end, value)
			}
			i = end
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[at:]...)
}

// A container is an object or an array.
type container struct {
	isObject bool
	// taken holds the names in an object that contain marks, without escapes, and
	// the last number given to names that would have been equal.
	taken map[string]int
}

// name returns the redacted name of a field in an object, different from the
// names before it. Only names with marks can become equal. Both names are the
// insides of JSON strings.
func (w *work) name(inside []byte, object *container) []byte {
	name, changed := w.redact(inside, true, none)
	if !changed && (bytes.IndexByte(inside, '[') < 0 && bytes.IndexByte(inside, '\\') < 0 || !Marked(unescaped(inside))) {
		return inside
	}
	if object.taken == nil {
		object.taken = map[string]int{}
	}
	name = bytes.Clone(name)
	for base := name; object.taken[unescaped(name)] > 0; {
		object.taken[unescaped(base)]++
		name = fmt.Appendf(nil, "%s #%d", base, object.taken[unescaped(base)])
		// "password=" has a value once a number follows it.
		if again, changed := w.redact(name, true, none); changed {
			name = bytes.Clone(again)
			base = name
		}
	}
	object.taken[unescaped(name)] = 1
	return name
}

// unescaped decodes the inside of a JSON string.
func unescaped(inside []byte) string {
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, inside...), '"'), &s) != nil {
		return string(inside)
	}
	return s
}

// stringLength returns the number of bytes of s before the quote that ends the
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
