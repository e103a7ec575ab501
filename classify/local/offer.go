package local

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"intenthint/payload"
)

const (
	// maxAmendment is how much of its own a message may say that confirms an offer and
	// amends it, in quarters of a word: "yes but at ten, with Ana".
	maxAmendment = 16
	// maxRemark is how much a message may say that neither confirms nor refuses, and yet
	// is likely to be about what was just offered: "three, and ground please".
	maxRemark = 20
	// leastOwn is how much a message must say behind its answer to have a subject of its
	// own, in quarters of a word.
	leastOwn = 8
	// maxOffers is how many of the assistant's last sentences may hold the offer: a
	// longer answer has gone on to something else.
	maxOffers = 24
	// aboutOffer is the probability that a message which says little, and has no intent
	// of its own, is about what was just offered. Any value from 0.7 to 0.9 gives
	// confidence for a hint where the offer is clear.
	aboutOffer = 0.85
	// offerInScope is the least probability that some intent fits what an assistant
	// offers, and that it is not the fallback.
	offerInScope = 0.95
)

// maxChoice is the greatest number that chooses from what was offered: nobody offers
// more.
const maxChoice = 9

// reply is how a message relates to what the assistant asked or offered.
type reply uint8

const (
	replyNone   reply = iota
	replyRemark       // says little, and is no question
	replyAmends       // confirms or refuses an offer, and changes it
	replyAnswer       // says nothing but yes or no, or which one
)

// replyOf returns how a message may relate to what the assistant offered.
func replyOf(c *cues, message string) reply {
	said := spaced(message)
	rest, answers := withoutAnswer(said)
	content := contentOf(rest)
	switch {
	case said == "", c.length > maxFollowUp, reactions.whole(said), c.has(roleAside):
		return replyNone
	case answers && rest == "" && !onlyThanks(said):
		return replyAnswer
	case c.has(roleBye):
		return replyNone
	case c.content == 0 && c.has(roleAnswer|roleAssent) && !c.has(roleGreet|roleThanks):
		if n, err := strconv.Atoi(strings.TrimSpace(said)); err == nil && (n < 1 || n > maxChoice) {
			return replyNone
		}
		return replyAnswer
	case asksIn(message) || hasQuestionWord(message):
		return replyNone
	case (answers || c.answersFirst && (c.has(roleGoesOn) || strings.ContainsAny(message, ",，、"))) && content <= maxAmendment && !c.has(roleThanks|roleGreet):
		return replyAmends
	case c.length <= maxRemark && c.content < c.length && !c.has(roleThanks|roleGreet|roleRefers|roleGoesOn):
		return replyRemark
	}
	return replyNone
}

// withoutAnswer returns what a spaced text says behind the yes or no that it begins
// with, and whether it begins with one; "" if it says no more.
func withoutAnswer(said string) (rest string, answers bool) {
	return without(said, answerWords, answerWordsOfMore)
}

// without returns what a spaced text says behind the words of the lists that it begins
// with, and whether it begins with any.
func without(said string, lists ...wordings) (rest string, found bool) {
	for rest = said; strings.TrimSpace(rest) != ""; found = true {
		n := 0
		for _, list := range lists {
			n = max(n, list.prefix(rest))
		}
		if n == 0 || n > len(rest) {
			return rest, found
		}
		rest = " " + strings.TrimPrefix(rest[n:], " ")
	}
	return "", found
}

// onlyThanks reports whether a spaced text thanks, and answers nothing.
func onlyThanks(said string) bool {
	rest, thanks := without(said, thanksOnly)
	return thanks && rest == ""
}

// contentOf returns how much a spaced text says of a subject, in quarters of a word.
func contentOf(said string) int {
	c := cuesOfText(said)
	return c.content
}

func cuesOfText(said string) cues {
	var t reading
	t.reset(said)
	return cuesOf(&t)
}

// whole reports whether a spaced text is one of the wordings.
func (w wordings) whole(spaced string) bool {
	n := w.prefix(spaced)
	return n > 0 && n >= len(spaced)-1
}

