package local

import "strings"

// maxStem is the length of the longest word that has a stem.
const maxStem = 24

// stem writes the stem of an English word into buf and returns it: without
// the endings of number and tense, so that "booking", "booked" and "books"
// meet "book". Words of other languages mostly pass unchanged.
func stem(buf []rune, word []rune) []rune {
	n := len(word)
	if n < 4 || n > maxStem {
		return word
	}
	for _, r := range word {
		if r < 'a' || r > 'z' {
			return word
		}
	}
	w := append(buf[:0], word...)
	switch {
	case ends(w, "ies") && n > 4:
		w = append(w[:n-3], 'y')
	case ends(w, "sses"):
		w = w[:n-2]
	case w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		w = w[:n-1]
	}
	n = len(w)
	switch {
	case ends(w, "ing") && n > 5 && hasVowel(w[:n-3]):
		w = undouble(w[:n-3])
	case ends(w, "ied") && n > 4:
		w = append(w[:n-3], 'y')
	case ends(w, "ed") && n > 4 && hasVowel(w[:n-2]):
		w = undouble(w[:n-2])
	}
	if n = len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

func ends(w []rune, suffix string) bool {
	if len(w) < len(suffix) {
		return false
	}
	for i, r := range suffix {
		if w[len(w)-len(suffix)+i] != r {
			return false
		}
	}
	return true
}

func hasVowel(w []rune) bool {
	for _, r := range w {
		if strings.ContainsRune("aeiouy", r) {
			return true
		}
	}
	return false
}

func undouble(w []rune) []rune {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", w[n-1]) {
		return w[:n-1]
	}
	return w
}
