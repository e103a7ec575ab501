package local

import (
	"strings"
	"unicode"
)

// assertions returns the parts of a trigger that state when the intent applies.
// A sentence or clause that states when it does not apply ("Not for greetings,
// see CHAT") describes messages of other intents and would train the opposite.
func assertions(trigger string) []string {
	var out []string
	if strings.TrimSpace(trigger) == "" {
		return nil
	}
	for _, part := range strings.FieldsFunc(trigger, isSentenceEnd) {
		part = strings.TrimSpace(part)
		if i := strings.Index(strings.ToLower(part), ", not "); i > 0 {
			part = part[:i]
		}
		if part != "" && !isDenial(part) {
			out = append(out, part)
		}
	}
	return out
}

func isSentenceEnd(r rune) bool { return strings.ContainsRune(".;!?。；！？\n", r) }

func isDenial(sentence string) bool {
	first, _, more := strings.Cut(strings.ToLower(sentence), " ")
	if more { // a lone "no" is a message
		switch strings.TrimFunc(first, unicode.IsPunct) {
		case "not", "never", "no", "don't", "dont", "except", "unless", "without":
			return true
		}
	}
	for _, prefix := range []string{"不", "非", "勿", "别", "別", "除了"} {
		if strings.HasPrefix(sentence, prefix) {
			return true
		}
	}
	return strings.HasSuffix(sentence, "ではない") || strings.HasSuffix(sentence, "ではありません")
}
