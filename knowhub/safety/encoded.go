package safety

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unescape replaces the escapes of HTML, URLs and string literals.
func unescape(s string) string {
	if strings.Contains(s, "&") {
		s = html.UnescapeString(s)
	}
	if strings.Contains(s, "%") {
		s = percent.ReplaceAllStringFunc(s, func(run string) string {
			if to, err := url.PathUnescape(run); err == nil && utf8.ValidString(to) {
				return to
			}
			return run
		})
	}
	if strings.Contains(s, `\`) {
		s = literal.ReplaceAllStringFunc(s, func(escape string) string {
			n, err := strconv.ParseUint(strings.Trim(escape[2:], "{}"), 16, 32)
			if err != nil || n > unicode.MaxRune {
				return escape
			}
			return string(rune(n))
		})
	}
	return s
}

var (
	percent = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)
	literal = regexp.MustCompile(`\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}`)
)

// Minimum lengths of encoded texts: eight letters have no meaning.
const (
	minBase64 = 16
	minHex    = 24
)

var (
	// encoded matches runs of base64 or hexadecimal characters.
	encoded = regexp.MustCompile(`[0-9A-Za-z+/_-]{16,}`)
	// pairs matches bytes in hexadecimal digits with separators.
	pairs = regexp.MustCompile(`(?:[0-9A-Fa-f]{2}[ ,:]){11,}[0-9A-Fa-f]{2}`)
)

// decoded returns the texts that s contains in an encoding.
func decoded(s string) []string {
	var out []string
	for _, run := range encoded.FindAllString(s, -1) {
		if len(run) >= minHex && len(run)%2 == 0 {
			if to, err := hex.DecodeString(run); err == nil && readable(to) {
				out = append(out, string(to))
				continue
			}
		}
		coding := base64.RawStdEncoding
		if strings.ContainsAny(run, "-_") {
			coding = base64.RawURLEncoding
		}
		// A letter that remains at the end belongs to something else.
		if len(run)%4 == 1 {
			run = run[:len(run)-1]
		}
		if to, err := coding.DecodeString(run); err == nil && len(run) >= minBase64 && readable(to) {
			out = append(out, string(to))
		}
	}
	for _, run := range pairs.FindAllString(s, -1) {
		if to, err := hex.DecodeString(apart.Replace(run)); err == nil && readable(to) {
			out = append(out, string(to))
		}
	}
	// Reversed or letter-substituted text is decoded only if it contains a word
	// that every attack needs.
	lower := strings.ToLower(s)
	if containsAny(lower, "vafgehpgvba", "cebzcg", "vtaber") {
		out = append(out, strings.Map(rot13, s))
	}
	if containsAny(lower, "noitcurtsni", "tpmorp", "erongi") {
		runes := []rune(s)
		slices.Reverse(runes)
		out = append(out, string(runes))
	}
	return out
}

var apart = strings.NewReplacer(" ", "", ",", "", ":", "")

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// readable reports whether bytes are text: random bytes that happen to be UTF-8
// contain control characters.
func readable(b []byte) bool {
	if len(b) == 0 || !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// unseen returns the texts that s contains in invisible characters: tag
// characters, which encode ASCII, and variation selectors, of which there are
// 256, one per byte.
func unseen(s string) (out []string) {
	if !strings.Contains(s, "\xf3\xa0") && !strings.Contains(s, "\xef\xb8") {
		return nil
	}
	var tags strings.Builder
	var selected []byte
	for _, r := range s {
		switch {
		case 0xE0020 <= r && r <= 0xE007E:
			tags.WriteRune(r - 0xE0000)
		case 0xFE00 <= r && r <= 0xFE0F:
			selected = append(selected, byte(r-0xFE00))
		case 0xE0100 <= r && r <= 0xE01EF:
			selected = append(selected, byte(r-0xE0100+16))
		}
	}
	if tags.Len() > 0 {
		out = append(out, tags.String())
	}
	if readable(selected) {
		out = append(out, string(selected))
	}
	return out
}
