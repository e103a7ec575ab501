package local

import (
	"regexp"
	"slices"
	"strings"
)

// item marks an entry of a list on one line: "1) …, 2) …", "(a) …", "• …".
var item = regexp.MustCompile(`(?:^|[\s(,;:：，；])(?:[1-9a-d①②③④][).、]|[①②③④•▪◦‣]|[-–*])\s+`)

// dutch are words of texts in which "of" stands between two things.
var dutch = wordingsOf(`ik, het, een, zal, wil, wilt, kan`)

// alternatives returns what a list of sentences offers for choice, in its order: the
// entries of a list, offers and questions, each also cut at "or". A text
// without a subject is left out.
func alternatives(list []string) []string {
	text := strings.Join(list, " ")
	if marks := item.FindAllStringIndex(text, -1); len(marks) > 1 {
		var out []string
		for i, mark := range marks {
			end := len(text)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			out = append(out, text[mark[1]:end])
		}
		return subjectsOnly(out)
	}
	var out []string
	for _, s := range list {
		if offerWords.in(spaced(s)) || asksIn(s) {
			out = append(out, cutAtOr(s)...)
		}
	}
	return subjectsOnly(out)
}

func subjectsOnly(texts []string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return !namesSubject(s) })
}

// cutAtOr cuts a sentence at the words that stand between two things.
func cutAtOr(s string) []string {
	parts := []string{s}
	cut := func(at string) {
		var next []string
		for _, part := range parts {
			next = append(next, strings.Split(part, at)...)
		}
		parts = next
	}
	for _, at := range orWords {
		cut(at)
	}
	if dutch.in(spaced(s)) {
		cut(" of ")
	}
	return parts
}

// chosenFrom returns those of several offers that a message chooses, by place ("the
// second one") or by name ("the calendar one"); all of them for "both", and none if it
// does not choose.
func chosenFrom(offers []string, c *cues, message string) []string {
	if len(offers) < 2 || c.length > maxRemark {
		return nil
	}
	said := spaced(message)
	for i, place := range ordinals {
		if place.in(said) && i < len(offers) && c.content <= maxAside {
			return offers[i : i+1]
		}
	}
	if lasts.in(said) && c.content <= maxAside {
		return offers[len(offers)-1:]
	}
	if boths.in(said) && c.content <= maxAside {
		return offers
	}
	if c.has(roleRefers | roleGoesOn) {
		return nil // it says more than a name
	}
	return named(offers, message)
}

// named returns the one offer that shares most subject words with a message; none if
// no offer shares more than the others.
func named(offers []string, message string) []string {
	sc := new(scratch)
	sc.text.reset(message)
	var room [maxFollowUp]uint64
	own := sc.subjects(room[:0])
	best, most, tie := -1, 0, false
	for i, offer := range offers {
		n := sharedText(sc, own, offer)
		switch {
		case n > most:
			best, most, tie = i, n, false
		case n == most:
			tie = true
		}
	}
	if best < 0 || tie {
		return nil
	}
	return offers[best : best+1]
}
