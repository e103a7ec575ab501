package redact

import (
	"bytes"
	"encoding/base64"
)

// words finds keys and tokens (contract §12) by looking at each word of letters,
// digits, _ - and dots: what begins as a key of a known issuer does ([tokens]),
// what stands behind a name like password ([work.assignment]) or a scheme like
// Bearer, and the credentials in front of the host of a URL.
func (w *work) words() {
	t := w.t
	for i := 0; i < len(t); {
		if class[t[i]]&wordByte == 0 {
			if class[t[i]]&wide != 0 {
				i = w.wideName(i)
				continue
			}
			i++
			continue
		}
		start := i
		for i < len(t) && class[t[i]]&wordByte != 0 {
			i++
		}
		i = w.word(start, i)
	}
}

// word judges t[start:end] and returns where to go on.
func (w *work) word(start, end int) int {
	t := w.t
	if end-start >= shortestToken {
		if found := w.tokens(start, end); found > 0 {
			return found
		}
	}
	if end == len(t) {
		return end
	}
	if t[end] == ':' {
		if isByte(t, end+1, '/') && isByte(t, end+2, '/') {
			return w.userInfo(start, end+3)
		}
		if found := w.telegram(start, end); found > 0 {
			return found
		}
	}
	switch word := t[start:end]; {
	case len(word) == 6 && hasFold(word, "bearer"):
		return w.scheme(start, end, false)
	case len(word) == 5 && hasFold(word, "basic"):
		return w.scheme(start, end, true)
	case string(word) == "-u" || string(word) == "--user":
		return w.user(end)
	case t[end] == '/' && (string(word) == "hooks.slack.com" || string(word) == "discord.com" || string(word) == "discordapp.com"):
		return w.webhook(end)
	}
	switch string(t[start:end]) {
	case "pass", "Pass", "pw", "PW": // not PASS, which is said of tests
		return w.assignment(start, end, weakName)
	}
	if k := nameKind(t[start:end]); k != none {
		return w.assignment(start, end, k)
	}
	if hasFold(t[start:end], "key") && end-start == 3 && isSpacedKey(t, start) {
		return w.assignment(start, end, tokenName)
	}
	return end
}

// shortestToken is the length in characters of the shortest key that is known by
// its beginning.
const shortestToken = 15

// tokens finds keys that are known by their form in the word t[start:end], at its
// beginning and behind each dot, hyphen and underscore of it: those of [issuers],
// "sk-" keys of others, JWTs, NATS seeds, AWS access keys, Discord bot tokens.
// It returns where to go on, or 0.
func (w *work) tokens(start, end int) int {
	t := w.t
	if start > 0 && t[start-1] == '\\' && (t[start] == 'n' || t[start] == 'r' || t[start] == 't') {
		start++ // an escaped end of line
	}
	for i := start; end-i >= shortestToken; i++ {
		if i > start && is(t, i-1, alnum) {
			continue
		}
		if stop := tokenEnd(t[:end], i, i == start); stop > 0 {
			for stop > i && t[stop-1] == '.' {
				stop--
			}
			w.add(i, stop, apiKey)
			return stop
		}
	}
	return 0
}

