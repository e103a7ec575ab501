package local

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxSentences bounds how many sentences of a message are looked at, from its
	// beginning and from its end: the request stands before or behind a paste.
	maxSentences = 4
	// minSentence is the shortest sentence that can be a request, in characters.
	minSentence = 4
	// longMessage is from how many characters on a message is taken to bring what
	// it is about.
	longMessage = 300
	// sureSentence is the probability from which a sentence decides against a
	// verdict on all of a message. With 0.6, messages that end a topic are taken
	// for tasks (TestTopics).
	sureSentence = 0.75
)

// sentences returns the first and the last sentences of a message, in its order;
// nil if it is only one.
func sentences(message string) []string {
	rest := strings.TrimSpace(message)
	if sentenceEnd(rest) == len(rest) {
		return nil
	}
	var all []string
	for rest != "" {
		end := sentenceEnd(rest)
		if s := strings.TrimSpace(rest[:end]); utf8.RuneCountInString(s) >= minSentence {
			all = append(all, s)
		}
		rest = strings.TrimSpace(rest[end:])
	}
	if len(all) < 2 {
		return nil
	}
	if len(all) > 2*maxSentences {
		all = append(all[:maxSentences:maxSentences], all[len(all)-maxSentences:]...)
	}
	return all
}

// sentenceEnd returns where the first sentence of s ends. A mark of Latin scripts
// ends one before white space only: "3.5", "example.org". A record that s begins with
// is a sentence.
func sentenceEnd(s string) int {
	if end := recordEnd(s); end > 0 {
		return end
	}
	for i, r := range s {
		switch r {
		case '。', '！', '？', '؟', '।', '…', '\n':
			return i + utf8.RuneLen(r)
		case '.', '!', '?':
			if next := i + 1; next == len(s) || s[next] == ' ' || s[next] == '\n' {
				return next
			}
		}
	}
	return len(s)
}

// leastRecord and mostRecord are the lengths of records, in bytes: "[x] milk" has none,
// and many open brackets must not take long.
const leastRecord, mostRecord = 20, 1_000

// recordEnd returns where the JSON object or list ends that s begins with, 0 without one.
func recordEnd(s string) int {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return 0
	}
	depth := 0
	for i := range min(len(s), mostRecord) {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				if i+1 < leastRecord {
					return 0
				}
				return i + 1
			}
		}
	}
	return 0
}

// task returns the verdict on the sentence of a message that asks for something,
// where the verdict on all of it is a courtesy's, or none, or goes by a paste; ok is
// false if none of its sentences is surer. sc then holds any words. Of several
// tasks the first is taken; around a paste, the surer of the first and the last
// sentence.
func (m *Model) task(sc *scratch, message string, parts []string, whole *verdict, allowed []bool, by *embedding) (v verdict, ok bool) {
	courtesy := m.courtesies(sc, allowed)
	isCourtesy := func(v *verdict) bool { return courtesy[v.first] }
	pasted := utf8.RuneCountInString(message) > longMessage
	if !whole.other() && !isCourtesy(whole) && !(pasted && whole.pFirst < sureSentence) {
		return v, false
	}
	if pasted {
		parts = []string{parts[0], parts[len(parts)-1]}
	}
	best := -1
	for i, part := range parts {
		next := m.lookAt(sc, allowed, by, part)
		if next.other() || isCourtesy(&next) || next.pFirst < sureSentence || !whole.other() && !isCourtesy(whole) && next.pFirst <= whole.pFirst {
			continue
		}
		if best < 0 || next.pFirst > v.pFirst {
			best, v = i, next
		}
		if !pasted {
			return v, true // the first that is asked for
		}
	}
	if best < 0 {
		return v, false
	}
	return m.lookAt(sc, allowed, by, parts[best]), true
}

// courtesies returns the intents of greetings and thanks.
func (m *Model) courtesies(sc *scratch, allowed []bool) map[int]bool {
	out := map[int]bool{}
	for _, said := range [...]string{"hello", "thank you", "goodbye"} {
		if v := m.lookAt(sc, allowed, nil, said); !v.other() {
			out[v.first] = true
		}
	}
	return out
}
