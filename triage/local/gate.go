package local

import (
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/internal/linear"
)

// Gate is a trained classifier. It is immutable after training and safe for
// concurrent use.
type Gate struct {
	index   map[uint64]int32 // of a feature's weight
	weights []float32
	known   map[uint64]bool // words of the examples

	slope, offset float64 // from score to probability
	limits        [2]limits
}

// Judge reports whether the message deserves an answer, whether that is sure,
// and the probability. If sure is false, ask a model. It is never sure to skip
// a message that contains the name of the bot.
func (g *Gate) Judge(in Input) (respond, sure bool, p float64) {
	m := read(in.Text, maxText)
	if m.chars == 0 {
		return true, false, 0.5
	}
	recent := newest(in.Recent)
	s := readScene(&m, &in, recent)
	score, l := g.score(extract(&m, &in, s)), g.limits[regime(s.afterBot)]
	p = linear.Sigmoid(g.slope*score + g.offset)
	respond = p >= 0.5
	switch {
	case m.long || !g.familiar(&m, people(&in, recent), recent):
		return respond, false, p
	case score >= l.respond:
		return true, true, p
	case score <= l.skip && !callsBot(&m, in.Text, in.BotName) && !mayBeForBot(&m, &in, recent, s):
		return false, true, p
	}
	return respond, false, p
}

func (g *Gate) score(list []feature) float64 {
	var sum float32
	for _, f := range list {
		if i, ok := g.index[f.key]; ok {
			sum += float32(g.weights[i] * f.value)
		}
	}
	return float64(sum)
}

// newest returns the newest earlier messages. Where a message that the bot was
// allowed to answer is not followed by one of the bot, it inserts one.
func newest(recent []Earlier) []Earlier {
	recent = recent[max(0, len(recent)-MaxRecent):]
	for i, e := range recent {
		if e.Answered && !e.Bot && (i+1 == len(recent) || !recent[i+1].Bot) {
			answer := Earlier{At: e.At, Bot: true}
			recent = slices.Concat(recent[:i+1], []Earlier{answer}, newest(recent[i+1:]))
			break
		}
	}
	return recent
}

// people returns the names by which the senders are addressed.
func people(in *Input, recent []Earlier) []string {
	names := append(nameParts(in.BotName), nameParts(in.Sender)...)
	for i, e := range recent {
		if !seenBefore(recent[:i], e.Sender) {
			names = append(names, nameParts(e.Sender)...)
		}
	}
	return names
}

// callsBot reports whether the text contains the name of the bot or something
// that may stand for it: a part of it, a typing error, the word bot.
func callsBot(m *message, text, name string) bool {
	if m.has(botWords) || named(m, name) || strings.TrimSpace(name) != "" && strings.Contains(text, name) {
		return true
	}
	for _, part := range nameParts(name) {
		if m.mentions(part) {
			return true
		}
		if utf8.RuneCountInString(part) < 4 {
			continue
		}
		for _, w := range m.words {
			if nearly(w, part) {
				return true
			}
		}
	}
	return false
}

// named reports whether the text contains the name, by the rule `bot_name` of
// contract §11.
func named(m *message, name string) bool {
	n := read(name, maxEarlier)
	return n.folded != "" && strings.Contains(m.folded, n.folded)
}
