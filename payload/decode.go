package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Bodies can be eight megabytes large, of which only a few fields are read.
// They are validated once as a whole and then walked, instead of being decoded
// into unused values.

// object is a JSON object that is known to be valid.
type object struct {
	gjson.Result
	// what is the name of the whole and path the path to this part, for errors.
	what, path string
}

// field is the destination of a field's value: to is a pointer of a type that
// [object.set] knows, or a func(object, gjson.Result) error.
type field struct {
	name string
	to   any
}

// decodeEvent reads fields of the event of a body that was checked as a whole. The
// first error ends it.
func decodeEvent(raw json.RawMessage, fields ...field) error {
	o, err := view(raw, "event")
	if err != nil {
		return err
	}
	return o.read(fields...)
}

func (o object) read(fields ...field) error {
	var err error
	o.ForEach(func(name, value gjson.Result) bool {
		for i := range fields {
			if fields[i].name == name.Str {
				err = o.set(fields[i], value)
				break
			}
		}
		return err == nil
	})
	return err
}

func (o object) set(f field, value gjson.Result) error {
	switch to := f.to.(type) {
	case *string:
		return o.text(f.name, value, to)
	case *[]string:
		return o.texts(f.name, value, to)
	case *float64:
		return o.number(f.name, value, to)
	case *json.RawMessage:
		return o.object(f.name, value, to)
	case *[]Message:
		return o.messages(f.name, value, to)
	case *[]Skill:
		*to = skillsIn(value)
	case *[]Turn:
		return o.turns(f.name, value, to)
	case *Provenance:
		return o.part(f.name, value, field{"kind", &to.Kind})
	case **Classification:
		return o.classification(f.name, value, to)
	case **Tokens:
		return o.tokens(f.name, value, to)
	case **ModelUse:
		return o.modelUse(f.name, value, to)
	case *bool:
		var set *bool
		err := o.flag(f.name, value, &set)
		*to = set != nil && *set
		return err
	case **bool:
		return o.flag(f.name, value, to)
	case **KeptHints:
		return o.keptHints(f.name, value, to)
	case **LastHint:
		return o.lastHint(f.name, value, to)
	case func(object, gjson.Result) error:
		return to(o, value)
	}
	return nil
}

// part reads an object in the object; null counts as an object without fields.
func (o object) part(name string, value gjson.Result, fields ...field) error {
	if value.Type == gjson.Null {
		return nil
	}
	if !value.IsObject() {
		return o.wrongType(name, "an object", value)
	}
	return object{value, o.what, name + "."}.read(fields...)
}

// elements calls read for each object of a list; null counts as an empty list.
func (o object) elements(field string, list gjson.Result, read func(element object) error) error {
	if list.Type == gjson.Null {
		return nil
	}
	if !list.IsArray() {
		return o.wrongType(field, "an array", list)
	}
	var err error
	element := object{what: o.what, path: field + "[]."}
	list.ForEach(func(_, value gjson.Result) bool {
		if !value.IsObject() {
			err = o.wrongType(field+"[]", "an object", value)
			return false
		}
		element.Result = value
		err = read(element)
		return err == nil
	})
	return err
}

// check parses a whole body.
func check(data []byte, what string) (object, error) {
	if !valid(data) {
		return object{}, fmt.Errorf("%w: %s is not valid JSON: %w", ErrInvalid, what, json.Unmarshal(data, new(json.RawMessage)))
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return view(data, what)
}

// maxFastDepth bounds the nesting for gjson: it recurses, with a few hundred
// bytes of stack per level.
const maxFastDepth = 100_000

// valid is [json.Valid] at several times its speed. They agree except for very
// deep nesting: json.Valid accepts ten thousand levels.
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

// wrongType returns the error of a field with the wrong type.
func (o object) wrongType(field, wanted string, value gjson.Result) error {
	return fmt.Errorf("%w: %s%s of %s must be %s, not %s", ErrInvalid, o.path, field, o.what, wanted, kindOf(value))
}

// text reads a string; null counts as "". It copies: a kept field must not keep
// a large body in memory.
func (o object) text(field string, value gjson.Result, to *string) error {
	err := o.shared(field, value, to)
	*to = strings.Clone(*to)
	return err
}

// shared is like text, but the result may share memory with the body.
func (o object) shared(field string, value gjson.Result, to *string) error {
	if value.Type != gjson.String && value.Type != gjson.Null {
		return o.wrongType(field, "a string", value)
	}
	*to = value.Str
	return nil
}

// texts reads a list of strings; null counts as an empty list.
func (o object) texts(field string, list gjson.Result, to *[]string) error {
	if list.Type == gjson.Null {
		return nil
	}
	if !list.IsArray() {
		return o.wrongType(field, "an array", list)
	}
	for _, value := range list.Array() {
		var s string
		if err := o.text(field+"[]", value, &s); err != nil {
			return err
		}
		*to = append(*to, s)
	}
	return nil
}

// number reads a number; null counts as 0.
func (o object) number(field string, value gjson.Result, to *float64) error {
	if value.Type != gjson.Number && value.Type != gjson.Null {
		return o.wrongType(field, "a number", value)
	}
	*to = value.Num
	return nil
}

// flag reads a boolean; null counts as nil.
func (o object) flag(field string, value gjson.Result, to **bool) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	if !value.IsBool() {
		return o.wrongType(field, "a boolean", value)
	}
	*to = new(value.Bool())
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
