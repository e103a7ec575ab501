package encoder

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text/fold"
)

const (
	unknown = 0 // the id of text that matches no piece
	// firstPiece is the first id that stands for a piece of text.
	firstPiece = 6
	// maxPiece is the length of the longest piece, in code points.
	maxPiece = 16
	// unknownScore is the score of a code point at which no piece starts, lower
	// than any piece's.
	unknownScore = -24
	// maxTokens is how many tokens of a text the model reads.
	maxTokens = 128
	space     = "▁" // U+2581, which stands for a space in pieces
)

// vocabulary is a SentencePiece unigram model.
type vocabulary struct {
	size   int
	ids    map[string]int32
	scores []float32
}

func newVocabulary(size int) vocabulary {
	return vocabulary{size: size, ids: make(map[string]int32, size), scores: make([]float32, size)}
}

func (v *vocabulary) add(piece string, id int32, score float32) {
	v.scores[id] = score
	if id >= firstPiece && piece != "" {
		v.ids[piece] = id
	}
}

// pieces returns text in the form from which pieces are cut; "" for an empty
// text.
func pieces(text string) string {
	text = strings.Join(strings.Fields(fold.NFKC(strings.ToValidUTF8(text, " "))), space)
	if text == "" {
		return ""
	}
	return space + text
}

// segment cuts what pieces has returned into the pieces whose scores have the
// greatest sum. Neighbouring code points that match no piece are one token. It
// returns all ids, and the average score per code point.
func (v *vocabulary) segment(text string) (ids []int32, scoreAPoint float64) {
	// best[i] is the best cut of the first i code points, which end at byte
	// ends[i]; its last piece begins at code point from[i].
	type cut struct {
		score float32
		from  int32
		id    int32
		ends  int32
	}
	n := utf8.RuneCountInString(text)
	if n == 0 {
		return nil, 0
	}
	best := make([]cut, 1, n+1)
	for at, r := range text {
		best = append(best, cut{from: -1, ends: int32(at + utf8.RuneLen(r))})
	}
	for i := range n {
		began, found := int(best[i].ends), false
		if best[i].from < 0 && i > 0 {
			continue // no cut ends here
		}
		for j := i + 1; j <= min(n, i+maxPiece); j++ {
			id, ok := v.ids[text[began:best[j].ends]]
			if !ok {
				continue
			}
			found = true
			// Of equal sums the later start wins.
			if sum := best[i].score + v.scores[id]; best[j].from < 0 || sum >= best[j].score {
				best[j].score, best[j].from, best[j].id = sum, int32(i), id
			}
		}
		if !found {
			if sum := best[i].score + unknownScore; best[i+1].from < 0 || sum >= best[i+1].score {
				best[i+1].score, best[i+1].from, best[i+1].id = sum, int32(i), unknown
			}
		}
	}
	count := 0
	for at := int32(n); at > 0; at = best[at].from {
		count++
	}
	ids = make([]int32, count)
	for at := int32(n); at > 0; at = best[at].from {
		count--
		ids[count] = best[at].id
	}
	return joinUnknown(ids), float64(best[n].score) / float64(n)
}

// joinUnknown merges neighbouring unknown tokens into one.
func joinUnknown(ids []int32) []int32 {
	out := ids[:0]
	for i, id := range ids {
		if id != unknown || i == 0 || ids[i-1] != unknown {
			out = append(out, id)
		}
	}
	return out
}

// latinShare returns the share of Latin letters among the letters; 0 without
// letters.
func latinShare(text string) float64 {
	letters, latin := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	if letters == 0 {
		return 0
	}
	return float64(latin) / float64(letters)
}