// tokenEnd returns where the key ends that begins at t[i], or 0. The word ends
// with t.
func tokenEnd(t []byte, i int, first bool) int {
	for _, is := range issuers[t[i]] {
		if !bytes.HasPrefix(t[i:], []byte(is.prefix)) {
			continue
		}
		if is.prefix == "re_" && !first {
			continue
		}
		rest := i + len(is.prefix)
		probe := runEnd(t[:min(len(t), rest+128)], rest, is.more)
		if probe-rest < is.min || len(is.prefix) <= 4 && is.prefix != "SG." && !isOpaque(t[rest:probe]) {
			continue
		}
		end := runEnd(t, probe, is.more)
		if is.prefix == "SG." {
			if !isByte(t, end, '.') {
				continue
			}
			end = runEnd(t, end, "-_.")
		}
		if (is.prefix == "SK" || is.prefix == "dapi" || is.prefix == "key-" || is.prefix == "fc-") && !isHex(t[rest:rest+32]) {
			continue
		}
		if is.min == 16 && is.more == "" && len(is.prefix) == 4 && is.prefix[0] < 'a' && is.prefix != "LTAI" && (end-i != 20 || !isUpper(t[i:end])) {
			continue // an AWS access key
		}
		return end
	}
	switch {
	case t[i] == 's' && first && bytes.HasPrefix(t[i:], []byte("sk-")):
		return otherKeyEnd(t, i)
	case t[i] == 'e' && (first || t[i-1] == '.') && bytes.HasPrefix(t[i:], []byte("eyJ")):
		// header.claims.signature, perhaps cut, or encrypted with five parts
		head := runEnd(t, i, "-_")
		if isByte(t, head, '.') && head-i >= 10 && runEnd(t, head+1, "-_")-head > 4 {
			return runEnd(t, i, "-_.")
		}
	case t[i] == 'S' && len(t)-i >= 58 && bytes.IndexByte([]byte("AOCUNX"), t[i+1]) >= 0:
		if end := runEnd(t, i, ""); end-i == 58 && isBase32(t[i:end]) {
			return end // the seed of an nkey
		}
	case (t[i] == 'M' || t[i] == 'N' || t[i] == 'O') && first:
		one := runEnd(t, i, "-_")
		if one-i < 23 || one-i > 28 || !isByte(t, one, '.') {
			return 0
		}
		two := runEnd(t, one+1, "-_")
		if two-one-1 != 6 || !isByte(t, two, '.') {
			return 0
		}
		if three := runEnd(t, two+1, "-_"); three-two-1 >= 27 {
			return three
		}
	}
	return 0
}

// otherKeyEnd judges a word that begins with "sk-", as the keys of many vendors
// do and names of packages do as well: a part of it is long, or long enough and
// of letters and digits.
func otherKeyEnd(t []byte, i int) int {
	end := runEnd(t, i, "-_")
	for at := i + 3; at < end; {
		part := at
		for at < end && is(t, at, alnum) {
			at++
		}
		if at-part >= 20 || at-part >= 12 && isOpaque(t[part:at]) {
			return end
		}
		at++
	}
	return 0
}

// runEnd returns where the letters, digits and bytes of more end that begin at
// t[i].
func runEnd(t []byte, i int, more string) int {
	for i < len(t) {
		if class[t[i]]&alnum == 0 {
			ok := false
			for j := range len(more) {
				ok = ok || more[j] == t[i]
			}
			if !ok {
				return i
			}
		}
		i++
	}
	return i
}

// isOpaque reports whether s has letters and digits, as keys have and words have
// not, or is in mixed case beyond that of names.
func isOpaque(s []byte) bool {
	var digits, letters, changes int
	for i, b := range s {
		switch {
		case class[b]&digit != 0:
			digits++
		case class[b]&(upper|lower) != 0:
			letters++
			if i > 0 && class[b]&upper != 0 && class[s[i-1]]&lower != 0 {
				changes++
			}
		}
	}
	return digits > 0 && letters > 0 || changes > 3 || letters >= 24 && len(s) == letters || digits >= 12
}

func isHex(s []byte) bool {
	for _, b := range s {
		if class[b]&digit == 0 && (b|0x20 < 'a' || b|0x20 > 'f') {
			return false
		}
	}
	return true
}

func isUpper(s []byte) bool {
	for _, b := range s {
		if class[b]&(upper|digit) == 0 {
			return false
		}
	}
	return true
}

func isBase32(s []byte) bool {
	for _, b := range s {
		if class[b]&upper == 0 && (b < '2' || b > '7') {
			return false
		}
	}
	return true
}

// telegram finds a bot token, 123456789:35 characters, perhaps behind "bot",
// whose number ends at t[end]. It returns where to go on, or 0.
func (w *work) telegram(start, end int) int {
	t := w.t
	if hasFold(t[start:end], "bot") {
		start += 3
	}
	if n := end - start; n < 8 || n > 11 {
		return 0
	}
	for _, b := range t[start:end] {
		if class[b]&digit == 0 {
			return 0
		}
	}
	stop := runEnd(t[:min(len(t), end+64)], end+1, "-_")
	if n := stop - end - 1; n < 30 || n > 46 {
		return 0
	}
	w.add(start, stop, apiKey)
	return stop
}

