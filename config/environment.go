package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/kelseyhightower/envconfig"

	"intenthint/part"
)

// envPrefix begins the names of all variables, before a "_".
const envPrefix = "HINT"

// readEnvironment returns the values that are set, by variable, without white
// space around them; an empty value counts as not set, and one of only white space,
// which is wrong, is kept as it is.
//
// envconfig reads a struct that is made from the list of settings. The values
// stay text: envconfig stops at the first one that it cannot convert, and knows
// no file between its defaults and the environment. The fields have no tags,
// because with one envconfig would also take MODEL for HINT_MODEL.
func readEnvironment(objects []part.Object) (map[string]string, error) {
	var fields []reflect.StructField
	for _, s := range withObjects(objects) {
		if name := s.env(); name != "" {
			fields = append(fields, reflect.StructField{Name: strings.TrimPrefix(name, envPrefix+"_"), Type: reflect.TypeFor[string]()})
		}
	}
	read := reflect.New(reflect.StructOf(fields))
	if err := envconfig.Process(envPrefix, read.Interface()); err != nil {
		return nil, fmt.Errorf("reading the environment: %w", err)
	}
	values := make(map[string]string)
	for i, field := range fields {
		if text := read.Elem().Field(i).String(); text != "" {
			values[envPrefix+"_"+field.Name] = cmp.Or(strings.TrimSpace(text), text)
		}
	}
	return values, nil
}

// upper turns the name of a field into that of a variable without its prefix:
// natsUrl is NATS_URL. A name in capitals is unchanged.
func upper(field string) string {
	var b strings.Builder
	lower := false // the character before
	for _, r := range field {
		if lower && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// unknownVariables warns of variables that have our prefix and no meaning.
func unknownVariables(environ []string, objects []part.Object) []Warning {
	all := withObjects(objects)
	var warnings []Warning
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") && !slices.ContainsFunc(all, func(s setting) bool { return s.env() == name }) {
			warnings = append(warnings, Warning{Variable: name, Message: "no such variable, see consumer run --help"})
		}
	}
	return warnings
}
