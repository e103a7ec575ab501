package fold

import "unicode"

// unspaced are the scripts whose texts are compared by characters.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// firstUnspaced is the first character of these scripts.
const firstUnspaced = 0x0E00

// Unspaced reports whether a character is of a script that puts no spaces between
// words, or that attaches particles to them as Korean does.
func Unspaced(r rune) bool { return r >= firstUnspaced && unicode.In(r, unspaced...) }

// CJK reports whether a character is Chinese or Japanese.
func CJK(r rune) bool {
	return r >= firstUnspaced && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// Invisible reports whether a character is a format character, such as a joiner
// or a bidirectional control, or a variation selector.
func Invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Variation_Selector) }

// Plain returns the ASCII character that a wide, small or styled one stands for,
// if it stands for one alone. Circled and superscript ones do not: lists and
// formulas use them next to numbers.
func Plain(r rune) (rune, bool) {
	if r < firstStyled {
		return 0, false
	}
	plain, ok := ascii[r]
	return plain, ok
}

// firstStyled is the first character of the blocks in ascii.
const firstStyled = 0x2100

var ascii = func() map[rune]rune {
	m := make(map[rune]rune)
	for _, block := range [][2]rune{{firstStyled, 0x214F}, {0xFE50, 0xFE6B}, {0xFF01, 0xFF5E}, {0x1D400, 0x1D7FF}} {
		for r := block[0]; r <= block[1]; r++ {
			if s := NFKC(string(r)); len(s) == 1 {
				m[r] = rune(s[0])
			}
		}
	}
	return m
}()

// LookAlike returns the letter that a letter looks like: mostly one of the Latin
// alphabet for those of others. Words of other alphabets are folded as well, and
// are then equal to themselves only.
func LookAlike(r rune) (rune, bool) {
	to, ok := lookAlike[r]
	return to, ok
}

var lookAlike = func() map[rune]rune {
	m := make(map[rune]rune)
	for from, to := range map[string]string{
		"авекмнорстухіјѕһԁԛԝӏгпь": "abekmhopctyxijshdqwirnb", // Cyrillic
		"АВЕКМНОРСТУХІЈЅҺԀԚԜӀГПЬ": "ABEKMHOPCTYXIJSHDQWIRNB",
		"αβεηικνορτυχωγ":          "abenikvoptuxwy", // Greek
		"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ":          "ABEZHIKMNOPTYX",
		"օոսհցրք":                 "onuhgpp", // Armenian
		"یىک":                     "ييك",     // Persian, as Arabic writes them
		"ँ":                       "ं",       // Hindi, often written so
		"ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢɑɡıłøđħßæœſʟ": "abcdefghijklmnopqrstuvwyzagilodhsaosl",
	} {
		letters := []rune(to)
		for i, r := range []rune(from) {
			m[r] = letters[i]
		}
	}
	for i := range rune(26) { // white on black, and flags; NFKD knows the others
		for _, first := range []rune{0x1F150, 0x1F170, 0x1F1E6} {
			m[first+i] = 'a' + i
		}
	}
	return m
}()
