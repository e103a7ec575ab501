package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/kelseyhightower/envconfig"
)

// envPrefix begins the names of all variables, before a "_".
const envPrefix = "HINT"

// readEnvironment returns the values that are set, by variable, without white
// space around them; an empty value counts as not set.
//
// envconfig reads a struct that is made from the list of settings. The values
// stay text: envconfig stops at the first one that it cannot convert, and knows
// no file between its defaults and the environment. The fields have no tags,
// because with one envconfig would also take MODEL for HINT_MODEL.
func readEnvironment() (map[string]string, error) {
	var fields []reflect.StructField
	for _, s := range settings {
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
		if text := strings.TrimSpace(read.Elem().Field(i).String()); text != "" {
			values[envPrefix+"_"+field.Name] = text
		}
	}
	return values, nil
}

// upper turns the name of a field into that of a variable without its prefix:
// natsUrl is NATS_URL. A name in capitals stays as it is.
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
func unknownVariables(environ []string) []Warning {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	var warnings []Warning
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") && !slices.Contains(known, name) {
			warnings = append(warnings, Warning{Variable: name, Message: "no such variable" + suggestion(name, known)})
		}
	}
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Variable, b.Variable) })
	return warnings
}

// suggestion asks whether the nearest of the known names was meant: the one
// that takes the fewest edits, else one that name is the beginning of.
func suggestion(name string, known []string) string {
	short := func(name string) string { return strings.TrimPrefix(upper(name), envPrefix+"_") }
	given := short(name)
	best, limit := "", max(2, len(given)/3)
	for _, candidate := range known {
		// Every edit changes the length by one at most.
		if len(given)-len(candidate) > limit {
			continue
		}
		if d := editDistance(given, short(candidate)); d <= limit {
			best, limit = candidate, d-1
		}
	}
	if best == "" {
		i := slices.IndexFunc(known, func(candidate string) bool { return strings.HasPrefix(short(candidate), given+"_") })
		if i < 0 {
			return ""
		}
		best = known[i]
	}
	return "; did you mean " + best + "?"
}

// editDistance counts the insertions, deletions and substitutions that turn one
// string into another, byte by byte.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
