package safety

import (
	"slices"
	"strings"
	"unicode"

	"intenthint/internal/text/fold"
)

// Runes of a folded text that are not letters.
const (
	gap  = ' ' // between two words
	stop = '.' // between two sentences
)

// Distances are counted in letters, so that spaced-out letters are not farther
// apart than others. A letter of a script without spaces counts as about three
// letters of an alphabet.
const wideWeight = 3

// A folded text is the form of a text that rules read.
type folded struct {
	runes []rune
	place []int32 // of each rune: the letters before it, weighted
	sent  []int32 // of each rune: the number of its sentence
	long  []bool  // of each rune: it is part of a word of longWord letters
	part  []int32 // of each rune: the number of its clause
}

// sentence returns sentence n.
func (f folded) sentence(n int32) folded {
	from, _ := slices.BinarySearch(f.sent, n)
	to, _ := slices.BinarySearch(f.sent, n+1)
	return folded{runes: f.runes[from:to], place: f.place[from:to], sent: f.sent[from:to], long: f.long[from:to], part: f.part[from:to]}
}

// longWord is the length, in Latin letters, from which a word may be several
// words without gaps, as in hashtags and compounds.
const longWord = 15

// foldText returns the folded form of s.
func foldText(s string) folded {
	f := folder{src: []rune(fold.NFKD(s))}
	f.out.runes = make([]rune, 0, len(f.src))
	for f.at < len(f.src) {
		f.next()
	}
	f.endWord()
	return f.out
}

type folder struct {
	src  []rune
	at   int
	last rune // the last letter as written, 0 after a gap

	out         folded
	weight      int32
	sentence    int32
	clause      int32
	word        int // where the current word begins in out, if inWord
	inWord      bool
	words, wide int // of the current sentence
}

// next reads one rune.
func (f *folder) next() {
	r := f.src[f.at]
	f.at++
	if r < 0x80 && isLower(r) && isLower(f.last) { // the common case
		f.letter(r, latin(r))
		return
	}
	if hidden(r) {
		return
	}
	if to, ok := fold.LookAlike(r); ok {
		if unicode.IsUpper(to) || unicode.IsUpper(r) {
			r = 'A' // for the border between words within IgnoreAll
		}
		f.letter(r, latin(unicode.ToLower(to)))
		return
	}
	switch {
	case unicode.IsLetter(r), isVowelSign(r):
		f.letter(r, latin(unicode.ToLower(r)))
	case unicode.IsDigit(r) || f.standsForLetter(r):
		f.letter(r, r)
	default:
		f.between(r)
	}
}

// letter appends a letter, preceded by a gap at a word boundary as in
// IgnoreAll.
func (f *folder) letter(written, r rune) {
	if isLower(f.last) && isUpper(written) {
		f.endWord()
	}
	if !f.inWord {
		f.inWord = true
		f.words++
		if n := len(f.out.runes); n > 0 && f.out.runes[n-1] != stop {
			f.append(gap)
		}
		f.word = len(f.out.runes)
	}
	f.last = written
	f.append(r)
	switch {
	case isThai(r):
		f.wide++
		f.weight++
	case isWide(r):
		f.wide++
		f.weight += wideWeight
	default:
		f.weight++
	}
}

func (f *folder) append(r rune) {
	f.out.runes = append(f.out.runes, r)
	f.out.place = append(f.out.place, f.weight)
	f.out.sent = append(f.out.sent, f.sentence)
	f.out.long = append(f.out.long, false)
	f.out.part = append(f.out.part, f.clause)
}

// between ends a word, and perhaps a sentence.
func (f *folder) between(r rune) {
	wide, thai := isWide(f.last), isThai(f.last)
	f.endWord()
	switch r {
	case ' ':
		if thai { // Thai separates clauses and sentences by spaces only
			f.clause++
		}
	case ',', ':', '、', '،':
		f.clause++
	case '.', '!', '?', ';':
		if wide || f.at == len(f.src) || unicode.IsSpace(f.src[f.at]) {
			f.endSentence()
		}
	case '。', '؟', '؛', '।':
		f.endSentence()
	case '\n':
		if f.at < len(f.src) && strings.ContainsRune("\n-*#", f.src[f.at]) {
			f.endSentence()
		}
	}
}

