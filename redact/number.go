package redact

// A group is a part of a number: digits with nothing between them.
type group struct {
	start, end int
	sep        byte // what stands before it: 0, blank, '-', '.', '/', '(' or ')'
	plus, open bool // + and ( stand before it
}

// numbers finds card and phone numbers (contract §12) in runs of digits that are
// joined by one blank, hyphen, dot, slash or pair of parentheses.
func (w *work) numbers() {
	t := w.t
	for i := 0; i < len(t); {
		if class[t[i]]&digit == 0 {
			i++
			continue
		}
		var digits, end int
		w.runs, digits, end = readRun(t, i, w.runs[:0])
		if digits >= 7 {
			w.run(w.runs)
		}
		i = end
	}
}

// readRun appends the groups of the run that begins at t[i]. It returns them, how
// many digits they have, and where the run ends.
func readRun(t []byte, i int, groups []group) ([]group, int, int) {
	digits := 0
	g := group{start: i, open: isByte(t, i-1, '(')}
	g.plus = isByte(t, i-1, '+') || g.open && isByte(t, i-2, '+')
	for {
		for is(t, i, digit) {
			i++
		}
		g.end = i
		digits += g.end - g.start
		groups = append(groups, g)
		j := i
		var sep byte
		open := false
		for j < len(t) && j-i < 3 && class[t[j]]&digit == 0 {
			switch c := t[j]; c {
			case ' ', '.', '/':
				if sep == 0 {
					sep = c
				} else if c != ' ' || t[j-1] == ' ' {
					return groups, digits, i
				}
			case '-':
				if sep != ')' {
					sep = c
				}
			case '(':
				open, sep = true, '('
			case ')':
				sep = c
			default:
				return groups, digits, i
			}
			j++
		}
		if sep == 0 || !is(t, j, digit) {
			return groups, digits, i
		}
		g = group{start: j, sep: sep, open: open}
		i = j
	}
}

// run finds the numbers among groups.
func (w *work) run(groups []group) {
	for k := 0; k < len(groups); {
		n, m := w.cardAt(groups, k), card
		if n == 0 {
			n, m = w.phoneAt(groups, k), phone
		}
		if n == 0 {
			k++
			continue
		}
		start := groups[k].start
		if m == phone {
			if groups[k].open && isByte(w.t, start-1, '(') {
				start--
			}
			if groups[k].plus && isByte(w.t, start-1, '+') {
				start--
			}
			if n > 1 && groups[k].plus && groups[k+1].sep == ')' && isByte(w.t, start-1, '(') {
				start--
			}
		}
		w.add(start, groups[k+n-1].end, m)
		k += n
	}
}

// cardAt returns how many groups from groups[k] on are a card number, or 0: 13 to
// 19 digits of an issuer and a length that cards have, with a valid check digit
// (Luhn), in one piece or in groups of one size (the last may be shorter), of
// multiples of four, or as 4-6-5, 4-6-4 and 6-13, with blanks or hyphens, fours
// also with dots.
//
// Left alone: numbers beside letters, fractions, longer chains with hyphens
// (UUIDs, order numbers), numbers of other issuers (timestamps, ISBNs).
func (w *work) cardAt(groups []group, k int) int {
	if first := w.t[groups[k].start]; first < '2' || first > '9' {
		return 0
	}
	if size := groups[k].end - groups[k].start; size < 3 && k > 0 && groups[k-1].end-groups[k-1].start == size {
		return 0 // in a row of small numbers
	}
	if !w.leftFree(groups, k, true) {
		return 0
	}
	var number [19]byte
	n, found, first := 0, 0, groups[k].end-groups[k].start
	var sep byte
	for m := k; m < len(groups); m++ {
		g := groups[m]
		size := g.end - g.start
		if n+size > len(number) {
			break
		}
		if m > k {
			before := groups[m-1].end - groups[m-1].start
			switch {
			case g.start-groups[m-1].end != 1 || m > k+1 && g.sep != sep:
			case g.sep != ' ' && g.sep != '-' && (g.sep != '.' || first != 4):
			case before == first && size <= first, before%4 == 0 && first%4 == 0 && size%4 == 0:
				sep = g.sep
			case first == 4 && (m == k+1 && size == 6 || m == k+2 && before == 6), first == 6 && m == k+1 && size == 13:
				sep = g.sep
			default:
				return found
			}
			if sep != g.sep {
				return found
			}
		}
		n += copy(number[n:], w.t[g.start:g.end])
		if n >= 13 && isCard(number[:n]) && w.rightFree(groups, m, sep) {
			found = m - k + 1
		}
	}
	return found
}

