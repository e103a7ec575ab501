package redact

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// A finder returns the first position in a line, at or after from, where a rule
// may match, or -1. low is the line in lower case.
type finder func(t, low []byte, from int) int

// at finds any of some words, given in lower case, ignoring case.
func at(words ...string) finder {
	first := index(words...)
	return func(_, low []byte, from int) int { return first(low, from) }
}

// atStart finds any of some words at the beginning of a word or after a sign
// within one, case-sensitively.
func atStart(words ...string) finder {
	first := index(words...)
	return func(t, _ []byte, from int) int {
		for i := from; ; i++ {
			i = first(t, i)
			if i <= 0 || !isAlnum(t[i-1]) || isEscape(t[:i]) {
				return i
			}
		}
	}
}

// atWord finds any of some words, given in lower case, at the beginning of a
// word or of its part after a dot.
func atWord(words ...string) finder {
	first := index(words...)
	return func(t, low []byte, from int) int {
		for i := from; ; i++ {
			i = first(low, i)
			if i <= 0 || !isWord(t[i-1]) || t[i-1] == '.' || isEscape(t[:i]) {
				return i
			}
		}
	}
}

// longestHeader is how far after its scheme a field of a header may stand, in bytes.
const longestHeader = 400 + len("digest ")

// after finds a word, given in lower case, that follows what the first finder finds in
// the same header. Searching from the word back costs little where the first is
// repeated.
func after(first finder, word string) finder {
	next := index(word)
	return func(t, low []byte, from int) int {
		for i := from; ; i++ {
			if i = next(low, i); i < 0 {
				return -1
			}
			start := max(0, i-longestHeader)
			if first(t[start:i], low[start:i], 0) >= 0 {
				return i
			}
		}
	}
}

// longestBefore is how far a rule looks back, in bytes.
const longestBefore = 64

// behind finds a directory, given in lower case, ignoring case, after a backslash
// or after a match of a pattern that ends with another separator and $.
// reach returns the part of a text that the pattern can match.
func behind(before *regexp.Regexp, reach func(t []byte) []byte, directory string) finder {
	first := index(directory)
	return func(t, low []byte, from int) int {
		for i := from; ; i++ {
			if i = first(low, i); i < 0 {
				return -1
			}
			switch t[i-1] {
			case '\\':
				return i
			case '/', 'F', 'f': // as in %2F
				if before.Match(reach(t[max(0, i-longestBefore):i])) {
					return i
				}
			}
		}
	}
}

// longestScheme is the length of what may precede a path, such as "file:", in bytes.
const longestScheme = 8

// driveOf returns what [drive] can match at the end of t: C:/ or /mnt/c/.
func driveOf(t []byte) []byte { return t[max(0, len(t)-longestScheme):] }

// pathOf returns what [root] and [anyRoot] can match at the end of t: the separator
// there, the path before it, and what precedes that. So a path that names a directory
// many times costs little.
func pathOf(t []byte) []byte {
	end := len(t) - 1 // of the path; a separator is / with backslashes, or %2F
	if t[end] == '/' {
		for n := 0; n < maxEscapes && end > 0 && t[end-1] == '\\'; n++ {
			end--
		}
	} else {
		end = max(0, end-len("%2"))
	}
	start := end
	for start > 0 && isPath(t[start-1]) {
		start--
	}
	if start == 0 { // nothing precedes the path
		return t[end:]
	}
	return t[max(0, start-longestScheme):]
}

// maxEscapes is how many backslashes may precede a slash in quoted text.
const maxEscapes = 4

// isPath reports whether a path may hold b.
func isPath(b byte) bool { return isWord(b) || b == '/' }

// longestToName is how far from a sign the name of a secret may begin, and its
// first letters end, in bytes.
const longestToName = 64

// beforeName finds a sign in front of the name of a secret.
func beforeName(sign string) finder {
	first := index(sign)
	return func(t, low []byte, from int) int {
		for i := from; ; i++ {
			i = first(t, i)
			if i < 0 || atName(nil, low[:min(i+longestToName, len(low))], i) >= 0 {
				return i
			}
		}
	}
}

