package local

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// minQuote is the length in bytes from which a quotation may obscure the
// request. A shorter one is a name or a term that belongs to the request.
const minQuote = 40

// quotes are the marks of quotations, the opening one first.
var quotes = [...][2]string{
	{"```", "```"}, {`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}, {"『", "』"},
}

// withoutQuotes returns a message without its long quotations; "" if it has none, or
// if nothing else is left.
func withoutQuotes(message string) string {
	if len(message) < minQuote || !slices.ContainsFunc(quotes[:], func(q [2]string) bool { return strings.Contains(message, q[0]) }) {
		return ""
	}
	var out strings.Builder
	rest := message
	for {
		at, after, ok := longQuote(rest)
		if !ok {
			break
		}
		out.WriteString(rest[:at])
		out.WriteByte(' ')
		rest = rest[after:]
	}
	if out.Len() == 0 {
		return ""
	}
	out.WriteString(rest)
	return strings.Trim(out.String(), " \n\t:,.-–—")
}

// longQuote finds the beginning and the end of the first long quotation.
func longQuote(s string) (start, end int, ok bool) {
	for i := 0; i < len(s); {
		mark, closing := quoteAt(s[i:])
		if mark == "" {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		n := strings.Index(s[i+len(mark):], closing)
		if n >= minQuote {
			return i, i + len(mark) + n + len(closing), true
		}
		i += len(mark)
		if n >= 0 {
			i += n + len(closing)
		}
	}
	return 0, 0, false
}

func quoteAt(s string) (opening, closing string) {
	for _, q := range quotes {
		if strings.HasPrefix(s, q[0]) {
			return q[0], q[1]
		}
	}
	return "", ""
}
