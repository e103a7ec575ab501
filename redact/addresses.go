package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// addressMark replaces an IP address.
const addressMark = "[IP]"

// maybeAddress matches what an IP address may be part of.
var maybeAddress = regexp.MustCompile(`[0-9A-Fa-f:.]*[0-9A-Fa-f][:.][0-9A-Fa-f:.]*|::[0-9A-Fa-f:.]+`)

// Addresses returns s with IP addresses, IPv4 and IPv6, replaced by [IP]; ports and
// prefix lengths stay. It is for those who ask for it, as versions of four numbers
// look the same. Loopback and unspecified addresses stay: they are nobody's. Its
// time is linear in the length of s.
func Addresses(s string) string {
	var b strings.Builder
	done := 0
	for _, at := range maybeAddress.FindAllStringIndex(s, -1) {
		start, end := at[0], at[1]
		if start > 0 && isWord(s[start-1]) || end < len(s) && isWord(s[end]) {
			continue
		}
		length := addressIn(s[start:end])
		if length == 0 {
			continue
		}
		b.WriteString(s[done:start])
		b.WriteString(addressMark)
		done = start + length
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// addressIn returns the length of the address that s begins with, 0 for none.
func addressIn(s string) int {
	s = strings.TrimRight(s, ".:")
	a, err := netip.ParseAddr(s)
	if err != nil {
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(s)
		a = withPort.Addr()
		s = s[:max(0, strings.LastIndexByte(s, ':'))]
	}
	switch {
	case err != nil, a.IsLoopback(), a.IsUnspecified():
		return 0
	case a.Is6() && strings.Count(s, ":") < 3 && strings.IndexByte(s, ':') < 4: // a::b of a program
		return 0
	}
	return len(s)
}