// index is bytes.Index for the first of some words.
func index(words ...string) func(t []byte, from int) int {
	if len(words) == 1 {
		word := []byte(words[0])
		return func(t []byte, from int) int {
			if i := bytes.Index(t[from:], word); i >= 0 {
				return from + i
			}
			return -1
		}
	}
	// The first two bytes rule out most places.
	var follows [256]*[256]bool // what follows a first byte, if a word begins with it
	var byFirst [256][]string
	for _, s := range words {
		byFirst[s[0]] = append(byFirst[s[0]], s)
		if follows[s[0]] == nil {
			follows[s[0]] = new([256]bool)
		}
		for b := range follows[s[0]] {
			follows[s[0]][b] = follows[s[0]][b] || len(s) == 1 || s[1] == byte(b)
		}
	}
	return func(t []byte, from int) int {
		for i := from; i < len(t); i++ {
			if next := follows[t[i]]; next == nil || !next[t[min(i+1, len(t)-1)]] {
				continue
			}
			for _, s := range byFirst[t[i]] {
				if len(t)-i >= len(s) && string(t[i:i+len(s)]) == s {
					return i
				}
			}
		}
		return -1
	}
}

func isDigit(b byte) bool { return b-'0' < 10 }

func isAlnum(b byte) bool { return isDigit(b) || b|0x20-'a' < 26 }

func isWord(b byte) bool { return isAlnum(b) || b == '_' || b == '-' || b == '.' }

// isEscape reports whether t ends with an escaped line end or tab.
func isEscape(t []byte) bool {
	return bytes.HasSuffix(t, []byte(`\n`)) || bytes.HasSuffix(t, []byte(`\r`)) || bytes.HasSuffix(t, []byte(`\t`))
}

// atNumber finds numbers at least as long as the shortest phone number: their
// first digit, or the signs in front of it. They must not continue a word, a
// fraction, a price or a chain of numbers, unless canFollow, which gets the
// line before and from the number on, allows it.
func atNumber(canFollow func(before, number []byte) bool) finder {
	return func(t, _ []byte, from int) int {
		for i := max(from, 1); i < len(t); i++ {
			if !isDigit(t[i]) || isDigit(t[i-1]) || !isLong(t[i:]) || inRow(t, i) {
				continue
			}
			start := i
			for start > max(from, 1) && (t[start-1] == '(' || t[start-1] == '+') {
				start--
			}
			if isFree(t[:start]) || t[start-1] == '-' && isCardLong(t[i:]) || canFollow(t[:start], t[start:]) {
				return start
			}
		}
		return -1
	}
}

// phoneCanFollow allows +49 30 901820 after 17 and a comma, as in a table.
func phoneCanFollow(before, number []byte) bool {
	return before[len(before)-1] == ',' && number[0] == '+'
}

// cardCanFollow allows a card after a dollar sign, as no price has that many
// digits, and after a comma and any number but 0, as in a table.
func cardCanFollow(before, _ []byte) bool {
	n := len(before)
	return before[n-1] == '$' || before[n-1] == ',' && (before[n-2] != '0' || isDigit(before[n-3]))
}

// isCardLong reports whether t begins with the digits of a card in one piece.
func isCardLong(t []byte) bool {
	return len(t) >= 13 && len(onlyDigits(t[:13])) == 13
}

// inRow reports whether one or two digits at t[i] follow as many digits: a part
// of a row of small numbers.
func inRow(t []byte, i int) bool {
	size := 1
	if isDigit(t[i+1]) {
		size = 2
	}
	before := i - 1 - size
	if before < 1 || t[i-1] != ' ' || isDigit(t[i+size]) || isDigit(t[before-1]) {
		return false
	}
	return isDigit(t[before]) && isDigit(t[i-2])
}

// isLong reports whether t begins with seven digits, with possible separators
// of a number between them.
func isLong(t []byte) bool {
	n := 0
	for _, b := range t {
		if isDigit(b) {
			n++
		}
		if n == 7 {
			return true
		}
		if !isDigit(b) && b != '_' && (b != ' ' && b < '(' || b > '/' || b == '*' || b == ',') {
			return false
		}
	}
	return false
}

// isFree reports whether a number can follow t.
func isFree(t []byte) bool {
	last, before := t[len(t)-1], byte(0)
	if len(t) > 1 {
		before = t[len(t)-2]
	}
	switch last {
	case '.', '+':
		return !isWord(before)
	case ',':
		return !isDigit(before)
	case '-':
		return !isAlnum(before)
	case ':', '/':
		return !isDigit(before)
	case '$', '^', '_':
		return false
	}
	return !isDigit(last) && !endsWithLetter(t) || isEscape(t)
}

// endsWithLetter reports whether t ends with a letter of a script with spaces.
func endsWithLetter(t []byte) bool {
	r, _ := utf8.DecodeLastRune(t)
	if r < utf8.RuneSelf {
		return isAlnum(byte(r)) && !isDigit(byte(r))
	}
	return r != other && !isWide(r)
}
