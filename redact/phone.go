package redact

import (
	"bytes"
)

// phoneDigits bounds the digits of a phone number: 15 by E.164, and an exit code.
const phoneDigits = 18

// phoneGroups bounds the groups that a phone number is written in.
const phoneGroups = 7

// phoneAt returns how many groups from groups[k] on are a phone number, or 0. The
// longest is taken.
func (w *work) phoneAt(groups []group, k int) int {
	if k+1 < len(groups) {
		size := groups[k].end - groups[k].start
		if next := groups[k+1].end - groups[k+1].start; size == next && (size == 1 || size == 2 && k > 0 && groups[k-1].end-groups[k-1].start == 2) {
			return 0 // in a row of small numbers
		}
	}
	if g := groups[k]; g.end-g.start == 4 && w.t[g.start] >= '2' && !g.plus && !g.open {
		return 0 // a year; no form begins so
	}
	if !w.leftFree(groups, k, false) {
		return 0
	}
	var number [phoneDigits]byte
	var n, found int
	for m := k; m < len(groups) && m < k+phoneGroups; m++ {
		g := groups[m]
		if m > k && g.plus || n+g.end-g.start > len(number) {
			break
		}
		n += copy(number[n:], w.t[g.start:g.end])
		if n >= 7 && w.isPhone(number[:n], groups, k, m) && w.rightFree(groups, m, g.sep) {
			found = m - k + 1
		}
	}
	return found
}

// isPhone reports whether the groups k to m, whose digits are number, are a phone
// number in one of the forms in use.
func (w *work) isPhone(number []byte, groups []group, k, m int) bool {
	if groups[k].plus {
		return isInternational(number)
	}
	var sizeBuf, sepBuf [phoneGroups]byte
	sizes, seps := sizeBuf[:0], sepBuf[:0]
	for j := k; j <= m; j++ {
		sizes = append(sizes, byte(groups[j].end-groups[j].start))
		if j > k {
			seps = append(seps, groups[j].sep)
		}
	}
	if len(sizes) == 1 {
		if w.isTel(groups[k].start) {
			return true
		}
		for _, unit := range units {
			if end := groups[k].end; isByte(w.t, end, ' ') && bytes.HasPrefix(w.t[end+1:], unit) {
				return false
			}
		}
		return isMobile(number)
	}
	switch {
	case number[0] == '0' && number[1] == '0' && sizes[0] <= 4: // 0086 138 0013 8000
		return len(number) >= 11 && isInternational(number[2:])
	case bytes.HasPrefix(number, []byte("011")) && sizes[0] == 3 && len(number) >= 12: // 011 44 20 7946 0958
		if isInternational(number[3:]) {
			return true
		}
	}
	for _, s := range seps[1:] {
		if s == ')' && !groups[k].open && s != seps[0] && !groups[k+1].open {
			return false
		}
	}
	if groups[k].open {
		return isAreaCoded(number, sizes, seps)
	}
	if bytes.Equal(sizes, pairs) && (k > 0 || m+1 < len(groups)) {
		return false // a row of bytes
	}
	return isNational(number, sizes, seps)
}

// pairs are the sizes of the groups of a French number.
var pairs = []byte{2, 2, 2, 2, 2}

// widePhones are words for telephone, folded.
var widePhones = func() (words [][]byte) {
	for _, s := range []string{"电话", "電話", "手机", "手機", "携帯", "番号", "号码", "號碼", "전화", "번호"} {
		words = append(words, []byte(name(s)))
	}
	return words
}()

// units are words behind numbers that count.
var units = [][]byte{[]byte("byte"), []byte("ns"), []byte("us"), []byte("ms"), []byte("row"), []byte("token"), []byte("item")}

// isTel reports whether "tel:" or a word for telephone stands before t[i].
func (w *work) isTel(i int) bool {
	t := w.t
	for n := 0; n < 3 && (isByte(t, i-1, ' ') || isByte(t, i-1, ':') || isByte(t, i-1, '.')); n++ {
		i--
	}
	j := i
	for n := 0; n < 2 && j > 0 && wideIs[t[j-1]]; n++ {
		j--
	}
	for _, s := range widePhones {
		if bytes.HasSuffix(t[:j], s) {
			return true
		}
	}
	if hasSuffixFold(t[:i], "wa.me/") {
		return true
	}
	for _, s := range []string{"tel", "phone", "mobile", "telephone", "fax", "whatsapp", "call", "sms"} {
		if hasSuffixFold(t[:i], s) && !is(t, i-len(s)-1, upper|lower) && isByte(t, i, ':') {
			return true
		}
	}
	return false
}

// isInternational reports whether number is a country calling code and a number
// of a possible length: 11 digits for 1, else 8 to 15.
func isInternational(number []byte) bool {
	n := len(number)
	if n < 8 || n > 15 || number[0] == '0' {
		return false
	}
	if number[0] == '1' {
		return n == 11 && number[1] >= '2'
	}
	if number[0] == '7' {
		return n == 11
	}
	return isAllButFirst(number)
}

// isAllButFirst reports whether the digits behind the country code are not all
// zeros, as in +5000000000.
func isAllButFirst(number []byte) bool {
	for _, d := range number[2:] {
		if d != '0' {
			return true
		}
	}
	return false
}

