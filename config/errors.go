package config

import (
	"cmp"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"intenthint/internal/text"
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
		value = masked
	} else if ok && s.hide != nil {
		value = s.hide(value)
	}
	if p.Field != "" {
		in = quote(p.Path) + ": " + p.Field + "="
	}
	return p.Variable + "=" + in + quote(value) + ": " + text.OneLine(redact(p.Allowed), maxLine)
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
func (w Warning) String() string { return w.Variable + ": " + text.OneLine(redact(w.Message), maxLine) }

const (
	maxShown = 240  // characters of a value in an error
	maxLine  = 4096 // characters of a message: none of ours is that long
)

// quote prints a value on one line, without secrets and cut to [maxShown]
// characters. Text that contains quotes, such as JSON, stays readable.
func quote(value string) string {
	value = text.Clip(redact(value), maxShown)
	if strings.ContainsAny(value, `"\`) && strconv.CanBackquote(value) {
		return "`" + value + "`"
	}
	return strconv.Quote(value)
}

const masked = "***"

var (
	// Fields and headers that hold secrets, in JSON or near it.
	secretField = regexp.MustCompile(`(?i)([\w-]*(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|authorization|credentials?)\\?["']?\s*[:=]\s*)(\\?"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s,"'{}\[\]]+)`)
	// Keys of model providers, NATS seeds and JSON web tokens.
	secretShape = regexp.MustCompile(`\b(?:sk|pk|rk|gsk|hf|ghp|gho|ghs|nvapi|xai|xox[abp])[-_][A-Za-z0-9_-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bS[UAONCX][A-Z2-7]{54,}|\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*`)
	// The part between the scheme of a URL and its host.
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"',` + "`" + `]*@`)
)

// redact removes secrets from text to be printed.
func redact(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+masked+"@")
	text = secretField.ReplaceAllStringFunc(text, func(m string) string {
		parts := secretField.FindStringSubmatch(m)
		if value := strings.Trim(parts[2], `"'\`); value == "true" || value == "false" || value == "" {
			return m
		}
		return parts[1] + `"` + masked + `"`
	})
	return secretShape.ReplaceAllString(text, masked)
}

// redactServers removes whatever may be a user, a password or a token from a
// list of NATS servers, with or without schemes and however malformed.
func redactServers(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme := ""
	if i := strings.Index(text[:at], "://"); i >= 0 {
		scheme = text[:i+len("://")]
	}
	return scheme + masked + text[at:]
}

var jsonString = regexp.MustCompile(`("[^"\\]*"\s*:\s*)"(?:\\.|[^"\\])*"?`)

// redactProviders removes every string from HINT_PROVIDERS except those of the
// fields that hold no secret: an operator may have put a key in place of the
// name of its variable, under any name.
func redactProviders(text string) string {
	return jsonString.ReplaceAllStringFunc(text, func(m string) string {
		field := jsonString.FindStringSubmatch(m)[1]
		switch name := strings.Split(field, `"`)[1]; name {
		case "baseUrl", "api", "apiKeyEnv":
			return m
		}
		return field + `"` + masked + `"`
	})
}

// plainError returns the reason of a file error, without the path, which is
// printed separately.
func plainError(err error) string {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