// userInfo finds credentials in the authority of a URL that begins at t[i] and
// whose scheme at t[start]: user:password@ is replaced as a whole, and so is a
// name alone that is a key, as it always is for nats://. A password may have an
// unescaped / or #. It returns where to go on.
func (w *work) userInfo(start, i int) int {
	t := w.t
	at, colon, secret := -1, -1, false
	cut := false // there is no @ before the path
	for j := i; j < len(t); j++ {
		c := t[j]
		if c == '"' || c == '<' || c == '>' || c == '`' || c == '\\' || class[c]&spaceByte != 0 {
			break
		}
		if !cut && (c == '/' || c == '?' || c == '#') {
			if at >= 0 || colon < 0 || is(t, colon+1, digit) || j-colon == 1 {
				break
			}
			cut = true
		}
		if cut && (j-i > longestUserInfo || c == ':' && isByte(t, j+1, '/')) {
			break
		}
		if c == '@' {
			if at, secret = j, colon >= 0; cut {
				break
			}
		}
		if c == ':' && colon < 0 {
			colon = j
		}
	}
	if at <= i {
		return i
	}
	if isAll(t[i:at], covered) || isReference(t[i:at]) {
		return at
	}
	if secret || at-i >= 20 && isOpaque(t[i:at]) || hasFold(t[start:], "nats://") {
		w.add(i, at, apiKey)
		return at
	}
	return i
}

// longestUserInfo bounds how far credentials with a / are looked for.
const longestUserInfo = 128

func isAll(s []byte, b byte) bool {
	for _, c := range s {
		if c != b {
			return false
		}
	}
	return true
}

// scheme finds what stands behind Bearer or Basic, the word t[start:end]. It
// returns where to go on.
func (w *work) scheme(start, end int, basic bool) int {
	t := w.t
	i := end
	for i < end+3 && (isByte(t, i, ' ') || isByte(t, i, '\t') || i == end && isByte(t, i, ':')) {
		i++
	}
	if i == end {
		return end
	}
	stop := runEnd(t, i, "-_.~+/=|")
	for stop > i && t[stop-1] == '.' {
		stop--
	}
	n := stop - i
	header := bytes.Contains(bytes.ToLower(t[max(0, start-24):start]), []byte("authorization"))
	if basic {
		var plain [192]byte
		size, _ := base64.StdEncoding.Decode(plain[:], t[i:i+min(n, 256)/4*4])
		if header && n >= 4 || n >= 8 && bytes.IndexByte(plain[:size], ':') > 0 {
			w.add(i, stop, apiKey)
			return stop
		}
		return i
	}
	if header && n >= 4 || n >= 8 && isOpaque(t[i:stop]) {
		w.add(i, stop, apiKey)
		return stop
	}
	return i
}

// user finds name:password behind -u or --user, which ends at t[end]. It returns
// where to go on.
func (w *work) user(end int) int {
	t := w.t
	i := end
	if isByte(t, i, ' ') {
		i++
	}
	quote := byte(0)
	if isByte(t, i, '"') || isByte(t, i, '\'') {
		quote = t[i]
		i++
	}
	stop, colon := i, 0
	for stop < len(t) && class[t[stop]]&spaceByte == 0 && t[stop] != quote && t[stop] != '"' && t[stop] != '\'' {
		if t[stop] == ':' && colon == 0 {
			colon = stop
		}
		stop++
	}
	if i == end || colon <= i || colon == stop-1 || colon > 0 && is(t, i, digit) && is(t, colon+1, digit) || isReference(t[colon+1:stop]) || isAll(t[colon+1:stop], covered) {
		return end // uid:gid
	}
	w.add(i, stop, apiKey)
	return stop
}

// webhook finds the secret path of a webhook of Slack or Discord, whose host
// ends at t[end]. It returns where to go on.
func (w *work) webhook(end int) int {
	t := w.t
	for _, path := range []string{"/services/", "/api/webhooks/", "/workflows/", "/triggers/"} {
		if !bytes.HasPrefix(t[end:], []byte(path)) {
			continue
		}
		i := end + len(path)
		stop := runEnd(t, i, "-_/")
		if stop-i >= 20 {
			w.add(i, stop, apiKey)
			return stop
		}
	}
	return end
}
