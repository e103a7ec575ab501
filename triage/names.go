package triage

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text/fold"
)

// Bounds of what is read of a gateway's names of an agent: an agent has a name or
// two a channel, and a pattern of a name is short.
const (
	maxNames     = 32
	maxNameBytes = 200
)

// called reports whether a text calls an agent by one of its names (contract §11). A
// name is a word or several, a mention of the platform (@claw_bot, <@123>), or a
// pattern of mentions (RE2).
func called(text string, names []string) bool {
	folded := fold.Case(text)
	return slices.ContainsFunc(names[:min(len(names), maxNames)], func(name string) bool {
		if len(name) > maxNameBytes {
			return false
		}
		if id, ok := mentionID(fold.Case(strings.TrimSpace(name))); ok {
			return mentions(folded, id)
		}
		own := fold.Case(strings.TrimLeft(strings.TrimSpace(name), "@"))
		return holdsName(folded, own) || holdsUserName(folded, own) || matchesPattern(text, name)
	})
}

// holdsUserName reports whether a text mentions the user name that a bot of this name
// is given where those of bots end in "bot", as on Telegram: @claw_bot for Claw.
func holdsUserName(text, name string) bool {
	return name != "" && (holdsName(text, "@"+name+"_bot") || holdsName(text, "@"+name+"bot"))
}

// mentionID returns the id in a name of the form <@123>, or a name of digits alone.
func mentionID(name string) (id string, ok bool) {
	id = strings.TrimLeft(strings.Trim(name, "<>"), "@!&")
	digits := strings.TrimFunc(id, unicode.IsDigit) == ""
	return id, id != "" && (digits || strings.HasPrefix(name, "<@"))
}

// mentions reports whether a text mentions an id: <@123>, <@!123>, <@123|name>, @123.
// The number alone is a number.
func mentions(text, id string) bool {
	for _, sign := range []string{"@", "@!", "@&"} {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, sign+id)
			if !ok {
				break
			}
			if r, _ := utf8.DecodeRuneInString(after); !inWord(r) {
				return true
			}
			rest = after
		}
	}
	return false
}

// matchesPattern reports whether a text matches a name that is a pattern of mentions.
func matchesPattern(text, name string) bool {
	if !strings.ContainsAny(name, `\^$[](){}|?*+`) {
		return false
	}
	pattern, err := regexp.Compile("(?i)" + name)
	// A pattern that matches an empty text says nothing about this one.
	return err == nil && !pattern.MatchString("") && pattern.MatchString(fold.NFKC(text))
}

// holdsName reports whether a text holds a name as words of its own. Both are folded.
func holdsName(text, name string) bool {
	if name == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(name)
		if (!inWord(first) || !joinedBefore(text[:begin])) && (!inWord(last) || unicode.Is(unicode.Hangul, last) || !joinedAfter(text[end:])) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[begin:])
		at = begin + size
	}
}

// joinedBefore reports whether the end of a text belongs to the word that follows it:
// a letter does, the separator of a path, and what joins the parts of an address or a
// file name.
func joinedBefore(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune(`.-@`, r) {
		r, _ = utf8.DecodeLastRuneInString(before[:len(before)-size])
	}
	return inWord(r) || r == '/' || r == '\\'
}

// joinedAfter is joinedBefore for the beginning of a text and the word before it.
func joinedAfter(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if strings.ContainsRune(`.-@`, r) {
		r, _ = utf8.DecodeRuneInString(after[size:])
	}
	return inWord(r) || r == '/' || r == '\\'
}

// unspaced are the scripts that put no spaces between words: a name in them begins and
// ends anywhere, and so does one beside them. Korean, whose particles follow a name
// without a space, has an open end only (see [holdsName]).
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// inWord reports whether a character is part of a word in a script with spaces.
func inWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unicode.In(r, unspaced...)
}
