package redact

import "bytes"

// privateKeys finds private keys (contract §12): PEM and OpenPGP blocks from
// their BEGIN to their END line, also with \n for the ends of lines. A block
// without END goes as far as lines of base64 do, and so does one whose BEGIN is
// missing. Public keys and certificates stay.
func (w *work) privateKeys() {
	t := w.t
	done := 0
	for i := 0; i < len(t); {
		n := bytes.Index(t[i:], []byte("PRIVATE KEY"))
		if n < 0 {
			return
		}
		at := i + n
		i = at + len("PRIVATE KEY")
		begin, isBegin := headStart(t, done, at, "BEGIN ")
		switch {
		case isBegin:
			end := bodyEnd(t, headEnd(t, i))
			// The END line stands before the next block.
			if next := bytes.Index(t[i:], []byte("PRIVATE KEY")); next >= 0 {
				if last, ok := headStart(t, i, i+next, "END "); ok && last >= i {
					end = max(end, headEnd(t, i+next+len("PRIVATE KEY")))
				}
			}
			w.add(begin, end, privateKey)
			done, i = end, max(end, i)
		default:
			last, isEnd := headStart(t, done, at, "END ")
			if !isEnd {
				continue
			}
			if start := bodyStart(t, done, last); start < last {
				end := headEnd(t, i)
				w.add(start, end, privateKey)
				i = max(end, i)
			}
			done = i
		}
	}
}

// headStart returns where the dashes begin of a line like "-----BEGIN RSA " that
// ends at t[at].
func headStart(t []byte, done, at int, word string) (int, bool) {
	i := at
	for i > done && at-i < 40 && (is(t, i-1, upper|digit) || t[i-1] == ' ') {
		i--
	}
	j := bytes.LastIndex(t[i:at], []byte(word))
	if j < 0 {
		return 0, false
	}
	i += j
	dashes := i
	if isByte(t, dashes-1, ' ') {
		dashes--
	}
	for dashes > done && i-dashes < 8 && t[dashes-1] == '-' {
		dashes--
	}
	return dashes, i-dashes >= 2
}

// headEnd returns where the line ends whose words end at t[i]: behind its dashes.
func headEnd(t []byte, i int) int {
	if bytes.HasPrefix(t[i:], []byte(" BLOCK")) {
		i += len(" BLOCK")
	}
	j := i
	if isByte(t, j, ' ') {
		j++
	}
	for n := 0; n < 8 && isByte(t, j, '-'); n++ {
		j++
		i = j
	}
	return i
}

// shortestLine is the length in characters from which a word is taken for a line
// of a key; the last line may be shorter.
const shortestLine = 16

// bodyEnd returns where the lines of base64 and the headers end that begin at
// t[i].
func bodyEnd(t []byte, i int) int {
	end := i
	for {
		j := skipBreaks(t, i)
		k := j
		for is(t, k, alnum) || isByte(t, k, '+') || isByte(t, k, '/') || isByte(t, k, '=') {
			k++
		}
		if isByte(t, k, '-') || isByte(t, k, ':') { // Proc-Type: 4,ENCRYPTED
			h := headerEnd(t, j)
			if h == j {
				return end
			}
			i, end = h, h
			continue
		}
		if k == j || j == i {
			return end
		}
		if k-j < shortestLine && k < len(t) && t[k-1] != '=' && skipBreaks(t, k) == k && t[k] != '.' && t[k] != ' ' {
			return end
		}
		if k-j < shortestLine && (t[k-1] != '=' && k < len(t) && (t[k] == ' ' || t[k] == '.')) {
			return end // prose
		}
		i, end = k, k
		if k-1 >= j && t[k-1] == '=' && k-j < shortestLine {
			return end
		}
	}
}

// bodyStart returns where the lines of base64 begin that end before t[i], not
// before done.
func bodyStart(t []byte, done, i int) int {
	start, last := i, true
	for {
		j := i
		for j > done && (is(t, j-1, spaceByte) || t[j-1] == '"' || t[j-1] == '\'' || t[j-1] == '\\' || t[j-1] == 'n' && isByte(t, j-2, '\\') || t[j-1] == 'r' && isByte(t, j-2, '\\')) {
			j--
		}
		k := j
		for k > done && (is(t, k-1, alnum) || t[k-1] == '+' || t[k-1] == '/' || t[k-1] == '=') {
			k--
		}
		if k < j && isByte(t, k-1, '\\') && (t[k] == 'n' || t[k] == 'r') {
			k++
		}
		if j-k < shortestLine && (!last || j-k < 2) {
			return start
		}
		i, start, last = k, k, false
	}
}

// skipBreaks returns where the next line of a key begins: behind white space, \n
// and what ends and begins the literals of a program.
func skipBreaks(t []byte, i int) int {
	for i < len(t) {
		switch {
		case is(t, i, spaceByte) || t[i] == '"' || t[i] == '\'':
			i++
		case t[i] == '\\':
			i++
			if isByte(t, i, 'n') || isByte(t, i, 'r') {
				i++
			}
		case t[i] == '+' && is(t, i+1, spaceByte):
			i++
		default:
			return i
		}
	}
	return i
}

// headerEnd returns where the header line ends that begins at t[i], or i when
// there is none.
func headerEnd(t []byte, i int) int {
	for _, known := range []string{"proc-type", "dek-info", "version", "comment", "hash", "charset"} {
		if !hasFold(t[i:], known) {
			continue
		}
		end := i + len(known)
		for end < len(t) && end-i < 200 && t[end] != '\n' && t[end] != '\r' && t[end] != '\\' {
			end++
		}
		return end
	}
	return i
}
