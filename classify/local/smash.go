package local

import "strings"

const (
	// leastSmash is the length of the shortest word that can be a key smash, in letters,
	// and of the shortest run of neighbouring keys; longestConsonants is how many
	// consonants in a row words have ("Angstschweiß").
	leastSmash, longestConsonants = 4, 8
	// mostlySmash is the share of the letters that must be in such words.
	mostlySmash = 0.6
)

// keyRows are the rows of keyboards.
var keyRows = func() []string {
	var out []string
	for row := range strings.FieldsSeq("qwertyuiop qwertzuiopu azertyuiop asdfghjkl qsdfghjklm zxcvbnm yxcvbnm wxcvbn йцукенгшщзхъ фывапролджэ ячсмитьбю 1234567890") {
		back := []rune(row)
		for i, k := 0, len(back)-1; i < k; i, k = i+1, k-1 {
			back[i], back[k] = back[k], back[i]
		}
		out = append(out, row, string(back))
	}
	return out
}()

// smashed reports whether a message is nothing that can be read: keys hit at random ("qwertzuiop asdf", "hhhhjk"), or no
// letter, digit or symbol that means anything ("…", "?!").
func (t *reading) smashed() bool {
	if len(t.tokens) == 0 {
		return true
	}
	all, smashed := 0, 0
	for _, tok := range t.tokens {
		word := t.runes[tok.start:tok.end]
		if tok.kind != tokenWord {
			return false
		}
		if all += len(word); isSmash(word) {
			smashed += len(word)
		}
	}
	return float64(smashed) >= mostlySmash*float64(all)
}

// isSmash reports whether a word has a run of neighbouring keys, no vowel, or more
// consonants in a row than words have.
func isSmash(word []rune) bool {
	if len(word) < leastSmash {
		return false
	}
	for i := range len(word) - leastSmash + 1 {
		run := string(word[i : i+leastSmash])
		for _, row := range keyRows {
			if strings.Contains(row, run) && (run[0] < '0' || run[0] > '9') {
				return true
			}
		}
	}
	consonants, vowels := 0, 0
	for _, r := range word {
		switch {
		case strings.ContainsRune("aeiouyаеиоуыэюяіїєё", r):
			consonants = 0
			vowels++
		case r >= 'a' && r <= 'z' || r >= 'а' && r <= 'я':
			if consonants++; consonants > longestConsonants {
				return true
			}
		default:
			return false // digits, and scripts of which the vowels are not known
		}
	}
	return vowels == 0
}
