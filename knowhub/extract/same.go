package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/index/terms"
)

// minAlike is the share of shingles that two experiences must have in common to be
// alike.
const minAlike = 0.6

// maxCompared bounds the compared text of an experience, in bytes.
const maxCompared = 64 << 10

// Same reports whether two experiences say the same: they are alike, and one has all
// words of the other in the same order. Two that differ in a word or in what comes
// first are two: merged, one of them would be lost, while a person who sees both
// loses a moment.
func Same(a, b experience.Experience) bool {
	x, y := OutlineOf(a), OutlineOf(b)
	return x.Alike(y) && (within(x.words, y.words) || within(y.words, x.words))
}

// Outline is the part of an experience that is compared. Callers that compare an
// experience often can keep it.
type Outline struct {
	shingles []uint64 // hashes of the shingles, sorted, each once
	words    []string // stems, without function words, and then wide characters, in order
	marks    []string // numbers, identifiers and words with an opposite, in order
	not      int      // negations
}

// Alike reports whether two experiences have nearly the same words. Other negations
// make them different, whatever the rest, and so do other numbers, paths and
// settings, words such as "works" and "fails", or an other order of these.
func (x Outline) Alike(y Outline) bool {
	return x.not == y.not && slices.Equal(x.marks, y.marks) && jaccard(x.shingles, y.shingles) >= minAlike
}

// Adds reports whether an experience has words that a known one lacks, or that have
// another order there.
func Adds(e, known experience.Experience) bool {
	return !within(OutlineOf(e).words, OutlineOf(known).words)
}

// within reports whether a list holds all of another in the same order.
func within(some, all []string) bool {
	for _, word := range all {
		if len(some) > 0 && some[0] == word {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// OutlineOf makes the outline of an experience. Shingles are three letters of a word
// with its borders, so that the forms of a word are alike, and two characters of a
// script without spaces.
func OutlineOf(e experience.Experience) Outline {
	var p Outline
	all := e.Task + "\n" + e.Resource + "\n" + e.Result
	all = fold.Lower(text.CutBytes(all, maxCompared))
	for word := range strings.FieldsFuncSeq(all, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	}) {
		word = strings.Trim(word, "'")
		if negations[word] || strings.HasSuffix(word, "n't") {
			p.not++
		}
		if opposite, ok := opposites[word]; ok {
			p.marks = append(p.marks, opposite)
		} else if strings.ContainsFunc(word, unicode.IsDigit) {
			p.marks = append(p.marks, word)
		}
		p.add([]rune(word))
	}
	for word := range strings.FieldsSeq(all) {
		if word = strings.Trim(word, `.,;:!?()[]{}<>"'`+"`"); isIdentifier(word) {
			p.marks = append(p.marks, word)
		}
	}
	for i := range all {
		for _, word := range joinedOpposites {
			if strings.HasPrefix(all[i:], word) {
				p.marks = append(p.marks, word)
			}
		}
	}
	for _, no := range joinedNegations {
		p.not += strings.Count(all, no)
	}
	terms.Each(all, func(term string, function bool) {
		if first, _ := utf8.DecodeRuneInString(term); !function && !terms.Wide(first) {
			p.words = append(p.words, term)
		}
	})
	for _, r := range all {
		if terms.Wide(r) {
			p.words = append(p.words, string(r))
		}
	}
	slices.Sort(p.shingles)
	p.shingles = slices.Clip(slices.Compact(p.shingles))
	return p
}

func (x *Outline) add(word []rune) {
	if len(word) == 0 {
		return
	}
	size := 3
	if isWide(word[0]) {
		size = 2
	} else {
		word = append(append([]rune{' '}, word...), ' ')
	}
	if len(word) < size {
		x.shingles = append(x.shingles, hash(word))
	}
	for i := 0; i+size <= len(word); i++ {
		x.shingles = append(x.shingles, hash(word[i:i+size]))
	}
}

// hash packs up to three characters into one number, 21 bits each.
func hash(chars []rune) (sum uint64) {
	for _, r := range chars {
		sum = sum<<21 | uint64(r) //nolint:gosec // a rune is positive
	}
	return sum
}

// isIdentifier reports whether a word in ASCII is a path, an address, a setting or
// a name in code.
func isIdentifier(word string) bool {
	return strings.ContainsAny(word, `./\_=:@`) && strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// opposites are words that often make the difference between two experiences, each
// with one of its forms.
var opposites = func() map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(`works work worked working
		fails fail failed failing failure
		succeeds succeed succeeded success successful successfully
		breaks break broke broken breaking
		fixes fix fixed fixing
		enable enables enabled enabling
		disable disables disabled disabling
		on
		off
		true
		false
		yes
		open opens opened
		close closes closed
		allow allows allowed
		deny denies denied
		block blocks blocked
		start starts started
		stop stops stopped
		add adds added
		remove removes removed
		increase increases increased raise raises raised
		decrease decreases decreased lower lowers lowered reduce reduces reduced
		upgrade upgrades upgraded upgrading
		downgrade downgrades downgraded downgrading
		before
		after
		first
		last
		faster
		slower
		up
		down
		staging
		production prod
		development dev
		funktioniert geht
		scheitert fehlgeschlagen
		einschalten aktivieren aktiviert
		ausschalten deaktivieren deaktiviert
		funciona
		falla
		activar
		desactivar
		fonctionne marche
		échoue
		activer
		désactiver`) {
		forms := strings.Fields(line)
		for _, form := range forms {
			m[form] = forms[0]
		}
	}
	return m
}()

// joinedOpposites are such words in Chinese, Japanese and Korean.
var joinedOpposites = []string{"成功", "失败", "失敗", "启用", "啟用", "禁用", "停用", "打开", "打開", "关闭", "關閉", "有効", "無効", "開始", "停止", "启动", "啟動", "성공", "실패", "활성", "비활성"}

// negations turn a sentence into its opposite.
var negations = func() map[string]bool {
	m := make(map[string]bool)
	for word := range strings.FieldsSeq("not no never without cannot nor avoid only except unless hardly barely rarely nicht kein keine keinen nie ohne pas jamais sans ne nunca sin não nunca sem не нет никогда без non mai senza değil yok 안 لا لم لن ليس بدون") {
		m[word] = true
	}
	return m
}()

// joinedNegations are found within words of Chinese, Japanese and Korean.
var joinedNegations = []string{"不", "没", "沒", "别", "別", "無", "无", "ない", "ません", "않", "없", "못"}

// jaccard returns the Jaccard similarity of two sorted sets, 0–1.
func jaccard(a, b []uint64) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	common, all := 0, len(a)+len(b)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			common++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return float64(common) / float64(all-common)
}

// Improves reports whether the text of another, which says the same, is to take the
// place of a known one: it is better, and nobody has decided about the known one,
// since a decision is about a text. It must not have flags that known does not have.
func Improves(another, known experience.Experience) bool {
	return known.Status == experience.Pending && better(another, known) &&
		!slices.ContainsFunc(another.Flags, func(flag string) bool { return !slices.Contains(known.Flags, flag) })
}

// better reports whether the text of a is better: higher confidence, or equal
// confidence and more content.
func better(a, b experience.Experience) bool {
	if a.Confidence != b.Confidence {
		return a.Confidence > b.Confidence
	}
	return weight(a.Task+a.Resource+a.Result) > weight(b.Task+b.Resource+b.Result)
}