// isCard reports whether number has the beginning and the length of a card
// number and a valid check digit.
func isCard(number []byte) bool {
	n := len(number)
	if n < 13 {
		return false
	}
	p := 0
	for _, d := range number[:4] {
		p = p*10 + int(d-'0')
	}
	var ok bool
	switch {
	case p/1000 == 4: // Visa
		ok = n == 13 || n == 16 || n >= 18
	case p >= 5100 && p < 5600, p >= 2221 && p <= 2720: // Mastercard
		ok = n == 16
	case p/100 == 34, p/100 == 37: // American Express
		ok = n == 15
	case p >= 3528 && p <= 3589: // JCB
		ok = n >= 16
	case p/100 == 36, p/100 == 38, p/100 == 39, p/100 == 30: // Diners Club
		ok = n == 14 || n >= 16
	case p/100 == 62, p/100 == 81: // UnionPay
		ok = n >= 16
	case p == 6011, p/100 == 65, p >= 6440 && p < 6500: // Discover
		ok = n >= 16
	case p >= 2200 && p <= 2204: // Mir
		ok = n >= 16
	case p == 9792: // Troy
		ok = n == 16
	case p/100 == 50, p >= 5600 && p < 5900, p/1000 == 6: // Maestro, RuPay, Elo, Hipercard
		ok = true
	}
	return ok && luhn(number)
}

// luhn reports whether the last digit of number is its check digit.
func luhn(number []byte) bool {
	sum := 0
	for i, d := range number {
		v := int(d - '0')
		if (len(number)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// leftFree reports whether a number can begin with groups[k].
func (w *work) leftFree(groups []group, k int, isCard bool) bool {
	t, g := w.t, groups[k]
	if k > 0 {
		return g.sep == ' ' || g.sep == '/' && !isCard && g.start-groups[k-1].end > 1 || g.sep == '(' && is(t, groups[k-1].end, spaceByte)
	}
	i := g.start - 1
	if g.open {
		i--
	}
	if g.plus {
		i--
	}
	if i < 0 {
		return true
	}
	c := t[i]
	switch {
	case class[c]&alnum != 0 || c == letter || c == '_':
		// \n12345678
		return (c == 'n' || c == 't' || c == 'r') && isByte(t, i-1, '\\')
	case c == '.' || c == ',' || c == '+':
		return !is(t, i-1, digit) && !is(t, i-1, wordByte)
	case c == '-':
		return !is(t, i-1, alnum) || isCard && g.end-g.start >= 13
	case c == ':' || c == '/':
		return !is(t, i-1, digit)
	case c == '$' || c == '^':
		return false
	}
	return true
}

// rightFree reports whether a number can end with groups[m]. sep is what its
// groups are joined by.
func (w *work) rightFree(groups []group, m int, sep byte) bool {
	t, i := w.t, groups[m].end
	if m+1 < len(groups) {
		next := groups[m+1]
		switch next.sep {
		case ' ', '(', '/':
			return true
		case '-':
			return isByte(t, i, ' ') // " - "
		}
		return false
	}
	if i >= len(t) {
		return true
	}
	c := t[i]
	switch {
	case c == 'x' || c == 'X':
		return is(t, i+1, digit)
	case class[c]&alnum != 0 || c == letter || c == '_' || c == '@' || c == '%':
		return false
	case c == '-':
		return !is(t, i+1, alnum) || sep == 0 && groups[m].end-groups[m].start >= 13
	case c == '.' || c == ':':
		return !is(t, i+1, alnum)
	case c == ',':
		return !is(t, i+1, digit) || !is(t, i+3, digit) || is(t, i+4, digit)
	}
	return true
}
