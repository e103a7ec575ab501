//nolint:misspell // the words are of many languages
package local

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"intenthint/payload"
)

const (
	// maxAmendment is how much of its own a message may say that confirms an offer and
	// amends it, in quarters of a word: "yes but at ten, with Ana".
	maxAmendment = 16
	// leastOwn is how much a message must say behind its answer to have a subject of its
	// own, in quarters of a word.
	leastOwn = 8
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

// Whole messages, in the languages of [phrases] and a few more, that answer an offer
// although their words mean other things, too, or are not among the phrases.
var answersWhole = wordingsOf(`
	not now, not yet, maybe later, later, perhaps later, dont, dont do that, dont do it, leave it, no leave it, stop, rather not, id rather not, forget it, never mind, no need, sure thing, sure thing thanks, yes thanks, no thank you, why not, by all means, please,
	nicht jetzt, spater, spater vielleicht, lieber nicht, lass es, nein lass es, lass mal, nein lass mal, nee danke, nein danke, lass gut sein, warum nicht, klar doch,
	ahora no, mejor no, luego, mas tarde, dejalo, no gracias, pas maintenant, plus tard, laisse, non merci, laisse tomber, non ora, dopo, meglio di no, lascia stare, no grazie, agora nao, depois, melhor nao, deixa, nao obrigado, nao obrigada,
	не сейчас, потом, позже, не надо, лучше не надо, нет спасибо, simdi degil, sonra, gerek yok, hayir tesekkurler, hayır teşekkürler,
	不用了, 算了, 先不要, 先不用, 以后再说, 晚点再说, 今はいい, あとで, 後で, やめておく, 結構です, いいえ結構です, 나중에, 지금은 아니야, 아니 괜찮아, ليس الان, ليس الآن, لاحقا, अभी नहीं, बाद में, रहने दो,
	ja graag, graag, doe maar, ja doe maar, nee, nee dank je, nee bedankt, liever niet, niet nu, prima, is goed, oke, ok doe maar,
	tak, tak prosze, tak proszę, jasne, prosze, proszę, nie, nie dziekuje, nie dziękuję, dobrze, zrob to, zrób to, moze pozniej, może później,
	haan, haan ji, ji haan, haan kar do, kar do, nahi, nahi chahiye, हाँ, जी हाँ, हाँ करो, कर दो, नहीं, नहीं चाहिए,
	ja tack, ja gor det, ja gör det, nej, nej tack, garna, gärna, ja tak, nej tak, ja takk, nei, nei takk, kylla, kyllä, joo, ei, ei kiitos, ano, prosim, ne dekuji, ne děkuji, da, da te rog, nu, nu multumesc, ya, iya, tidak, tolong lakukan, boleh, vang, vâng, co, có, khong, không`)

// reactions are whole messages that react to what was said, and answer nothing.
var reactions = wordingsOf(`
	lol, lmao, rofl, haha, hahaha, hahahaha, omg, wow, jaja, jajaja, jajaj, mdr, ptdr, ahah, ahaha, kkk, ахах, ахаха, хаха, ого, 哈哈, 哈哈哈, 哈哈哈哈, うける, ウケる, ㅋㅋ, ㅋㅋㅋ, ㅎㅎ, ههه, هههه, वाह`)

// maxChoice is the greatest number that chooses from what was offered: nobody offers
// more.
const maxChoice = 9

// reply is how a message relates to what the assistant asked or offered.
type reply uint8

const (
	replyNone   reply = iota
	replyAmends       // confirms or refuses an offer, and changes it
	replyWhole        // is one of answersWhole: to a question it may mean something else
	replyAnswer       // says nothing but yes or no, or which one
)

// replyOf returns how a message may relate to what the assistant offered.
func replyOf(c *cues, message string) reply {
	said := spaced(message)
	switch {
	case answersWhole.whole(said):
		if c.content == 0 && c.has(roleAnswer) && !c.has(roleThanks) {
			return replyAnswer
		}
		return replyWhole
	case !c.has(roleAnswer | roleAssent), c.has(roleAside | roleBye), c.length > maxFollowUp, reactions.whole(said):
		return replyNone
	case c.content == 0:
		if n, err := strconv.Atoi(strings.TrimSpace(said)); err == nil && (n < 1 || n > maxChoice) {
			return replyNone
		}
		return replyAnswer
	case c.content <= maxAmendment && c.answersFirst && !c.has(roleThanks) && (c.has(roleGoesOn) || strings.ContainsAny(message, ",，、")):
		return replyAmends
	}
	return replyNone
}

// whole reports whether a spaced text is one of the wordings.
func (w wordings) whole(spaced string) bool {
	n := w.prefix(spaced)
	return n > 0 && n >= len(spaced)-1
}

// offered is the verdict on what the assistant offered in its last text, to which a
// message with the given cues replies, and the text of the offer; ok is false if
// the message is no reply, or if there is no offer of a known intent. sc holds the
// words of the offer then, and those of the message otherwise.
func (m *Model) offered(sc *scratch, c *cues, message string, own float64, conversation []payload.Turn, allowed []bool, by *embedding) (v verdict, offer string, ok bool) {
	offers := offersFor(c, message, own, conversation)
	if len(offers) == 0 {
		return v, "", false
	}
	if after := amendment(message); after != "" && replyOf(c, message) == replyAmends {
		v = m.request(sc, after, allowed, by)
		if own := cuesOf(&sc.text); own.content >= leastOwn && !v.other() && v.pFirst >= likely {
			offers = nil // a subject of its own
		}
	}
	for _, offer := range offers {
		if v = m.request(sc, offer, allowed, by); !v.other() && v.pFirst >= likely {
			v.earlier = offer
			return v, offer, true
		}
	}
	return m.request(sc, message, allowed, by), "", false
}

// offersFor returns the texts of what the assistant may have offered in its last text,
// the likeliest first, if a message with the given cues may reply to it. A message that
// says more than yes or no replies to an offer only, and only if its own intent, whose
// probability is own, is unsure.
func offersFor(c *cues, message string, own float64, conversation []payload.Turn) []string {
	n, r := len(conversation)-1, replyOf(c, message)
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
