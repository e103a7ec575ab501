package terms

// stemmer reduces an English word to its stem by the rules of M. F. Porter, "An
// algorithm for suffix stripping", 1980. Words are lower-case ASCII letters.
type stemmer struct {
	b []byte
	j int // length of the part before the suffix found
}

// longestStem is the length of the longest word that has a stem: longer ones are
// not English.
const longestStem = 28

// Stem returns the stem of an English word in lower case. Other words, and those
// of less than three letters, pass unchanged.
func Stem(word string) string {
	if len(word) < 3 || len(word) > longestStem {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	if base, ok := irregular[word]; ok {
		word = base
	}
	s := stemmer{b: []byte(word)}
	s.plural()
	s.past()
	s.finalY()
	s.replace(longSuffixes)
	s.replace(middleSuffixes)
	s.derivation()
	s.finalE()
	return string(s.b)
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
	n := len(s.b)
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
	n := len(s.b) - len(suffix)
	if n < 0 || string(s.b[n:]) != suffix {
		return false
	}
	s.j = n
	return true
}

func (s *stemmer) set(suffix string) { s.b = append(s.b[:s.j], suffix...) }

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
		s.b = append(s.b, 'e')
	case s.doubled():
		if c := s.b[len(s.b)-1]; c != 'l' && c != 's' && c != 'z' {
			s.b = s.b[:len(s.b)-1]
		}
	default:
		if s.j = len(s.b); s.measure() == 1 && s.short(s.j) {
			s.b = append(s.b, 'e')
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
	if s.j = len(s.b); s.measure() > 1 && s.doubled() && s.b[len(s.b)-1] == 'l' {
		s.b = s.b[:len(s.b)-1]
	}
}
