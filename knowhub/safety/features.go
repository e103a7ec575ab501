package safety

import (
	"regexp"
	"strings"
	"unicode"
)

// The model reads a text in segments: its clauses, where short ones are joined
// with the next part of the sentence and long ones are split. A segment and up
// to maxSegments-1 following ones are one window. The score of a text is that
// of its best window, so that other text cannot hide an attack.
const (
	minSegment  = 20 // letters, see wideWeight
	maxSegment  = 120
	maxSegments = 5
)

// A block is a kind of features. Each block has the same share in a window's
// score, however many features the others have.
type block int

const (
	wordBlock    block = iota // words, pairs of words with at most one between, and the words that a clause begins with
	pieceBlock                // parts of words, characters of scripts without spaces
	edgeBlock                 // in scripts without spaces, the letters with which a segment begins and ends, where requests show
	conceptBlock              // concepts, two of them in a segment, and the marks of rules
	blocks
)

// A segment holds the positions of its features in the table of weights.
type segment [blocks][]uint32

// tableBits is the size of the table of weights, as a power of 2. Features may
// collide.
const tableBits = 22

// FNV-1a with 64 bits: the weights are stored by these hashes.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// feature is the hash of a feature.
type feature uint64

func newFeature(kind byte) feature { return feature(fnvOffset).add(rune(kind)) }

func (f feature) add(r rune) feature { return (f ^ feature(r)) * fnvPrime }

func (f feature) runes(list []rune) feature {
	for _, r := range list {
		f = f.add(r)
	}
	return f
}

// place returns the feature's position in the table.
func (f feature) place() uint32 {
	f ^= f >> 32
	return uint32(f*fnvPrime>>20) & (1<<tableBits - 1) //nolint:gosec // masked
}

var (
	addresses = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,9}://[^\s)\]"'<>]*|\b(?:[a-z0-9-]+\.)+(?:example|com|net|org|io|ru|cn|tk|xyz)\b[^\s)\]"'<>]*|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b[^\s)\]"'<>]*`)
	mailboxes = regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]+`)
)

// withoutNames replaces addresses by placeholder words: their owner is
// irrelevant.
func withoutNames(s string) string {
	if strings.Contains(s, "@") {
		s = mailboxes.ReplaceAllLiteralString(s, " xmailx ")
	}
	if strings.Contains(s, ".") {
		s = addresses.ReplaceAllLiteralString(s, " xlinkx ")
	}
	return s
}

// segments returns the features of a text that is visible and without escapes.
func segments(s string) []segment {
	f := foldText(withoutNames(s))
	return f.segments(concepts().find(f))
}

func (f folded) segments(hits []hit) (out []segment) {
	for from := 0; from < len(f.runes); {
		to := f.segment(from)
		n := 0
		for n < len(hits) && hits[n].at < f.place[to-1] {
			n++
		}
		if part := f.features(from, to, hits[:n]); len(part[wordBlock])+len(part[pieceBlock]) > 0 {
			out = append(out, part)
		}
		hits = hits[n:]
		from = to
	}
	return out
}

// segment returns the end of the segment that begins at rune from.
func (f folded) segment(from int) int {
	for i := from + 1; i < len(f.runes); i++ {
		switch {
		case f.sent[i] != f.sent[from], f.part[i] != f.part[i-1] && f.place[i]-f.place[from] >= minSegment:
			return i
		case f.place[i]-f.place[from] >= maxSegment && (f.runes[i] == gap || isWide(f.runes[i])), f.place[i]-f.place[from] >= 2*maxSegment:
			return i
		}
	}
	return len(f.runes)
}

// features returns the features of the runes from–to.
func (f folded) features(from, to int, hits []hit) (out segment) {
	var last, before feature // the words before the current one
	words := 0
	add := func(b block, x feature) { out[b] = append(out[b], x.place()) }
	for i := from; i < to; {
		if f.runes[i] == gap || f.runes[i] == stop {
			i++
			continue
		}
		end := i
		for end < to && f.runes[end] != gap && f.runes[end] != stop {
			end++
		}
		run := f.runes[i:end]
		i = end
		if isJoined(run[0]) {
			pieces(run, 1, 4, func(p []rune) { add(pieceBlock, newFeature('j').runes(p)) })
		}
		if isWide(run[0]) {
			continue
		}
		word := newFeature('w')
		if isNumber(run) {
			word = word.add('#')
		} else {
			word = word.runes(run)
		}
		add(wordBlock, word)
		if last != 0 {
			add(wordBlock, last.add(' ')*fnvPrime^word)
		}
		// The beginning shows who is addressed.
		switch words++; words {
		case 1:
			add(wordBlock, newFeature('^')*fnvPrime^word)
		case 2:
			add(wordBlock, newFeature('2')*fnvPrime^(last.add(' ')*fnvPrime^word))
		}
		if before != 0 {
			add(wordBlock, before.add('_')*fnvPrime^word)
		}
		before, last = last, word
		if !isJoined(run[0]) && len(run) <= 2*longWord {
			edged := append(append([]rune{'<'}, run...), '>')
			pieces(edged, 3, 5, func(p []rune) { add(pieceBlock, newFeature('p').runes(p)) })
		}
	}
	f.edges(from, to, add)
	if last != 0 {
		add(edgeBlock, newFeature('$')*fnvPrime^last)
	}
	if before != 0 {
		add(edgeBlock, newFeature('3')*fnvPrime^(before.add(' ')*fnvPrime^last))
	}
	var seen set
	for _, h := range hits {
		seen |= h.concepts
	}
	seen &^= keep
	for a := range 64 {
		if seen>>a&1 == 0 {
			continue
		}
		add(conceptBlock, newFeature('c').add(rune(a)))
		for b := range a {
			if seen>>b&1 != 0 {
				add(conceptBlock, newFeature('d').add(rune(a)).add(rune(b)))
			}
		}
	}
	apply(hits, func(r rule, _ []hit) { add(conceptBlock, newFeature('r').runes([]rune(r.mark))) })
	return out
}

// edges adds the letters with which the runes from–to begin and end.
func (f folded) edges(from, to int, add func(block, feature)) {
	blank := func(r rune) bool { return r == gap || r == stop }
	for from < to && blank(f.runes[from]) {
		from++
	}
	for from < to && blank(f.runes[to-1]) {
		to--
	}
	if from == to {
		return
	}
	least := 2
	if isJoined(f.runes[to-1]) {
		least = 1
	}
	for n := least; n <= min(5, to-from); n++ {
		add(edgeBlock, newFeature('e').runes(f.runes[to-n:to]))
	}
	if isJoined(f.runes[from]) {
		for n := 1; n <= min(4, to-from); n++ {
			add(edgeBlock, newFeature('b').runes(f.runes[from:from+n]))
		}
	}
}

func isNumber(run []rune) bool {
	for _, r := range run {
		if !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// pieces calls yield with the parts of a word of least to most runes.
func pieces(word []rune, least, most int, yield func([]rune)) {
	for i := range word {
		for n := least; n <= most && i+n <= len(word); n++ {
			yield(word[i : i+n])
		}
	}
}
