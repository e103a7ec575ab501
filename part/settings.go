package part

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
)

// Object is the JSON object of a part's settings, as those who read settings see it:
// HINT_<NAME> in the environment, the field <name> in a file. [Declare] makes one. A
// value of its settings is passed as any; it is what New returns.
type Object interface {
	Name() string
	Help() string
	Fields() []Field
	// New returns the defaults.
	New() any
	// Check returns an error for fields that do not fit together.
	Check(settings any) error
	// Doubt returns a field that is allowed and has no effect, and why; field is "" for
	// none. model is the program's own model, "" for none.
	Doubt(settings any, model string) (field, message string)
}

// Field is one field of an [Object]; [Set] makes one.
type Field struct {
	Name string
	// Allowed are the values, as in "must be ALLOWED".
	Allowed string
	Help    string
	// Restart means that a running process keeps the value it started with.
	Restart bool
	// Model means that the value names a model as provider/model.
	Model bool
	// Shown is the default that the gateway shows; nil for none.
	Shown any

	// Put sets the field of settings to a value as JSON decodes it; ok is false, and
	// nothing is set, if the value is not allowed. Get returns what JSON encodes.
	Put func(settings, value any) (ok bool)
	Get func(settings any) any
	// Wrong is that of the [Rule].
	Wrong func(value any) string
	// copy sets the field to that of other settings.
	copy func(to, from any)
}

// Set declares a field of S with its default.
func Set[S, T any](name string, at func(*S) *T, def T, r Rule[T], help string) Declaration[S] {
	return Declaration[S]{
		def: func(s *S) { *at(s) = def },
		Field: Field{
			Name: name, Allowed: r.Allowed, Help: help, Model: r.model, Wrong: r.Wrong,
			Put: func(settings, value any) bool {
				v, ok := r.Parse(value)
				if ok {
					*at(settings.(*S)) = v
				}
				return ok
			},
			Get: func(settings any) any {
				v := *at(settings.(*S))
				if r.Show != nil {
					return r.Show(v)
				}
				return v
			},
			copy: func(to, from any) { *at(to.(*S)) = *at(from.(*S)) },
		},
	}
}

// Declaration is a [Field] of S and its default.
type Declaration[S any] struct {
	Field
	def func(*S)
}

// AtStart makes a running process keep the value it started with.
func (d Declaration[S]) AtStart() Declaration[S] {
	d.Restart = true
	return d
}

// Showing makes the gateway show a default, as JSON has it.
func (d Declaration[S]) Showing(def any) Declaration[S] {
	d.Shown = def
	return d
}

// Settings is an [Object] whose settings are an S.
type Settings[S any] struct {
	name, help string
	fields     []Field
	defaults   []func(*S)
	check      func(*S) error
	doubt      func(s *S, model string) (field, message string)
}

// Declare declares the settings of a part, with the fields in the order in which they
// are shown. One of them is "enabled".
func Declare[S any](name, help string, fields ...Declaration[S]) *Settings[S] {
	d := &Settings[S]{name: name, help: help}
	for _, f := range fields {
		d.fields = append(d.fields, f.Field)
		d.defaults = append(d.defaults, f.def)
	}
	return d
}

// Checked adds a check of fields that depend on each other.
func (d *Settings[S]) Checked(check func(*S) error) *Settings[S] {
	d.check = check
	return d
}

// Doubted adds what is allowed and has no effect, see [Object].
func (d *Settings[S]) Doubted(doubt func(s *S, model string) (field, message string)) *Settings[S] {
	d.doubt = doubt
	return d
}

// Values are the settings of all parts, by the name of their object. They and what
// they hold are immutable.
type Values map[string]any

// In returns the settings among values: the defaults where they are missing.
func (d *Settings[S]) In(values Values) *S {
	if s, ok := values[d.name].(*S); ok {
		return s
	}
	return d.New().(*S)
}

// With returns values with changed settings.
func (d *Settings[S]) With(values Values, change func(*S)) Values {
	s := *d.In(values)
	change(&s)
	out := maps.Clone(values)
	out[d.name] = &s
	return out
}

// Name implements [Object].
func (d *Settings[S]) Name() string { return d.name }

// Help implements [Object].
func (d *Settings[S]) Help() string { return d.help }

// Fields implements [Object].
func (d *Settings[S]) Fields() []Field { return d.fields }

// New implements [Object].
func (d *Settings[S]) New() any {
	s := new(S)
	for _, set := range d.defaults {
		set(s)
	}
	return s
}

// Check implements [Object].
func (d *Settings[S]) Check(settings any) error {
	if d.check == nil {
		return nil
	}
	return d.check(settings.(*S))
}

// Doubt implements [Object].
func (d *Settings[S]) Doubt(settings any, model string) (field, message string) {
	if d.doubt == nil {
		return "", ""
	}
	return d.doubt(settings.(*S), model)
}

// enabled is the field with which a part is turned on.
const enabled = "enabled"

// On reports whether settings turn their part on.
func On(o Object, settings any) bool {
	for _, f := range o.Fields() {
		if f.Name == enabled {
			return f.Get(settings) == true
		}
	}
	return true
}

// Models returns the models that settings name, none of a part that is off.
func Models(o Object, settings any) []string {
	var out []string
	for _, f := range o.Fields() {
		if ref, _ := f.Get(settings).(string); f.Model && ref != "" && On(o, settings) {
			out = append(out, ref)
		}
	}
	return out
}

// Keep returns next with the fields that need a restart as they are in running, and
// the names of those that differ. A part that is turned off keeps all fields: the rest
// of its object is that of a part that is off.
func Keep(o Object, running, next any) (kept any, fields []string) {
	if On(o, running) && !On(o, next) {
		return running, []string{enabled}
	}
	kept = o.New()
	for _, f := range o.Fields() {
		from := next
		if f.Restart {
			if !reflect.DeepEqual(f.Get(running), f.Get(next)) {
				fields = append(fields, f.Name)
			}
			from = running
		}
		f.copy(kept, from)
	}
	return kept, fields
}

// JSON returns settings as a JSON object with all fields, in their order.
func JSON(o Object, settings any) ([]byte, error) {
	return encode(o, func(f Field) any { return f.Get(settings) })
}

// Schema returns the JSON schemas of an object's fields, by name and in their order, as
// the manifest of the gateway's plugin has them. They say what is allowed and refuse
// nothing: the gateway does not start on a configuration that a plugin's schema refuses.
func Schema(o Object) ([]byte, error) {
	return encode(o, func(f Field) any {
		s := map[string]any{"description": cmp.Or(f.Help, strings.ToUpper(f.Allowed[:1])+f.Allowed[1:]+".")}
		if f.Shown != nil {
			s["default"] = f.Shown
		}
		return s
	})
}

// encode returns a JSON object with a value for each field of o.
func encode(o Object, valueOf func(Field) any) ([]byte, error) {
	var b bytes.Buffer
	for i, f := range o.Fields() {
		value, err := json.Marshal(valueOf(f))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(strconv.Quote(f.Name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