// offered is the verdict on what the assistant offered in its last text, to which a
// message with the given cues replies, and the text of the offer; ok is false if
// the message is no reply, or if there is no offer of a known intent. own is the
// probability of the message's own intent. sc holds the words of the offer then, and
// those of the message otherwise.
func (m *Model) offered(sc *scratch, c *cues, message string, own float64, conversation []payload.Turn, allowed []bool, by *embedding) (v verdict, offer string, ok bool) {
	r, offers := offersFor(c, message, own, conversation)
	if len(offers) == 0 {
		return v, "", false
	}
	if after := amendment(message); after != "" && r == replyAmends {
		v = m.request(sc, after, allowed, by)
		if own := cuesOf(&sc.text); own.content >= leastOwn && !v.other() && v.pFirst >= likely {
			offers = nil // a subject of its own
		}
	}
	best := ""
	for _, offer := range offers {
		next := m.request(sc, offer.text, allowed, by)
		if next.first < 0 || next.pFirst < offer.least {
			continue
		}
		if next.offers(); best == "" || next.pFirst > v.pFirst {
			v, best = next, offer.text
		}
		if v.pFirst >= sureSentence {
			break
		}
	}
	if best == "" {
		return m.request(sc, message, allowed, by), "", false
	}
	v.earlier = best
	if r == replyRemark {
		v.pFirst, v.pIn = aboutOffer*v.pFirst, 1-aboutOffer*(1-v.pIn)
	}
	m.heedAsked(sc, &v, best, conversation, allowed, by)
	return v, best, true
}

// heedAsked takes what the user asked before an offer for evidence on the offer's
// intent, as of a text on the same subject. sc holds the words of the offer then.
func (m *Model) heedAsked(sc *scratch, v *verdict, offer string, conversation []payload.Turn, allowed []bool, by *embedding) {
	said := askedBefore(conversation)
	if said == "" || strings.HasPrefix(offer, said) {
		m.request(sc, offer, allowed, by)
		return
	}
	asked := m.request(sc, said, allowed, by)
	before := divide(nil, &asked, sc.scores, allowed)
	m.request(sc, offer, allowed, by) // others may have been read after it
	if c := cuesOfText(said); asked.other() || asked.pFirst < likely || c.content == 0 {
		return
	}
	offered := divide(nil, v, sc.scores, allowed)
	offered.heed(before)
	v.first = offered.likeliest()
	v.pFirst = v.pIn * offered[v.first]
}

// offers raises the probabilities of an offer: whoever makes one can do it, so some
// intent fits.
func (v *verdict) offers() {
	if v.pIn > 0 && v.pIn < offerInScope {
		v.pFirst, v.pIn = v.pFirst*offerInScope/v.pIn, offerInScope
	}
	v.odds = math.Inf(1)
}

// candidateOffer is what may have been offered, and the probability from which its intent is believed.
type candidateOffer struct {
	text  string
	least float64
}

