package local

import "strings"

// followUp is how a message depends on earlier ones.
type followUp uint8

const (
	standalone      followUp = iota
	acknowledgement          // "yes please", "the second one": means nothing alone
	elliptic                 // "Thursday works": short, and may lack its verb or object
	continuing               // "what about Prague instead?": says itself that it goes on
)

// A longer message is independent of earlier ones.
const (
	maxFollowUpWords = 7
	maxFollowUpHan   = 12
)

// followUpOf classifies the message in sc.
func (m *Model) followUpOf(sc *scratch) followUp {
	var words, han, function, answers, known int
	for _, tok := range sc.text.tokens {
		runes := sc.text.runes[tok.start:tok.end]
		switch tok.kind {
		case tokenWord:
			words++
			h := hashWord(runes)
			_, answer := answerWords[h]
			_, small := functionWords[h]
			switch {
			case answer || runes[0] >= '0' && runes[0] <= '9':
				answers++
				known++
			case small:
				function++
				known++
			case m.space.dict.lookup(hashEnd(h, viewWord)) >= 0:
				known++
			default:
				if _, ok := conceptOf[hashWord(stem(sc.stem[:0], runes))]; ok {
					known++
				}
			}
		case tokenHan:
			han += len(runes)
			words++
			n := 0
			for _, r := range runes {
				if strings.ContainsRune(answerRunes, r) {
					n++
				}
			}
			switch {
			case n == len(runes):
				answers++
				known++
			case n > 0 || m.space.dict.lookup(hashEnd(hashStep(hashSeed, runes[0]), viewWord)) >= 0:
				known++
			}
		case tokenSymbol:
			// A thumb or a check mark may stand beside anything.
		}
	}
	switch {
	case words == 0 || words > maxFollowUpWords || han > maxFollowUpHan:
		return standalone
	case answers > 0 && answers+function == words:
		return acknowledgement
	case goesOn(&sc.text):
		return continuing
	case known*2 >= words:
		return elliptic
	}
	return standalone
}

// goesOn reports whether a message begins or ends like one that carries on: "what
// about …", "and …", 那…呢, じゃあ….
func goesOn(t *reading) bool {
	word := func(i int) string {
		if i >= len(t.tokens) {
			return ""
		}
		return string(t.runes[t.tokens[i].start:t.tokens[i].end])
	}
	switch first := word(0); first {
	case "and", "or", "but", "same", "instead":
		return true
	case "what", "how":
		return word(1) == "about"
	default:
		last := word(len(t.tokens) - 1)
		return strings.HasPrefix(first, "那") || strings.HasSuffix(last, "呢") ||
			strings.HasPrefix(first, "じゃ") || strings.HasPrefix(first, "では")
	}
}

// answerWords answer a question or choose from what was offered; with
// functionWords and numbers beside them they say nothing of a subject.
var answerWords = wordSet(`
	yes yeah yep yup ya sure ok okay okey alright right correct exactly absolutely definitely indeed affirmative
	no nope nah neither none either both all
	first second third fourth fifth last latter former next previous other another same one ones two three four five
	1st 2nd 3rd 4th 5th option choice number
	ahead proceed continue it that this those these them again more
	sounds good great perfect fine
	si oui ja doch klar genau bitte claro vale
`)

// answerRunes do the same in Chinese and Japanese.
const answerRunes = "好啊呀哦喔嗯恩吧的是對对沒没错錯可以行要不用了第一二三四五六七八九十個个那這这就它都請请繼继續续再来來下做去號号项項選选" +
	"はいうんええおねがしますそれこあでのもっと次目番最初つ度願方"

// functionWords hold sentences together and say little of what they are about.
var functionWords = wordSet(`
	a an the this that these those it its they them their he him his she her we us our you your yours i me my mine
	who whom whose which what where when why how
	am is are was were be been being do does did have has had can could will would shall should may might must
	im ive id ill youre lets let thats whats
	and or but if then else so because as than while though
	of to in on at by for from with into onto about up down out off over
	there here also too just only very really please thanks thank you hey hi well
	want like go make get give take use pick choose tell show say with
`)

// wordSet reads a list of words into a set of their hashes.
func wordSet(words string) map[uint64]struct{} {
	set := make(map[uint64]struct{})
	for w := range strings.FieldsSeq(words) {
		set[hashWord(folded(w))] = struct{}{}
	}
	return set
}

// folded returns the characters of a word as they are compared.
func folded(word string) []rune {
	out := make([]rune, 0, len(word))
	for _, r := range word {
		if r = fold(r); r >= 0 {
			out = append(out, r)
		}
	}
	return out
}
