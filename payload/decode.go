package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Bodies reach eight megabytes, of which a few fields are read. They are
// validated once as a whole and then walked, instead of being decoded into unused
// values.

// object is a JSON object that is known to be valid.
type object struct {
	gjson.Result
	// what names the whole and path the way to this part of it, in errors.
	what, path string
}

// in returns the object with a path for the errors of a part of it.
func (o object) in(path string) object {
	o.path = path
	return o
}

// check parses a whole body.
func check(data []byte, what string) (object, error) {
	if !valid(data) {
		return object{}, fmt.Errorf("%w: %s is not valid JSON: %w", ErrInvalid, what, syntaxError(data))
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return view(data, what)
}

// maxFastDepth bounds the nesting that gjson may meet: it recurses, a few
// hundred bytes of stack a level.
const maxFastDepth = 100_000

// valid is [json.Valid] at several times its speed. They agree, but for very
// deep nesting, of which json.Valid takes ten thousand levels.
func valid(data []byte) bool {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) > maxFastDepth {
		return json.Valid(data)
	}
	return gjson.ValidBytes(data)
}

// view parses a part of a body that was checked as a whole.
func view(data []byte, what string) (object, error) {
	root := gjson.Parse(share(data))
	if !root.IsObject() {
		return object{}, fmt.Errorf("%w: %s must be an object, not %s", ErrInvalid, what, kindOf(root))
	}
	return object{Result: root, what: what}, nil
}

// share returns data as a string without copying, which would be slow for bodies
// of megabytes. Bodies are never written to.
func share(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) } //nolint:gosec // read only

// syntaxError returns where and why data is not JSON.
func syntaxError(data []byte) error {
	var ignored json.RawMessage
	if err := json.Unmarshal(data, &ignored); err != nil {
		return err
	}
	return errors.New("unknown syntax error")
}

// fields calls set for every field; the first error ends it.
func (o object) fields(set func(name string, value gjson.Result) error) error {
	var err error
	o.ForEach(func(name, value gjson.Result) bool {
		err = set(name.Str, value)
		return err == nil
	})
	return err
}

// wrongType is the error of a field that is of another type.
func (o object) wrongType(field, wanted string, value gjson.Result) error {
	return fmt.Errorf("%w: %s%s of %s must be %s, not %s", ErrInvalid, o.path, field, o.what, wanted, kindOf(value))
}

// text reads a string; null is "". It copies: a kept field must not keep a large
// body in memory.
func (o object) text(field string, value gjson.Result, to *string) error {
	err := o.part(field, value, to)
	*to = strings.Clone(*to)
	return err
}

// part is like text, but the result may share memory with the body.
func (o object) part(field string, value gjson.Result, to *string) error {
	if value.Type != gjson.String && value.Type != gjson.Null {
		return o.wrongType(field, "a string", value)
	}
	*to = value.Str
	return nil
}

// number reads a number; null is 0.
func (o object) number(field string, value gjson.Result, to *float64) error {
	if value.Type != gjson.Number && value.Type != gjson.Null {
		return o.wrongType(field, "a number", value)
	}
	*to = value.Num
	return nil
}

func kindOf(value gjson.Result) string {
	switch {
	case value.IsObject():
		return "an object"
	case value.IsArray():
		return "an array"
	case value.IsBool():
		return "a boolean"
	}
	switch value.Type {
	case gjson.String:
		return "a string"
	case gjson.Number:
		return "a number"
	default:
		return "null"
	}
}
