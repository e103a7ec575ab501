package redact

import (
	"bytes"
	"strings"
)

// emails finds e-mail addresses (contract §12): what can stand before an @ (or
// %40, as in a link), and behind it a name of at least two labels whose last one
// has two letters or more. Both may be in any script. In front of and behind an
// address in Latin letters, Chinese and Japanese need no space.
//
// Left alone: git@, hg@ and svn@ of remotes; versions (react@18.2.0) and files
// (icon@2x.png, user@1000.service); hosts of one label (root@localhost) and IP
// addresses; decorators and mentions (@app.route); calls (a@b.dot()).
func (w *work) emails() {
	t := w.t
	done := 0 // no address begins before it
	for i := 0; i < len(t); i++ {
		n := bytes.IndexByte(t[i:], '@')
		if n < 0 {
			break
		}
		i += n
		start := localStart(t, done, i)
		end := domainEnd(t, i+1)
		if start < i && end > 0 && !isRemote(t[start:i]) {
			w.add(start, end, email)
			i = end - 1
		}
		done = i + 1
	}
	for i, done := 0, 0; i < len(t); i++ {
		n := bytes.Index(t[i:], []byte("%40"))
		if n < 0 {
			return
		}
		i += n
		start := localStart(t, done, i)
		end := domainEnd(t, i+3)
		if start < i && end > 0 {
			w.add(start, end, email)
			i = end - 1
		}
		done = i + 1
	}
}

// localStart returns where the local part begins that ends at the @ of t[at], or
// at without one. It does not look before done.
func localStart(t []byte, done, at int) int {
	i := at
	if i > done && t[i-1] == '"' {
		// "any text"@host
		for j := i - 2; j >= max(done, i-66); j-- {
			if t[j] == '\n' || t[j] == covered {
				break
			}
			if t[j] == '"' {
				if j > done && t[j-1] == '\\' {
					j--
				}
				return j
			}
		}
		return at
	}
	if i > done && is(t, i-1, wide) {
		for i > done && is(t, i-1, wide|alnum) {
			i--
		}
		return i
	}
	for i > done && is(t, i-1, localByte) {
		i--
	}
	// Neither a dot nor a quote begins an address; an escape like \n is no letter
	// of it.
	if i > 0 && isByte(t, i-1, '\\') && i+1 < at && (t[i] == 'n' || t[i] == 't' || t[i] == 'r') {
		i++
	}
	if i+2 == at && t[i] == '%' {
		return at // %s@example.com
	}
	for i < at && !is(t, i, alnum) && t[i] != letter && t[i] != '_' && t[i] != '+' {
		i++
	}
	return i
}

// isRemote reports whether local is who everybody is to a repository.
func isRemote(local []byte) bool {
	return string(local) == "git" || string(local) == "hg" || string(local) == "svn"
}

// domainEnd returns where the domain ends that begins at t[i], or 0 without a
// domain.
func domainEnd(t []byte, i int) int {
	if isByte(t, i, '[') { // [192.0.2.1]
		for j := i + 1; j < min(len(t), i+48); j++ {
			if t[j] == ']' && j > i+3 {
				return j + 1
			}
			if !is(t, j, alnum) && t[j] != '.' && t[j] != ':' {
				break
			}
		}
		return 0
	}
	start, end, labels, numbers := i, 0, 0, 0
	for {
		label := i
		if is(t, i, wide) {
			for is(t, i, wide|domainByte) {
				i++
			}
		} else {
			for is(t, i, domainByte) {
				i++
			}
		}
		for i > label && t[i-1] == '-' {
			i--
		}
		if i == label || t[label] == '-' {
			break
		}
		if labels++; labels == 1 || labels == 2 {
			if is(t, label, digit) || t[label] == 'v' && is(t, label+1, digit) {
				numbers++
			}
		}
		if labels > 1 && isTop(t[label:i]) {
			end = i
		} else if labels > 1 {
			end = 0
		}
		if !isByte(t, i, '.') || !is(t, i+1, domainByte|wide) {
			break
		}
		i++
	}
	if end == 0 || numbers == 2 || isByte(t, end, '(') || fileNames[string(bytes.ToLower(lastLabel(t[start:end])))] {
		return 0
	}
	return end
}

func lastLabel(domain []byte) []byte { return domain[bytes.LastIndexByte(domain, '.')+1:] }

// isTop reports whether label can be a top-level domain.
func isTop(label []byte) bool {
	if len(label) < 2 || len(label) > 63 {
		return false
	}
	if hasFold(label, "xn--") {
		return true
	}
	for _, b := range label {
		if class[b]&(upper|lower|wide) == 0 && b != letter {
			return false
		}
	}
	return true
}

// fileNames are extensions of files that have an @ in their names. None is a
// top-level domain.
var fileNames = func() map[string]bool {
	all := map[string]bool{}
	for ext := range strings.FieldsSeq(`avif bmp conf cfg css csv device dll exe gif gz htm html ico ini
		jpeg jpg js json jsx less lock log mount mp pdf png scope scss service slice socket svg target tgz tiff
		timer toml ts tsx txt wasm webp xml yaml yml`) {
		all[ext] = true
	}
	return all
}()
