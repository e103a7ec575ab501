// Package stem reduces English words to their stems, so that the forms of a word
// are equal: "book", "books" and "booking".
package stem

// stemmer reduces an English word to its stem by the rules of M. F. Porter, "An
// algorithm for suffix stripping", 1980. Words are lower-case ASCII letters.
type stemmer struct {
	b [2 * Longest]byte // the word is b[:n]; some rules and irregular forms make it longer
	n int
	j int // length of the part before the suffix found
}

// Longest is the length of the longest word that has a stem: longer ones are not
// English.
const Longest = 28

// shortest is the length of the shortest word that has a stem.
const shortest = 3

// English returns the stem of an English word in lower case. Other words, and
// those of less than three letters, pass unchanged.
func English(word string) string {
	if len(word) < shortest || len(word) > Longest {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	var s stemmer
	s.n = copy(s.b[:], word)
	s.reduce()
	return string(s.b[:s.n])
}

// EnglishRunes is [English] for a word in runes. It writes the stem into buf and
// returns it; other words are returned themselves.
func EnglishRunes(buf, word []rune) []rune {
	if len(word) < shortest || len(word) > Longest {
		return word
	}
	var s stemmer
	for i, r := range word {
		if r < 'a' || r > 'z' {
			return word
		}
		s.b[i] = byte(r)
	}
	s.n = len(word)
	s.reduce()
	buf = buf[:0]
	for _, c := range s.b[:s.n] {
		buf = append(buf, rune(c))
	}
	return buf
}

// reduce replaces the word by its stem.
func (s *stemmer) reduce() {
	if base, ok := irregular[string(s.b[:s.n])]; ok {
		s.n = copy(s.b[:], base)
	}
	s.plural()
	s.past()
	s.finalY()
	s.replace(longSuffixes)
	s.replace(middleSuffixes)
	s.derivation()
	s.finalE()
}

func (s *stemmer) consonant(i int) bool {
	switch s.b[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !s.consonant(i-1)
	}
	return true
}

// measure counts the sequences of vowels and consonants in b[:j].
func (s *stemmer) measure() int {
	n, i := 0, 0
	for i < s.j && s.consonant(i) {
		i++
	}
	for i < s.j {
		for i < s.j && !s.consonant(i) {
			i++
		}
		if i == s.j {
			break
		}
		n++
		for i < s.j && s.consonant(i) {
			i++
		}
	}
	return n
}

func (s *stemmer) vowel() bool {
	for i := range s.j {
		if !s.consonant(i) {
			return true
		}
	}
	return false
}

func (s *stemmer) doubled() bool {
	n := s.n
	return n > 1 && s.b[n-1] == s.b[n-2] && s.consonant(n-1)
}

// short reports whether b[:n] ends in consonant, vowel, consonant, where the last
// is not w, x or y: hop, but not snow.
func (s *stemmer) short(n int) bool {
	if n < 3 || !s.consonant(n-1) || s.consonant(n-2) || !s.consonant(n-3) {
		return false
	}
	return s.b[n-1] != 'w' && s.b[n-1] != 'x' && s.b[n-1] != 'y'
}

func (s *stemmer) ends(suffix string) bool {
	n := s.n - len(suffix)
	if n < 0 || string(s.b[n:s.n]) != suffix {
		return false
	}
	s.j = n
	return true
}

func (s *stemmer) set(suffix string) { s.n = s.j + copy(s.b[s.j:], suffix) }

func (s *stemmer) append(letter byte) {
	s.b[s.n] = letter
	s.n++
}

func (s *stemmer) plural() {
	switch {
	case s.ends("sses"):
		s.set("ss")
	case s.ends("ies") && s.j > 1 && !s.vowel(): // tries
		s.set("y")
	case s.ends("ies"):
		s.set("i")
	case s.ends("ss"), s.ends("us"), s.ends("sis"), s.ends("xis"), s.ends("dis"): // status, analysis, axis, redis
	case s.ends("s") && s.j > 1:
		s.set("")
	}
}

func (s *stemmer) past() {
	switch {
	case s.ends("eed"):
		if s.measure() > 0 {
			s.set("ee")
		}
		return
	case s.ends("ied") && s.j > 1 && !s.vowel(): // tried
		s.set("y")
		return
	case s.ends("ed") && s.vowel(), s.ends("ing") && s.vowel():
		s.set("")
	default:
		return
	}
	switch {
	case s.ends("at"), s.ends("bl"), s.ends("iz"):
		s.append('e')
	case s.doubled():
		if c := s.b[s.n-1]; c != 'l' && c != 's' && c != 'z' {
			s.n--
		}
	default:
		if s.j = s.n; s.measure() == 1 && s.short(s.j) {
			s.append('e')
		}
	}
}

func (s *stemmer) finalY() {
	if s.ends("y") && s.vowel() {
		s.set("i")
	}
}

// A suffix is replaced if the part before it has a measure above 0. Of several
// matches the longest, which comes first, counts.
type suffix struct{ from, to string }

var longSuffixes = []suffix{
	{"ational", "ate"},
	{"ization", "ize"},
	{"iveness", "ive"},
	{"fulness", "ful"},
	{"ousness", "ous"},
	{"tional", "tion"},
	{"biliti", "ble"},
	{"entli", "ent"},
	{"ousli", "ous"},
	{"ation", "ate"},
	{"alism", "al"},
	{"aliti", "al"},
	{"iviti", "ive"},
	{"enci", "ence"},
	{"anci", "ance"},
	{"izer", "ize"},
	{"abli", "able"},
	{"alli", "al"},
	{"ator", "ate"},
	{"logi", "log"},
	{"bli", "ble"},
	{"eli", "e"},
}

var middleSuffixes = []suffix{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ness", ""}, {"ful", ""},
}

func (s *stemmer) replace(suffixes []suffix) {
	for _, x := range suffixes {
		if s.ends(x.from) {
			if s.measure() > 0 {
				s.set(x.to)
			}
			return
		}
	}
}

var derivations = []string{
	"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "al", "er", "ic", "ou",
}

func (s *stemmer) derivation() {
	for _, x := range derivations {
		if !s.ends(x) {
			continue
		}
		if x == "ion" && (s.j == 0 || s.b[s.j-1] != 's' && s.b[s.j-1] != 't') {
			return
		}
		if s.measure() > 1 {
			s.set("")
		}
		return
	}
}

func (s *stemmer) finalE() {
	if s.ends("e") {
		if m := s.measure(); m > 1 || m == 1 && !s.short(s.j) {
			s.set("")
		}
	}
	if s.j = s.n; s.measure() > 1 && s.doubled() && s.b[s.n-1] == 'l' {
		s.n--
	}
}
