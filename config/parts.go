package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"intenthint/part"
)

// objectSetting returns the setting of a part: one JSON object.
func objectSetting(o part.Object) setting {
	return setting{
		field: o.Name(), def: "{}", shown: "off", kind: kindObject, object: o,
		doc: `JSON {"enabled": true, …}; ` + o.Help(),
		set: func(c *Config, text string) error {
			v, err := parseObject(o, text)
			if err == nil {
				c.Parts = maps.Clone(c.Parts)
				if c.Parts == nil {
					c.Parts = part.Values{}
				}
				c.Parts[o.Name()] = v
			}
			return err
		},
		get: func(c *Config) any { return objectValue{o, c.Parts[o.Name()]} },
	}
}

// VariableOf returns the variable of a part's settings, "" for none.
func VariableOf(o part.Object) string {
	if o == nil {
		return ""
	}
	return objectSetting(o).env()
}

// objectValue is the settings of a part.
type objectValue struct {
	object   part.Object
	settings any
}

// MarshalJSON implements [json.Marshaler].
func (v objectValue) MarshalJSON() ([]byte, error) { return part.JSON(v.object, v.settings) }

// parseObject parses the settings of a part.
func parseObject(o part.Object, text string) (any, error) {
	var values map[string]any
	if err := decodeObject(text, &values); err != nil {
		return nil, fmt.Errorf("must be a JSON object (%w)", err)
	}
	settings := o.New()
	err := putFields(o, settings, values)
	if err == nil {
		err = o.Check(settings)
	}
	if err != nil {
		return nil, fmt.Errorf("must be a JSON object with valid fields: %w", err)
	}
	return settings, nil
}

// putFields sets the fields of settings to values. The error names the unknown and the
// invalid ones. null counts as not set.
func putFields(o part.Object, settings any, values map[string]any) error {
	var wrong []string
	fields := o.Fields()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(fields, func(f part.Field) bool { return f.Name == name })
		switch {
		case i < 0:
			wrong = append(wrong, fmt.Sprintf("unknown field %q", name))
		case values[name] != nil && !fields[i].Put(settings, values[name]):
			wrong = append(wrong, wrongField(fields[i], values[name]))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// wrongField returns what is wrong with the value of a field.
func wrongField(f part.Field, value any) string {
	if f.Wrong != nil {
		if wrong := f.Wrong(value); wrong != "" {
			return f.Name + ": " + wrong
		}
	}
	return f.Name + " must be " + f.Allowed
}

// keepObject keeps the fields of a part that need a restart as they are in a running
// configuration, and returns the names of those that differ.
func (c *Config) keepObject(next *Config, o part.Object) (fields []string) {
	kept, fields := part.Keep(o, c.Parts[o.Name()], next.Parts[o.Name()])
	next.Parts[o.Name()] = kept
	return fields
}

var _ json.Marshaler = objectValue{}
