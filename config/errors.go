package config

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"intenthint/internal/text"
	"intenthint/redact"
)

// Problem is one wrong value.
type Problem struct {
	// Variable is the environment variable; HINT_CONFIG for a value of a file.
	Variable string
	// Path and Field say where in a file the value stands; "" otherwise.
	Path, Field string
	// Value is what was given; String prints it without secrets.
	Value string
	// Allowed begins with "must" and says what is allowed, and what is wrong
	// with this value.
	Allowed string
}

func (p Problem) because(err error) Problem {
	p.Allowed = err.Error()
	return p
}

// field returns the name of the setting that the value is for.
func (p Problem) field() string {
	if p.Field != "" {
		return p.Field
	}
	s, _ := find(p.Variable)
	return s.field
}

// String returns one line: variable, value, what is allowed.
func (p Problem) String() string {
	value, in := p.Value, ""
	if s, ok := find(p.field()); ok && s.secret {
		value = redact.Masked
	} else if ok && s.hide != nil {
		value = s.hide(value)
	}
	if p.Field != "" {
		in = quote(p.Path) + ": " + p.Field + "="
	}
	return p.Variable + "=" + in + quote(value) + ": " + text.OneLine(redact.Setting(p.Allowed), maxLine)
}

// Errors are all wrong values of a configuration, sorted by variable. They end
// the program with exit code 2 (contract §9).
type Errors []Problem

// Error returns one line for each wrong value.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Variable, b.Variable), cmp.Compare(a.Field, b.Field))
	})
}

// concern reports whether one of the values belongs to one of these settings.
func (e Errors) concern(fields ...string) bool {
	return slices.ContainsFunc(e, func(p Problem) bool { return slices.Contains(fields, p.field()) })
}

// Warning is something that an operator should know but that does not prevent
// the start.
type Warning struct {
	Variable string
	Message  string
}

// String returns one line.
func (w Warning) String() string {
	return w.Variable + ": " + text.OneLine(redact.Setting(w.Message), maxLine)
}

const (
	maxShown = 240  // characters of a value in an error
	maxLine  = 4096 // characters of a message: none of ours is that long
)

// quote prints a value on one line, without secrets and cut to [maxShown]
// characters. Text that contains quotes, such as JSON, stays readable.
func quote(value string) string {
	value = text.Clip(redact.Setting(value), maxShown)
	if strings.ContainsAny(value, `"\`) && strconv.CanBackquote(value) {
		return "`" + value + "`"
	}
	return strconv.Quote(value)
}

// hideProviders removes every string from HINT_PROVIDERS except those of the
// fields that hold no secret: an operator may have put a key in place of the
// name of its variable, under any name.
func hideProviders(value string) string {
	return redact.Strings(value, "baseUrl", "api", "apiKeyEnv")
}

// plainError returns the reason of a file error, without the path, which is
// printed separately.
func plainError(err error) string {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