// endSentence begins a new sentence. One or two words are not a sentence but a
// style of writing: Ignore. All. Previous.
func (f *folder) endSentence() {
	if f.words >= 3 || f.wide >= 4 {
		f.append(stop)
		f.sentence++
		f.clause++
	}
	f.words, f.wide = 0, 0
}

// endWord replaces the digits and signs of a word that has letters of the Latin
// alphabet by the letters that they stand for.
func (f *folder) endWord() {
	f.last = 0
	if !f.inWord {
		return
	}
	f.inWord = false
	word := f.out.runes[f.word:]
	plain := 0
	for _, r := range word {
		if 'a' <= r && r <= 'z' {
			plain++
		}
	}
	if plain == 0 {
		return
	}
	for i, r := range word {
		if to, ok := leet[r]; ok {
			word[i] = to
		}
		f.out.long[f.word+i] = plain >= longWord
	}
	if to, ok := scrambled[scramble(word)]; ok {
		copy(word, to)
	}
}

// scrambled maps scrambled words to words: people can read words with their
// inner letters in any order, such as ignroe.
var scrambled = func() map[string][]rune {
	m := make(map[string][]rune)
	for _, word := range []string{"ignore", "disregard", "forget", "previous", "instruction", "instructions", "reveal", "system", "prompt", "prompts"} {
		runes := []rune(strings.ReplaceAll(word, "l", "i"))
		m[scramble(runes)] = runes
	}
	return m
}()

// scramble returns a word with its inner letters in alphabetical order; "" for
// a word that is too short or too long to be scrambled.
func scramble(word []rune) string {
	if len(word) < 6 || len(word) > 12 {
		return ""
	}
	key := slices.Clone(word)
	slices.Sort(key[1 : len(key)-1])
	return string(key)
}

// standsForLetter reports whether a sign is a letter of a word, as in pa$$word:
// it is followed by a letter that is not upper case, and comes after a letter
// or before a consonant.
func (f *folder) standsForLetter(r rune) bool {
	if _, ok := leet[r]; !ok || f.at == len(f.src) {
		return false
	}
	after := f.src[f.at]
	if f.last != 0 {
		return isLower(after) || unicode.IsDigit(after) || after == r
	}
	return isLower(after) && !strings.ContainsRune("aeiou", after) && (f.at < 2 || unicode.IsSpace(f.src[f.at-2]))
}

func isLower(r rune) bool { return 'a' <= r && r <= 'z' }
func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }

// latin folds l to i: 1, l, I and | look alike.
func latin(r rune) rune {
	if r == 'l' {
		return 'i'
	}
	return r
}

// isWide reports whether a letter belongs to a script without spaces between
// words.
func isWide(r rune) bool {
	return fold.CJK(r) || unicode.Is(unicode.Thai, r)
}

func isThai(r rune) bool { return 0x0E00 <= r && r < 0x0E80 }

// isVowelSign reports whether a mark is a vowel sign or virama of an Indian
// script: words differ by them. The dot below (nukta) is often omitted.
func isVowelSign(r rune) bool {
	return 0x0900 <= r && r < 0x0E00 && unicode.In(r, unicode.Mc, unicode.Mn) && r != 0x093C
}

// isJoined reports whether words of a letter's script are matched within other
// words: such scripts have no spaces, or attach particles to words.
func isJoined(r rune) bool {
	return r >= 0x0600 && (isWide(r) || unicode.In(r, unicode.Hangul, unicode.Arabic) || r == 'ー')
}

// hidden reports whether a rune is invisible, or only changes the look of
// another. Japanese voicing marks are not hidden: they make different letters.
func hidden(r rune) bool {
	switch {
	case r < 0xAD, r == '\u3099', r == '\u309a', isVowelSign(r):
		return false
	case r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0', r == '\u2800', r == '\u0640':
		return true
	}
	return fold.Invisible(r) || unicode.In(r, unicode.Mn, unicode.Me)
}

// leet are digits and signs that stand for letters within words.
var leet = map[rune]rune{
	'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'g', '7': 't', '8': 'b', '9': 'g',
	'@': 'a', '$': 's', '!': 'i', '|': 'i', '€': 'e',
}
