package glob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pattern, value string
		want           bool
	}{
		"equal":                          {"MAIN", "MAIN", true},
		"any case":                       {"main", "MAIN", true},
		"any case of other letters":      {"ÄÖ", "äö", true},
		"different":                      {"main", "maim", false},
		"prefix is not enough":           {"main", "main2", false},
		"value too short":                {"main", "mai", false},
		"star":                           {"*", "anything", true},
		"star matches nothing":           {"*", "", true},
		"empty pattern":                  {"", "a", false},
		"both empty":                     {"", "", true},
		"star behind":                    {"MEMORY_*", "memory_lookup", true},
		"star behind matches nothing":    {"MEMORY_*", "MEMORY_", true},
		"star in front":                  {"*_LOOKUP", "MEMORY_LOOKUP", true},
		"star goes back":                 {"*ab", "aabab", true},
		"two stars":                      {"a*b*c", "aXbYbZc", true},
		"two stars without the last":     {"a*b*c", "aXbYbZ", false},
		"question mark":                  {"A?C", "abc", true},
		"question mark wants one":        {"A?C", "ac", false},
		"question mark is one character": {"?", "記", true},
		"question mark at the end":       {"ab?", "ab", false},
		"brackets mean themselves":       {"[ab]", "a", false},
		"brackets match brackets":        {"[ab]", "[ab]", true},
		"a backslash means itself":       {`a\b`, `a\b`, true},
		"a slash is a character":         {"a*c", "a/b/c", true},
		"a slash under a question mark":  {"a?b", "a/b", true},
		"trailing stars":                 {"a***", "a", true},
		"invalid bytes":                  {"a*\xff", "ab\xff", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, Match(c.pattern, c.value))
		})
	}
}

func TestMatchIsNotExponential(t *testing.T) {
	t.Parallel()
	require.False(t, Match(strings.Repeat("a*", 100)+"b", strings.Repeat("a", 2000)))
}