// isMobile reports whether number is that of a mobile phone in a country where
// these have a beginning that counts and identifiers rarely have: China, Taiwan,
// Japan, Korea, the United Kingdom, France, Australia. China and Taiwan also with
// their country codes and without the plus, as messengers have them.
func isMobile(number []byte) bool {
	switch n := len(number); {
	case n == 13 && number[0] == '8' && number[1] == '6':
		return isChineseMobile(number[2:])
	case n == 12 && bytes.HasPrefix(number, []byte("8869")):
		return true
	case number[0] == '1':
		return n == 11 && isChineseMobile(number)
	case number[0] != '0':
		return false
	case number[1] == '9':
		return n == 10 || n == 11 && number[2] == '0'
	case number[1] == '7', number[1] == '8':
		return n == 11 && (number[1] == '7' || number[2] == '0') || n == 10 && number[1] == '7'
	case number[1] == '1':
		return n == 11 && number[2] == '0'
	case number[1] == '4', number[1] == '6':
		return n == 10
	}
	return false
}

// isChineseMobile reports whether the 11 digits of number begin as those of
// mobile phones in mainland China do.
func isChineseMobile(number []byte) bool {
	if number[0] != '1' {
		return false
	}
	switch number[1] {
	case '3', '8':
		return true
	case '4':
		return number[2] >= '5'
	case '5':
		return number[2] != '4'
	case '6':
		return number[2] == '2' || number[2] == '5' || number[2] == '6' || number[2] == '7'
	case '7':
		return number[2] != '9'
	case '9':
		return number[2] != '4'
	}
	return false
}

// isAreaCoded judges a number whose first group is in parentheses: (415)
// 555-2671, (02) 2345-6789, (11) 91234-5678.
func isAreaCoded(number, sizes, seps []byte) bool {
	if seps[0] != ')' || sizes[0] < 2 || sizes[0] > 5 {
		return false
	}
	for _, s := range seps[1:] {
		if s != '-' && s != ' ' && s != '.' {
			return false
		}
	}
	rest := len(number) - int(sizes[0])
	switch {
	case number[0] == '0':
		return rest >= 6 && rest <= 8 && len(sizes) <= 5
	case sizes[0] == 3:
		return rest == 7 && (len(sizes) == 2 || len(sizes) == 3 && sizes[1] == 3)
	}
	return sizes[0] <= 3 && rest >= 7 && rest <= 9 && len(sizes) == 3 && sizes[1] >= 3 && sizes[2] == 4
}

// isNational judges a number of several groups in the forms of
//   - North America: 415-555-2671, 1-415-555-2671, 415.555.2671, 1 (415) 555-2671;
//     with blanks only where area and exchange can be ones;
//   - countries with a leading 0 before the area: 090-1234-5678, 0912-345-678,
//     020 7946 0958, 0171/1234567, 01 23 45 67 89;
//   - mainland China: 138 0013 8000, 138-0013-8000, 1380 013 8000;
//   - India: 98765 43210; Russia: 8 912 345-67-89.
func isNational(number, sizes, seps []byte) bool {
	n := len(number)
	same := true
	for _, s := range seps {
		same = same && s == seps[0]
	}
	sep := seps[0]
	shape := func(want ...byte) bool { return bytes.Equal(sizes, want) }
	switch {
	case n == 13 && len(sizes) == 2 && sizes[0] == 2: // 86-13800138000
		return isMobile(number)
	case n == 11 && (number[0] == '8' || number[0] == '7') && shape(1, 3, 3, 2, 2):
		return true
	case n == 11 && number[0] == '1' && sizes[0] == 1:
		return shape(1, 3, 3, 4) && number[1] >= '2'
	case number[0] == '0' && len(sizes) == 3 && seps[0] == '(' && seps[1] == ')': // 03(3456)7890
		return number[1] != '0' && sizes[0] >= 2 && n >= 9 && n <= 11
	case !same:
		return n == 10 && shape(3, 3, 4) && sep != ')' && seps[1] == '-' && number[0] >= '2' && number[3] >= '2'
	case sep == '/':
		return number[0] == '0' && number[1] != '0' && len(sizes) == 2 && sizes[0] >= 3 && sizes[1] >= 5 && n >= 9 && n <= 12
	case sep != ' ' && sep != '-' && sep != '.':
		return false
	case n == 10 && shape(3, 3, 4):
		return number[0] != '0' && (sep != ' ' || number[0] >= '2' && number[3] >= '2') || number[0] == '0' && number[1] != '0'
	case n == 11 && number[0] == '1' && sep != '.' && (shape(3, 4, 4) || shape(4, 3, 4) || shape(3, 8)):
		return isChineseMobile(number)
	case n == 10 && shape(5, 5) && sep != '.':
		return number[0] >= '6'
	case number[0] != '0' || number[1] == '0' || sizes[0] < 2 || sizes[0] > 5 || n < 9 || n > 12:
		return false
	case bytes.Equal(sizes, pairs):
		return true
	case sizes[0] == 2 && sizes[1] == 2:
		return false // a date: 01-02-2024
	case n == 12:
		return len(sizes) == 2 && sizes[0] == 4 || len(sizes) == 3 && sizes[0] == 4 && sizes[1] == 4
	}
	for _, size := range sizes[1:] {
		if size < 2 {
			return false
		}
	}
	return len(sizes) <= 4 && sizes[len(sizes)-1] >= 3
}