// offersFor returns how a message with the given cues may reply to the assistant's last
// text, and the texts of what that may have offered; none if it cannot. A message that
// says more than yes or no replies to an offer only, and only if its own intent, whose
// probability is own, is unsure: what answers any other question leans on the messages
// before.
func offersFor(c *cues, message string, own float64, conversation []payload.Turn) (reply, []candidateOffer) {
	n := len(conversation) - 1
	if n < 0 || conversation[n].Role != payload.RoleAssistant {
		return replyNone, nil
	}
	r := replyOf(c, message)
	if r == replyNone && !choosesByName(c, message) {
		return r, nil
	}
	list := sentencesOf(conversation[n].Text)
	if chosen := chosenFrom(alternatives(list), c, message); len(chosen) > 0 {
		return replyAnswer, candidatesOf(chosen, possible)
	}
	offer, question := -1, -1
	for i, s := range list {
		if f := spaced(s); offerWords.in(f) && !offersNothing.in(f) {
			offer = i
		}
	}
	last := len(list) - 1
	if r == replyAnswer && last >= 0 && last != offer && asksIn(list[last]) {
		question = last
	}
	switch {
	case r == replyNone, r <= replyAmends && own >= likely:
		return r, nil
	case r == replyRemark && (offer < last-1 || newWords(message, conversation) > 1):
		return r, nil // it may be about anything
	}
	// A plain yes to an offer can mean nothing else.
	least := map[reply]float64{replyAnswer: negligible, replyAmends: possible, replyRemark: likely}[r]
	if r == replyAmends && c.has(roleRefers) {
		least = sureSentence // what "it" is may be the subject of before
	}
	offers := candidatesOf(withSubject(list, offer), least)
	if asked := askedBefore(conversation); offer >= 0 && asked != "" {
		offers = append(offers, candidateOffer{asked + " " + list[offer], least})
	}
	least = likely
	if !c.has(roleThanks) {
		least = possible
	}
	return r, append(offers, candidatesOf(withSubject(list, question), least)...)
}

func candidatesOf(texts []string, least float64) []candidateOffer {
	out := make([]candidateOffer, 0, len(texts))
	for _, text := range texts {
		out = append(out, candidateOffer{text, least})
	}
	return out
}

// askedBefore returns the user's message before the last turn, "" if none is there.
func askedBefore(conversation []payload.Turn) string {
	if len(conversation) < 2 || conversation[len(conversation)-2].Role != payload.RoleUser {
		return ""
	}
	return conversation[len(conversation)-2].Text
}

// choosesByName reports whether a message may name one of several things.
func choosesByName(c *cues, message string) bool {
	return c.length > 0 && c.length <= maxRemark && !c.has(roleAside|roleBye|roleGreet) && !asksIn(message)
}

// amendment returns what follows the answer at the beginning of a message, "" if that
// is not set off by a comma.
func amendment(message string) string {
	i := strings.IndexAny(message, ",，、")
	if i < 0 {
		return ""
	}
	_, size := utf8.DecodeRuneInString(message[i:])
	return strings.TrimSpace(message[i+size:])
}

// withSubject returns the sentence at i with as many before it as it takes to name a
// subject ("I can book a taxi. Shall I?"), and the same with one more; none for -1, or
// if none of them names one.
func withSubject(list []string, i int) []string {
	if i < 0 {
		return nil
	}
	from := i
	for from > 0 && !namesSubject(strings.Join(list[from:i+1], " ")) {
		from--
	}
	out := []string{strings.Join(list[from:i+1], " ")}
	if from == 0 && !namesSubject(out[0]) {
		return nil
	}
	if from > 0 {
		out = append(out, strings.Join(list[from-1:i+1], " "))
	}
	return out
}

// sentencesOf returns the last maxOffers sentences of a text, with their marks.
func sentencesOf(text string) []string {
	var out []string
	from := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if !strings.ContainsRune(sentenceMarks+";；", r) || r == '.' && end < len(text) && text[end] != ' ' && text[end] != '\n' {
			continue
		}
		if s := strings.TrimSpace(text[from:end]); len(s) > utf8.RuneLen(r) {
			out = append(out, s)
		}
		from = end
	}
	if s := strings.Trim(text[from:], " \n\t\"”»」)*_"); s != "" {
		out = append(out, s)
	}
	return out[max(0, len(out)-maxOffers):]
}

// namesSubject reports whether a text has a word of a subject.
func namesSubject(text string) bool {
	var t reading
	t.reset(text)
	found := false
	t.subjects(func(uint64) bool { found = true; return false })
	return found
}

// newWords returns how many subject words a message has that no turn of the
// conversation has.
func newWords(message string, conversation []payload.Turn) int {
	sc := new(scratch)
	sc.text.reset(message)
	var room [maxFollowUp]uint64
	own := sc.subjects(room[:0])
	return len(own) - shared(sc, own, conversation)
}
