package record

import (
	_ "embed"
	"regexp"
	"strings"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
)

// correctsWithin is how much of a message is read, in characters: people say
// first that they were misunderstood, and the rest may be a text by others.
const correctsWithin = 300

// Corrects reports whether a user's message says that the agent has misunderstood
// the one before: "no, I meant …", 不對, そうじゃなくて, "nein, nicht das". It knows
// phrases of English, Chinese, Japanese, Korean, German, French, Spanish,
// Portuguese, Italian, Russian and Dutch, at the beginning of a sentence. A plain
// "no" is an answer, not a correction, and quotations are ignored.
func Corrects(message string) bool {
	s := fold.Lower(text.Cut(message, correctsWithin))
	s = typographic.Replace(s)
	if strings.ContainsAny(s, quotes) {
		s = quotations.ReplaceAllString(s, " ")
	}
	// Most messages have no correction: skip the second check.
	return corrected(s) && corrected(innocent.ReplaceAllString(s, " "))
}

// corrected reports whether one of the sentences begins with a correction.
func corrected(s string) bool {
	for len(s) > 0 {
		if correction.MatchString(strings.TrimSpace(s)) {
			return true
		}
		end := sentenceEnd.FindStringIndex(s)
		if end == nil {
			return false
		}
		s = s[end[1]:]
	}
	return false
}

// sentenceEnd matches the separators of sentences.
var sentenceEnd = regexp.MustCompile(`[.!?;:…]\s+|[。！？]|\n`)

// quotes are the characters with which matches of [quotations] begin.
const quotes = "`\"“„«「『《'>"

// typographic are the forms that NFKC leaves unchanged.
var typographic = strings.NewReplacer("’", "'", "‘", "'", "–", "-", "—", "-")

// quotations matches text written by others, and code.
var quotations = regexp.MustCompile("(?s)```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』|《[^》]*》" +
	`|(?:^|\s)'[^\n]*'(?:[\s.,;:?!)]|$)|(?m:^>[^\n]*$)`)

// innocent are phrases that look like a correction but are none.
var innocent = alternatives("", innocentPatterns)

//go:embed innocent.txt
var innocentPatterns string

// corrections are the phrases, by language. They are matched where a sentence
// begins.
//
//go:embed corrections.txt
var corrections string

// opening are the words with which people introduce a sentence.
const opening = `^` +
	`(?:(?:u[hm]+|hm+|hey|sorry|wait|oh|ah|ok|okay|well|but|and|please|hold on|stop|argh|ugh|no+|nope|nah|actually|yes|` +
	`欸|誒|诶|喂|哎|唉|等等|等一下|拜託|拜托|抱歉|呃|嗯|喔|哦|啊|不+|不是|不對|不对|可是|但是|` +
	`いや|いえ|いいえ|ううん|あ|えっと|ちょっと|だから|でも|すみません|ごめん|あの|아니|아니요|아니야|저기|음|` +
	`nein|doch|halt|moment|stopp|also|äh|aber|sorry|entschuldigung|non|mais|attends|pardon|euh|pero|perdón|espera|não|mas|desculpe|ma|scusa|aspetta|нет|но|извини|подожди|nee|maar|wacht)` +
	`[\s,.!、，。…-]+)*`

var correction = alternatives(opening, corrections)

// alternatives returns a pattern that matches any of patterns after the opening. There is
// a pattern a line; lines that begin with # are comments.
func alternatives(opening, patterns string) *regexp.Regexp {
	var all []string
	for line := range strings.Lines(patterns) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return regexp.MustCompile(opening + `(?:` + strings.Join(all, "|") + `)`)
}
