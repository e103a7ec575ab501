package local

import (
	"math"
	"strings"
	"unicode/utf8"
)

// feature is a hashed property of an input with its value.
type feature struct {
	key   uint64
	value float32
}

// features collects the properties of one input.
type features struct {
	list []feature
	open int // where the current block begins
}

// FNV-1a, over a name and the parts after it.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hash(seed uint64, s string) uint64 {
	for i := range len(s) {
		seed = (seed ^ uint64(s[i])) * fnvPrime
	}
	return seed
}

var (
	blockWords = hash(fnvOffset, "w:")
	blockGrams = hash(fnvOffset, "g:")
	blockAfter = hash(fnvOffset, "a:")
	blockState = hash(fnvOffset, "s:")
)

// on adds a property.
func (f *features) on(names ...string) {
	key := blockState
	for _, n := range names {
		key = (hash(key, n) ^ '&') * fnvPrime
	}
	f.list = append(f.list, feature{key, 1})
}

// scale gives the features since the last call the weight total together.
func (f *features) scale(total float32) {
	if n := len(f.list) - f.open; n > 0 {
		v := total / float32(math.Sqrt(float64(n)))
		for i := f.open; i < len(f.list); i++ {
			f.list[i].value = v
		}
	}
	f.open = len(f.list)
}

// Weights of the blocks of an input; a single property has 1.
const (
	weightWords = 2.0
	weightGrams = 1.5
	weightAfter = 1.5
)

// extract returns the features of an input; m is its text.
func extract(m *message, in *Input, s scene) []feature {
	f := &features{list: make([]feature, 0, 192)}
	f.addWords(m, blockWords, true)
	f.scale(weightWords)
	f.addGrams(m)
	f.scale(weightGrams)
	if s.afterBot {
		f.addWords(m, blockAfter, false)
		f.scale(weightAfter)
	}
	f.addShape(m, s, in.Group)
	return f.list
}

// addWords adds words, pairs of words, and pieces of CJK text of one to three
// characters.
func (f *features) addWords(m *message, block uint64, pairs bool) {
	for i, w := range m.words {
		f.list = append(f.list, feature{key: hash(block, w)})
		if !pairs {
			continue
		}
		previous := "^"
		if i > 0 {
			previous = m.words[i-1]
		}
		f.list = append(f.list, feature{key: hash(hash(hash(block, previous), " "), w)})
	}
	for _, run := range m.cjk {
		pieces(run, 1, 3, func(s string) {
			f.list = append(f.list, feature{key: hash(block, s)})
		})
	}
	if n := len(m.words); n > 0 && pairs {
		f.list = append(f.list, feature{key: hash(hash(block, m.words[n-1]), " $")})
	}
	if n := len(m.cjk); n > 0 {
		pieces("^"+firstRunes(m.cjk[0], 2), 2, 3, func(s string) {
			if s[0] == '^' {
				f.list = append(f.list, feature{key: hash(block, s)})
			}
		})
		pieces(lastRunes(m.cjk[n-1], 2)+"$", 2, 3, func(s string) {
			if s[len(s)-1] == '$' {
				f.list = append(f.list, feature{key: hash(block, s)})
			}
		})
	}
	if m.asks() {
		f.list = append(f.list, feature{key: hash(block, "?")})
	}
}

// addGrams adds pieces of three to five characters of each word, so that other
// word forms and typing errors are similar.
func (f *features) addGrams(m *message) {
	for _, w := range m.words {
		pieces("<"+w+">", 3, 5, func(s string) {
			f.list = append(f.list, feature{key: hash(blockGrams, s)})
		})
	}
}

func firstRunes(s string, n int) string {
	head, _ := cutRunes(s, n)
	return head
}

func lastRunes(s string, n int) string {
	for skip := utf8.RuneCountInString(s) - n; skip > 0; skip-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

// pieces calls use with each substring of at least low and at most high
// characters.
func pieces(s string, low, high int, use func(string)) {
	for i := range s {
		end := i
		for n := 1; n <= high && end < len(s); n++ {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
			if n >= low {
				use(s[i:end])
			}
		}
	}
}

// addShape adds the form of the message and its place in the conversation.
func (f *features) addShape(m *message, c scene, group string) {
	size := m.latin + m.digits + 2*(m.han+m.kana)
	length := bucket(size, [...]int{0, 4, 10, 20, 35, 60, 110})
	f.on("bias")
	f.on("length", length)
	f.on("place", c.place)
	f.on("place", c.place, length)
	marks := make([]string, 0, 24)
	for i, name := range listNames {
		l := lexicon(1) << i
		if l == filler {
			continue
		}
		if m.has(l) {
			marks = append(marks, name)
		}
		if m.starts(l) {
			f.on("starts", name)
			f.on("starts", name, c.place)
		}
	}
	marks = appendIf(marks, m.asks(), "?")
	marks = appendIf(marks, strings.HasSuffix(m.folded, "?"), "?$")
	marks = appendIf(marks, strings.Contains(m.folded, "!"), "!")
	marks = appendIf(marks, strings.HasSuffix(m.folded, "..."), "...")
	marks = appendIf(marks, m.digits > 0, "digits")
	marks = appendIf(marks, m.emoji > 0, "emoji")
	marks = appendIf(marks, m.latin+m.han+m.kana+m.digits == 0, "no words")
	marks = appendIf(marks, strings.Contains(m.folded, "@"), "@")
	marks = appendIf(marks, strings.Contains(m.folded, "://"), "link")
	marks = appendIf(marks, strings.Contains(m.folded, "["), "attachment")
	marks = appendIf(marks, m.only(reactions), "reaction")
	marks = appendIf(marks, m.callsFirst(), "calls first")
	marks = appendIf(marks, m.callsLast(), "calls last")
	marks = appendIf(marks, c.addressed, "addressed")
	marks = appendIf(marks, c.addressedFirst, "addressed first")
	for i, a := range marks {
		f.on(a)
		f.on(a, c.place)
		f.on(a, length)
		for _, b := range marks[:i] {
			f.on(a, b)
		}
	}
	questioning := m.asks() || m.has(questionWords) || m.has(requests)
	if group != "" {
		f.on("group", group)
		f.on("group", group, c.place)
		if questioning {
			f.on("group", group, "questioning")
		}
	}
	for _, s := range c.marks {
		f.on("before", s)
		f.on("before", s, c.place)
		if questioning {
			f.on("questioning", s)
		}
	}
}

func appendIf(list []string, ok bool, s string) []string {
	if ok {
		return append(list, s)
	}
	return list
}

// bucket returns the name of the step that n falls into.
func bucket(n int, steps [7]int) string {
	i := 0
	for i < len(steps) && n > steps[i] {
		i++
	}
	return "01234567"[i : i+1]
}
