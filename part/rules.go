package part

import (
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Rule tells which values a field may have.
type Rule[T any] struct {
	// Allowed are the values, as in "must be ALLOWED".
	Allowed string
	// Parse returns a value that JSON has decoded; ok is false if it is not allowed.
	Parse func(value any) (v T, ok bool)
	// Wrong returns what is wrong inside a value that is not allowed; nil, or "", to say
	// that it must be Allowed.
	Wrong func(value any) string
	// Show returns what JSON encodes; nil means the value itself.
	Show func(T) any

	model bool
}

// Rules of plain values.
var (
	Flag = Rule[bool]{Allowed: "true or false", Parse: plain[bool](nil)}
	Text = Rule[string]{Allowed: "a string", Parse: plain[string](nil)}
	// Texts are strings; the gateway also takes a single one.
	Texts = Rule[[]string]{Allowed: "an array of strings", Parse: texts}
	// Model is provider/model, "" for none.
	Model = Rule[string]{
		Allowed: "provider/model", model: true,
		Parse: plain(func(ref string) bool { return ref == "" || IsModel(ref) }),
	}
	// Token is a token that a client can send in a header, "" for none.
	Token = Rule[string]{Allowed: TokenRule, Parse: plain(IsToken)}
	// Address is host:port.
	Address = Rule[string]{Allowed: "host:port", Parse: plain(func(addr string) bool {
		_, port, err := net.SplitHostPort(addr)
		n, wrong := strconv.Atoi(port)
		return err == nil && wrong == nil && n >= 0 && n <= 65535
	})}
)

// TextsOf is a JSON object of strings, by what is named in the wording.
func TextsOf(what string) Rule[map[string]string] {
	return Rule[map[string]string]{
		Allowed: `{"<` + what + `>": "…"}`,
		Parse: func(value any) (map[string]string, bool) {
			object, ok := value.(map[string]any)
			out := make(map[string]string, len(object))
			for name, v := range object {
				text, isText := v.(string)
				out[name], ok = text, ok && isText
			}
			return out, ok
		},
	}
}

// Whole is a whole number in a range.
func Whole(lowest, highest int) Rule[int] {
	return Rule[int]{
		Allowed: fmt.Sprintf("a whole number from %d to %d", lowest, highest),
		Parse: func(value any) (int, bool) {
			n, ok := value.(float64)
			return int(n), ok && n == math.Trunc(n) && n >= float64(lowest) && n <= float64(highest)
		},
	}
}

// Milliseconds is a time in whole milliseconds.
func Milliseconds(lowest, highest int) Rule[time.Duration] {
	whole := Whole(lowest, highest)
	return Rule[time.Duration]{
		Allowed: whole.Allowed,
		Parse: func(value any) (time.Duration, bool) {
			ms, ok := whole.Parse(value)
			return time.Duration(ms) * time.Millisecond, ok
		},
		Show: func(d time.Duration) any { return d.Milliseconds() },
	}
}

// Number is a number in a range.
func Number(lowest, highest float64) Rule[float64] {
	return Rule[float64]{
		Allowed: fmt.Sprintf("a number from %v to %v", lowest, highest),
		Parse:   plain(func(n float64) bool { return n >= lowest && n <= highest }),
	}
}

// OneOf is one of a few words.
func OneOf(words ...string) Rule[string] {
	return Rule[string]{
		Allowed: strings.Join(words, " or "),
		Parse:   plain(func(word string) bool { return slices.Contains(words, word) }),
	}
}

// plain parses a value whose type in JSON is T; holds may be nil.
func plain[T any](holds func(T) bool) func(any) (T, bool) {
	return func(value any) (T, bool) {
		v, ok := value.(T)
		return v, ok && (holds == nil || holds(v))
	}
}

func texts(value any) ([]string, bool) {
	list, ok := value.([]any)
	out := make([]string, len(list))
	for i, v := range list {
		text, isText := v.(string)
		out[i], ok = text, ok && isText
	}
	return out, ok
}

var modelRef = regexp.MustCompile(`^[^/\s]+/\S+$`)

// IsModel reports whether a text is provider/model.
func IsModel(text string) bool { return modelRef.MatchString(text) }

// TokenRule says what [IsToken] allows.
const TokenRule = "text without white space around it and without control characters"

// IsToken reports whether a client can send a text in a header; "" is no token.
func IsToken(text string) bool {
	return text == strings.TrimSpace(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

var days = regexp.MustCompile(`^(\d{1,5})d(.*)$`)

var (
	errDuration     = errors.New("must be a duration such as 336h, 14d or 90m, or 0")
	errLongDuration = errors.New(errDuration.Error() + " (it is negative or too long)")
)

// ParseDuration parses a Go duration of 0 or more that may begin with whole days (14d).
func ParseDuration(text string) (time.Duration, error) {
	total, rest := time.Duration(0), text
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // At most five digits.
		total, rest = time.Duration(n)*24*time.Hour, m[2]
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return 0, errDuration
		}
		total += d
	}
	if total < 0 {
		return 0, errLongDuration
	}
	return total, nil
}
