package conversation

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSenderBytes bounds the name of a sender with its colon.
const maxSenderBytes = 100

// identified matches a sender with a number or an address: "Ada (+49…)", "+49…".
var identified = regexp.MustCompile(`^(?:[^:\n]{1,60} \((?:@[^()\n]{1,40}|[^()\s]*\d[^()\s]*)\)|\+\d{6,15}|\((?:self|sender)\))$`)

// stampHead matches an envelope that is only a time. No sender follows it.
var stampHead = regexp.MustCompile(`^(?:\p{L}{2,3},? )?\d{4}-\d{2}-\d{2}`)

// senderPrefix returns the length of the sender that the gateway repeats behind
// an envelope: "[WhatsApp Ada +2m …] Ada: words".
func senderPrefix(rest, header string) int {
	if stampHead.MatchString(header) {
		return 0
	}
	line := rest[:min(endOfLine(rest), maxSenderBytes)]
	i := strings.Index(line, ": ")
	if i < 0 {
		return 0
	}
	name := strings.TrimSpace(line[:i])
	isGroup := strings.Contains(header, " id:") || strings.Contains(header, "#") || strings.Contains(header, "Group")
	if len(name) > 1 && (strings.Contains(header, name) || identified.MatchString(name) || isGroup && isSender(name)) {
		return i + len(": ")
	}
	return 0
}

// isSender reports whether a bracket at the beginning is a person's name: up to
// four words, each with a capital or of a script without them, and no mark that
// people put in front of a text themselves ("[WIP]", "[Draft]", "[x]").
func isSender(s string) bool {
	const maxNameChars, maxNameWords = 40, 4 // beyond that it is a sentence
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > maxNameWords || utf8.RuneCountInString(s) > maxNameChars || utf8.RuneCountInString(s) < 2 || ownMarks[strings.ToLower(s)] {
		return false
	}
	shouted, hasLetter := true, false
	for _, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		marked := first == '@' || strings.ContainsAny(word, "_0123456789")
		if unicode.IsLower(first) && !marked {
			return false
		}
		for _, c := range word {
			switch {
			case unicode.IsLetter(c), unicode.IsMark(c):
				hasLetter = true
				shouted = shouted && unicode.IsUpper(c)
			case unicode.IsDigit(c), strings.ContainsRune("'’._-@()+#·", c):
			default:
				return false
			}
		}
	}
	return hasLetter && !shouted
}

// isNamed reports whether a label that may be a sender is one, and no subject of the
// message behind it: "[Ada Lovelace]" and "[ada_42]" are, "[Berlin]" and "[Weekly
// Report]" are not. A name in Chinese, Japanese or Korean begins with a surname.
func isNamed(label string) bool {
	first, _ := utf8.DecodeRuneInString(label)
	lower := strings.ToLower(label)
	switch {
	case strings.ContainsAny(label, "@_0123456789"):
		return true
	case places[lower]:
		return false
	case unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return isEastAsianName(label)
	}
	for word := range strings.FieldsSeq(lower) {
		if subjectWords[strings.Trim(word, "()'’.")] {
			return false
		}
	}
	return true
}

func isEastAsianName(label string) bool {
	const maxChars = 4 // of a name in characters, without a title
	for _, title := range honorifics {
		if name, ok := strings.CutSuffix(label, title); ok && name != "" {
			return true
		}
	}
	if utf8.RuneCountInString(label) > maxChars || places[label] {
		return false
	}
	first, size := utf8.DecodeRuneInString(label)
	if surnames[string(first)] && len(label) > size {
		return true
	}
	for n := range label[size:] {
		if n > 0 && surnames[label[:size+n]] {
			return true
		}
	}
	return surnames[label]
}

// named matches a sender's name in the block of a gateway that describes one.
var named = regexp.MustCompile(`"(?:name|label|username|sender|sender_label|sender_name)"\s*:\s*"([^"\\\n]{1,60})"`)

// sender notes whom the context of a prompt names.
func (r *reading) sender(block string) {
	const maxBlock = 4096 // bytes; a gateway describes the sender in less
	for _, found := range named.FindAllStringSubmatch(block[:min(len(block), maxBlock)], -1) {
		if r.senders == nil {
			r.senders = map[string]bool{}
		}
		r.senders[found[1]] = true
	}
}
