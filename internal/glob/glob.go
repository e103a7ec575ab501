// Package glob matches names with the patterns of the settings: `*` stands for any
// run of characters and `?` for one, ignoring case (contract §7).
package glob

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MatchAny reports whether value matches one of the patterns.
func MatchAny(patterns []string, value string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, value) })
}

// Match reports whether value matches a pattern, in time proportional to the
// product of their lengths.
func Match(pattern, value string) bool {
	// The position after the last star, and how much of value that star took.
	star, taken := -1, 0
	p, v := 0, 0
	for v < len(value) {
		vr, vn := utf8.DecodeRuneInString(value[v:])
		pr, pn := utf8.DecodeRuneInString(pattern[p:])
		switch {
		case pn > 0 && pr == '*':
			p += pn
			star, taken = p, v
		case pn > 0 && (pr == '?' || pr == vr || unicode.ToLower(pr) == unicode.ToLower(vr)):
			p += pn
			v += vn
		case star >= 0:
			_, n := utf8.DecodeRuneInString(value[taken:])
			taken += n
			p, v = star, taken
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
