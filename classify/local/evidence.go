package local

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxGoal  = 160 // characters of a goal
	maxQuote = 100 // characters of an example in a reason
)

// oneLine returns s on one line, white space folded, at most limit characters.
func oneLine(s string, limit int) string {
	if isOneLine(s, limit) {
		return s
	}
	var b strings.Builder
	n, space := 0, false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError && size == 1 {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= limit-1 && i < len(s) && strings.TrimSpace(s[i:]) != "" {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

func isOneLine(s string, limit int) bool {
	if len(s) > limit || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= utf8.RuneSelf || s[i] == 0x7F || s[i] == ' ' && s[i+1] == ' ' {
			return false
		}
	}
	return true
}
