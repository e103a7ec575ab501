package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// addressMark replaces an IP address.
const addressMark = "[IP]"

var (
	ipv4 = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
	// ipv6 matches all that can be one, as far as it goes.
	ipv6 = regexp.MustCompile(`[0-9A-Fa-f:.]{3,}`)
	// longGroup distinguishes an IPv6 address from a::b of a program and from the
	// address of a network card.
	longGroup = regexp.MustCompile(`[0-9A-Fa-f]{3}`)
)

// Addresses returns s with IP addresses, IPv4 and IPv6, replaced by [IP]; ports and
// prefix lengths stay. It is for those who ask for it, as versions of four numbers
// look the same. Loopback and unspecified addresses stay: they are nobody's. Its
// time is linear in the length of s.
func Addresses(s string) string {
	for range maxRounds { // a mark changes the surroundings of other text
		out := addresses(s)
		if out == s {
			return s
		}
		s = out
	}
	return addressMark
}

func addresses(s string) string {
	s = replaced(s, ipv6, func(run string) (start, end int) {
		if strings.IndexByte(run, ':') < 0 {
			return 0, 0
		}
		if !strings.HasPrefix(run, "::") {
			start = len(run) - len(strings.TrimLeft(run, ":."))
		}
		end = len(strings.TrimRight(run, "."))
		if !strings.HasSuffix(run[:end], "::") {
			end = len(strings.TrimRight(run[:end], ":"))
		}
		if start >= end || !longGroup.MatchString(run[start:end]) {
			return 0, 0
		}
		return start, end
	})
	return replaced(s, ipv4, func(run string) (start, end int) { return 0, len(run) })
}

// replaced replaces the addresses in the matches of a pattern; part returns where in a
// match the address is, an empty part for none.
func replaced(s string, pattern *regexp.Regexp, part func(run string) (start, end int)) string {
	var b strings.Builder
	done := 0
	for _, at := range pattern.FindAllStringIndex(s, -1) {
		start, end := part(s[at[0]:at[1]])
		start, end = at[0]+start, at[0]+end
		a, err := netip.ParseAddr(s[start:end])
		if err != nil || a.IsLoopback() || a.IsUnspecified() || joined(s[:start], s[end:]) {
			continue
		}
		b.WriteString(s[done:start])
		b.WriteString(addressMark)
		done = end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// joined reports whether what may be an address is part of something longer: a word,
// or a number with more dots.
func joined(before, after string) bool {
	if n := len(before); n > 0 && isAlnum(before[n-1]) && !isEscape([]byte(before[max(0, n-2):])) {
		return true
	}
	if n := len(before); n > 1 && before[n-1] == '.' && isDigit(before[n-2]) && (n < 3 || before[n-3] != '.') {
		return true
	}
	return len(after) > 0 && (isAlnum(after[0]) || len(after) > 1 && after[0] == '.' && isDigit(after[1]))
}
