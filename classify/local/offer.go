//nolint:misspell // the words are of many languages
package local

import (
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/payload"
)

const (
	// maxAmendment is how much of its own a message may say that confirms an offer and
	// amends it, in quarters of a word: "yes but at ten, with Ana".
	maxAmendment = 16
	// maxOffers is how many of the assistant's last sentences may hold the offer: a
	// longer answer has gone on to something else.
	maxOffers = 12
)

// offerWords are how an assistant offers to do something, in the languages of
// [phrases].
var offerWords = wordingsOf(`
	shall i, should i, can i, could i, may i, i can, i could, ill, i will, id be happy to, i would be happy to, im happy to, let me know if you want, let me know if youd like,
	want me to, wants me to, like me to, would you like, do you want, would it help if i, happy to,
	soll ich, sollen wir, darf ich, kann ich, ich kann, ich konnte, ich wurde, mochtest du, mochten sie, willst du, wollen sie, sag bescheid, gern kann ich, gerne kann ich,
	puedo, podria, quieres que, quiere que, te gustaria, le gustaria, desea que, quieres, me encargo,
	je peux, je pourrais, puis je, voulez vous, veux tu, souhaitez vous, souhaites tu, dois je, tu veux que, vous voulez que,
	要不要, 需要我, 要我, 我可以, 我能, 我来, 我帮你, 我帮您, 可以帮你, 可以帮您, 你想让我, 您想让我, 是否需要, 想不想,
	ましょうか, ますか, しようか, できます, いたします, てもいい, お手伝い, しておきます,
	posso, poderia, quer que, voce quer, queres que, gostaria, deseja que,
	potrei, vuoi che, vuole che, ti va se, desidera che, vuoi,
	могу, хотите, хочешь, мне, давайте я, давай я, могла бы, мог бы, стоит ли,
	edeyim mi, yapayim mi, ister misin, ister misiniz, istersen, isterseniz, edebilirim, yapabilirim, ekleyeyim mi, gondereyim mi,
	هل تريد, هل تود, هل ترغب, يمكنني, استطيع ان, أستطيع أن, تبغاني, تحب ان, تحب أن, هل اقوم, هل أقوم,
	क्या मैं, मैं कर सकता, मैं कर सकती, सकता हूँ, सकती हूँ, चाहेंगे, चाहते हैं, क्या आप चाहते, kya main,
	할까요, 드릴까요, 해드릴까요, 원하시나요, 원하세요, 수 있어요, 수 있습니다, 줄까요, 줄까`)

// reply is how a message relates to what the assistant asked or offered.
type reply uint8

const (
	replyNone   reply = iota
	replyAmends       // confirms or refuses an offer, and changes it
	replyAnswer       // says nothing but yes or no, or which one
)

// reply returns how a message may relate to what the assistant offered.
func (c *cues) reply() reply {
	switch {
	case !c.has(roleAnswer | roleAssent), c.has(roleAside | roleBye), c.length > maxFollowUp:
		return replyNone
	case c.content == 0:
		return replyAnswer
	case c.content <= maxAmendment && c.answersFirst && c.has(roleGoesOn):
		return replyAmends
	}
	return replyNone
}

// offered is the verdict on what the assistant offered in its last text, to which a
// message with the given cues replies, and the text of the offer; ok is false if
// the message is no reply, or if there is no offer of a known intent. sc holds the
// words of the offer then, and is overwritten otherwise, too.
func (m *Model) offered(sc *scratch, c *cues, own float64, conversation []payload.Turn, allowed []bool, by *embedding) (v verdict, offer string, ok bool) {
	for _, offer := range offersFor(c, own, conversation) {
		if v = m.request(sc, offer, allowed, by); !v.other() && v.pFirst >= likely {
			v.earlier = offer
			return v, offer, true
		}
	}
	return v, "", false
}

// offersFor returns the texts of what the assistant may have offered in its last text,
// the likeliest first, if a message with the given cues may reply to it. A message that
// says more than yes or no replies to an offer only, and only if its own intent, whose
// probability is own, is unsure.
func offersFor(c *cues, own float64, conversation []payload.Turn) []string {
	n, r := len(conversation)-1, c.reply()
	if r == replyNone || n < 0 || conversation[n].Role != payload.RoleAssistant {
		return nil
	}
	list := sentencesOf(conversation[n].Text)
	offer, question := -1, -1
	for i, s := range list {
		if offerWords.in(spaced(s)) {
			offer = i
		}
	}
	if last := len(list) - 1; last >= 0 && r == replyAnswer && asksIn(list[last]) {
		question = last
	}
	if r == replyAmends && own >= likely {
		return nil
	}
	return slices.Concat(withSubject(list, offer), withSubject(list, question))
}

// withSubject returns the sentence at i with as many before it as it takes to name a
// subject ("I can book a taxi. Shall I?"), and the same with one more; none for -1.
func withSubject(list []string, i int) []string {
	if i < 0 {
		return nil
	}
	from := i
	for from > 0 && !namesSubject(strings.Join(list[from:i+1], " ")) {
		from--
	}
	out := []string{strings.Join(list[from:i+1], " ")}
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
		if !strings.ContainsRune(sentenceMarks, r) || r == '.' && end < len(text) && text[end] != ' ' && text[end] != '\n' {
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
