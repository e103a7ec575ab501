package safety

import "strings"

// A hit is a word in a folded text that belongs to concepts.
type hit struct {
	concepts set
	sentence int32 // that contains it
	at, end  int32 // in letters
}

// A trie holds the words of all concepts, folded.
type trie struct {
	nodes []node
}

type node struct {
	next map[rune]int32
	ends []end
}

// An end is a word that ends at a node.
type end struct {
	concepts set
	stem     bool // more letters may follow
	within   bool // it may begin and end within a word
}

// newTrie reads the table of words: those of a concept are separated by commas,
// and a star stands for any letters.
func newTrie(table []entry) *trie {
	t := &trie{nodes: make([]node, 1)}
	for _, e := range table {
		for word := range strings.SplitSeq(e.words, ",") {
			word = strings.TrimSpace(word)
			plain := strings.TrimSuffix(word, "*")
			runes := foldText(plain).runes
			if len(runes) == 0 {
				continue
			}
			t.add(runes, end{concepts: e.concept, stem: plain != word, within: isJoined(runes[0])})
		}
	}
	return t
}

func (t *trie) add(word []rune, e end) {
	at := int32(0)
	for _, r := range word {
		next, ok := t.nodes[at].next[r]
		if !ok {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, node{})
			if t.nodes[at].next == nil {
				t.nodes[at].next = make(map[rune]int32)
			}
			t.nodes[at].next[r] = next
		}
		at = next
	}
	t.nodes[at].ends = append(t.nodes[at].ends, e)
}

// find returns the words of concepts in f in order. If several begin at the
// same place, or one contains another, only the longest is returned.
func (t *trie) find(f folded) []hit {
	var hits []hit
	covered := 0
	for i := range f.runes {
		if f.runes[i] == gap || f.runes[i] == stop || !t.begins(f, i) {
			continue
		}
		found, to := t.at(f, i)
		if to <= covered || to-i < minInner && (inner(f, i) || inner(f, to)) {
			continue
		}
		if found != 0 {
			hits = append(hits, hit{concepts: found, sentence: f.sent[i], at: f.place[i], end: f.place[to-1] + 1})
			covered = to
		}
	}
	return hits
}

// minInner is the minimum length, in letters, of a word that is matched within
// a long word.
const minInner = 5

// inner reports whether rune i is inside a long word.
func inner(f folded, i int) bool {
	return 0 < i && i < len(f.runes) && f.long[i] && f.long[i-1] && f.runes[i-1] != gap
}

// begins reports whether a word can begin at rune i.
func (t *trie) begins(f folded, i int) bool {
	if i == 0 || f.long[i] || isJoined(f.runes[i]) {
		return true
	}
	before := f.runes[i-1]
	return before == gap || before == stop || isJoined(before)
}

// at returns the concepts of the longest word that begins at rune i, and where
// it ends. Gaps between its letters are ignored, and so is a missing gap
// between two words. So there may be several paths through the trie, but no
// more than the table has words that differ only in their gaps.
func (t *trie) at(f folded, i int) (found set, to int) {
	var room [2][8]int32
	now, then := append(room[0][:0], 0), room[1][:0]
	for j := i; j < len(f.runes) && len(now) > 0; j++ {
		r := f.runes[j]
		if r == gap {
			continue
		}
		then = then[:0]
		for _, at := range now {
			if next, ok := t.nodes[at].next[r]; ok {
				then = append(then, next)
			}
			if behind, ok := t.nodes[at].next[gap]; ok {
				if next, ok := t.nodes[behind].next[r]; ok {
					then = append(then, next)
				}
			}
		}
		now, then = then, now
		var here set
		for _, at := range now {
			for _, e := range t.nodes[at].ends {
				if e.stem || e.within || ends(f, j+1) {
					here |= e.concepts
				}
			}
		}
		if here != 0 {
			found, to = here, j+1
		}
	}
	return found, to
}

// ends reports whether a word can end before rune j.
func ends(f folded, j int) bool {
	if j == len(f.runes) || f.long[j] {
		return true
	}
	r := f.runes[j]
	return r == gap || r == stop || isJoined(r)
}
