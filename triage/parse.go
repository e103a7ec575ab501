package triage

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The words that a model answers with.
const (
	wordRespond = "RESPOND"
	wordSkip    = "SKIP"
)

// The bounds of a score (contract §11).
const (
	minScore = 1
	maxScore = 10
)

// Answer reads a model's answer (contract §11): an answer that begins with SKIP
// skips, any other responds. With scores, the score is the first whole number
// from 1 to 10 that stands alone, else that of the word: RESPOND is 10, SKIP is
// 1, anything else is 10.
func (s *Settings) Answer(answer string) Verdict {
	answer = withoutThinking(answer)
	skip := len(answer) >= len(wordSkip) && strings.EqualFold(answer[:len(wordSkip)], wordSkip)
	if !s.Scores {
		return Verdict{Skip: skip, Reason: ByModel}
	}
	score, ok := scoreIn(answer)
	if !ok {
		score = maxScore
		if skip {
			score = minScore
		}
	}
	return Verdict{Skip: score < s.Threshold, Reason: ByModel, Score: score}
}

// withoutThinking returns an answer without the thinking before it, trimmed.
func withoutThinking(answer string) string {
	const open, end = "<think>", "</think>"
	answer = strings.TrimSpace(answer)
	if i := strings.LastIndex(answer, end); i >= 0 && strings.HasPrefix(answer, open) {
		answer = strings.TrimSpace(answer[i+len(end):])
	}
	return answer
}

// scoreIn returns the first whole number from 1 to 10 that stands alone: it is not
// a part of a word, a longer number, a decimal, a time or a percentage, and it is
// not negative. Of 8/10 it is 8.
func scoreIn(s string) (score int, ok bool) {
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			i++
			continue
		}
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if n, ok := scoreOf(s[i:end]); ok && !joined(s[:i]) && !continued(s[end:]) {
			return n, true
		}
		i = end
	}
	return 0, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func scoreOf(digits string) (int, bool) {
	switch {
	case digits == "10":
		return maxScore, true
	case len(digits) == 1 && digits != "0":
		return int(digits[0] - '0'), true
	}
	return 0, false
}

// joined reports whether a number belongs to the text before it.
func joined(before string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	rest := before[:len(before)-size]
	switch {
	case isWord(last):
		return true
	case last == '-' || last == '\u2212' || last == '+':
		// A sign, or a name such as GPT-4. A dash between a blank and a number is a
		// sign too: in a list item a blank follows the dash.
		return true
	case last == '.':
		return rest == "" || endsIn(rest, unicode.IsSpace) || endsIn(rest, unicode.IsDigit) // .5, 3.5
	case last == ',' || last == ':' || last == '/' || last == '\'':
		return endsIn(rest, unicode.IsDigit) // a thousand, a time, a fraction
	}
	return false
}

// continued reports whether a number continues in the text after it.
func continued(after string) bool {
	first, size := utf8.DecodeRuneInString(after)
	rest := after[size:]
	switch {
	case isWord(first), first == '%', first == '\u2030', first == '\u00b0':
		return true
	case first == '.' || first == ',' || first == ':' || first == '\'':
		return rest != "" && isDigit(rest[0])
	}
	return false
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_')
}

func endsIn(s string, is func(rune) bool) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	return size > 0 && is(r)
}
