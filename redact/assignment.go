package redact

import "bytes"

// A kind is what the name of a field says of its value.
type kind uint8

const (
	none         kind = iota
	passwordName      // a password: any value is one
	tokenName         // a key or token: values that look like one are
	weakName          // pass, pw: values of letters and digits are
)

// passwordNames and tokenNames are the ends of names, in lower case and without
// what separates their words.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "passcode", "passwort", "pwd", "dbpass", "userpass", "rootpass", "adminpass", "smtppass", "mailpass", "redispass", "authpass", "sshpass"}
	tokenNames    = []string{"token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "accountkey", "accesskeyid", "signingkey", "encryptionkey", "masterkey", "sharedkey", "clientkey", "apisecret", "credential", "credentials", "signature"}
)

// longestName is the length in characters of the longest of these names.
const longestName = 16

// nameKind judges the name of a field, an option or a variable by its end:
// dbPassword, X-API-Key, OPENAI_API_KEY_2. Names of counts (max_tokens) and
// other words (tokenizer, passwordLength) are none.
func nameKind(name []byte) kind {
	end := len(name)
	for end > 0 && (class[name[end-1]]&digit != 0 || end < len(name) && name[end-1] == '_') {
		end--
	}
	if end < 3 {
		return none
	}
	switch string([]byte{name[end-2] | 0x20, name[end-1] | 0x20}) {
	case "rd", "wd", "se", "de", "rt", "ss", "en", "et", "ey", "id", "al", "ls", "re":
	default:
		return none
	}
	var buf [longestName]byte
	at := len(buf)
	for i := end - 1; i >= 0 && at > 0; i-- {
		switch c := name[i]; {
		case class[c]&(upper|lower) != 0:
			at--
			buf[at] = c | 0x20
		case c == '_' || c == '-' || c == '.':
		default:
			i = 0
		}
	}
	for _, s := range passwordNames {
		if bytes.HasSuffix(buf[at:], []byte(s)) {
			return passwordName
		}
	}
	for _, s := range tokenNames {
		if bytes.HasSuffix(buf[at:], []byte(s)) {
			return tokenName
		}
	}
	return none
}

// isSpacedKey reports whether the word "key" at t[i] is the end of "API key",
// "secret key" and the like.
func isSpacedKey(t []byte, i int) bool {
	if !isByte(t, i-1, ' ') {
		return false
	}
	for _, s := range []string{"api", "access", "secret", "private", "encryption", "signing", "license"} {
		if hasSuffixFold(t[:i-1], s) {
			return true
		}
	}
	return false
}

// The words for password and key in Chinese, Japanese and Korean, folded, and
// what stands between them and a value.
var (
	widePasswords = [][]byte{[]byte(name("密码")), []byte(name("密碼")), []byte(name("口令")), []byte(name("パスワード")), []byte(name("비밀번호"))}
	wideKeys      = [][]byte{[]byte(name("密钥")), []byte(name("密鑰")), []byte(name("金钥")), []byte(name("金鑰")), []byte(name("鍵"))}
	wideIs        = func() (is [256]bool) {
		for _, b := range []byte(name("是为為は")) {
			is[b] = true
		}
		return is
	}()
)

// wideName looks for a word for password or key at the CJK letter t[i]. It
// returns where to go on.
func (w *work) wideName(i int) int {
	if w.t[i] == cjk {
		return i + 1
	}
	for _, word := range widePasswords {
		if bytes.HasPrefix(w.t[i:], word) {
			return w.assignment(i, i+len(word), passwordName)
		}
	}
	for _, word := range wideKeys {
		if bytes.HasPrefix(w.t[i:], word) {
			return w.assignment(i, i+len(word), tokenName)
		}
	}
	return i + 1
}

// assignment finds the value behind the name t[start:end] (contract §12):
// name=value, name: value, "name": "value", \"name\": \"value\", name => value,
// <name>value</name>, --name value, "name is value", 密码是value. The name stays.
// It returns where to go on.
func (w *work) assignment(start, end int, k kind) int {
	t := w.t
	i := end
	// The quote, or the bracket, that the name stands in.
	for n := 0; n < 4 && i < len(t) && (t[i] == '\\' || t[i] == '"' || t[i] == '\'' || t[i] == '`' || t[i] == ']' || t[i] == '*'); n++ {
		i++
	}
	i = skipBlanks(t, i)
	if (isByte(t, i, '?') || isByte(t, i, '!')) && isByte(t, i+1, ':') {
		i++
	}
	compared, prose, spaced := false, false, i > end
	switch {
	case i >= len(t):
		return end
	case t[i] == '=' || t[i] == ':' || (t[i] == '!' && isByte(t, i+1, '=')):
		first := t[i]
		i++
		if isByte(t, i, '=') || isByte(t, i, '>') || first == ':' && isByte(t, i, ':') {
			compared = t[i] == '=' && first != ':'
			i++
		}
		if isByte(t, i, '=') {
			i++
		}
		prose = first == ':'
	case t[i] == '>' && isByte(t, start-1, '<'):
		i++
	case wideIs[t[i]]:
		i++
		if isByte(t, i, ':') {
			i++
		}
	case i == end+1 && start+2 < end && t[start] == '-' && t[start+1] == '-':
		if isByte(t, i, '-') {
			return end
		}
		i--
	case i == end+1 && (hasFold(t[i:], "is ") || hasFold(t[i:], "is: ") || hasFold(t[i:], "was ")):
		i = bytes.IndexByte(t[i:], ' ') + i
		return w.said(skipBlanks(t, i), k, end)
	default:
		return end
	}
	spaced = spaced || isByte(t, i, ' ')
	i = skipBlanks(t, i)

	// Quoted.
	quote := i
	for quote < len(t) && quote-i < 4 && t[quote] == '\\' {
		quote++
	}
	if quote < len(t) && (t[quote] == '"' || t[quote] == '\'' || t[quote] == '`') {
		open := t[i : quote+1]
		value := quote + 1
		length := bytes.Index(t[value:], open)
		if line := bytes.IndexByte(t[value:min(len(t), value+max(length, 0))], '\n'); line >= 0 {
			length = -1
		}
		// A quote behind a backslash does not end the value.
		for length > 0 && len(open) == 1 && t[value+length-1] == '\\' && (length == 1 || t[value+length-2] != '\\') {
			more := bytes.IndexByte(t[value+length+1:], open[0])
			if more < 0 {
				break
			}
			length += 1 + more
		}
		if length >= 0 {
			if isSecret(t[value:value+length], k, true) {
				w.add(value, value+length, apiKey)
			}
			return value + length + 1
		}
		i = value
		compared = false
	}
	if compared {
		return end // of two variables
	}

	stop := valueEnd(t, i)
	for stop > i && bytes.IndexByte([]byte(".,:)]}*"), t[stop-1]) >= 0 {
		stop--
	}
	value := t[i:stop]
	if hasSuffixFold(t[start:end], "pwd") && len(value) > 0 && (value[0] == '/' || value[0] == '~' || len(value) > 2 && value[1] == ':' && value[2] == '\\') {
		return end // the working directory
	}
	switch {
	case len(value) == 0 || isCode(t, i, stop, spaced) || bytes.EqualFold(value, t[start:end]):
		return end
	case !isSecret(value, k, false):
		return end
	case k == passwordName && prose && spaced && !isOpaqueValue(value) && !endsLine(t, stop):
		return end // "password: must be long"
	case k == passwordName && is(t, start, wide) && !isOpaqueValue(value):
		return end
	}
	w.add(i, stop, apiKey)
	return stop
}

// said judges the value in "password is value", which is mostly no value: it has
// a digit, or a sign that no word has.
func (w *work) said(i int, k kind, end int) int {
	t := w.t
	stop := valueEnd(t, i)
	for stop > i && bytes.IndexByte([]byte(".,:)]}"), t[stop-1]) >= 0 {
		stop--
	}
	start := i
	if quoted := i < stop && (t[i] == '`' || t[i] == '"' || t[i] == '\''); quoted {
		return end
	}
	if start == i {
		if q := i; q < len(t) && (t[q] == '"' || t[q] == '\'' || t[q] == '`') {
			length := bytes.IndexByte(t[q+1:min(len(t), q+129)], t[q])
			if length > 0 && isSecret(t[q+1:q+1+length], k, true) && bytes.IndexByte(t[q+1:q+1+length], '\n') < 0 {
				w.add(q+1, q+1+length, apiKey)
				return q + 1 + length
			}
			return end
		}
	}
	if stop-i < 4 || k != passwordName && !isOpaque(t[i:stop]) || !isOpaqueValue(t[i:stop]) || !isSecret(t[i:stop], k, false) {
		return end
	}
	w.add(i, stop, apiKey)
	return stop
}

// skipBlanks returns where the blanks end that begin at t[i], four at most.
func skipBlanks(t []byte, i int) int {
	for n := 0; n < 4 && (isByte(t, i, ' ') || isByte(t, i, '\t')); n++ {
		i++
	}
	return i
}

// valueEnd returns where the value ends that begins at t[i] and is not quoted: at
// white space, a quote, the next field of a query, a semicolon, a tag, an escaped
// line end, or a letter that no password has.
func valueEnd(t []byte, i int) int {
	for ; i < len(t); i++ {
		switch c := t[i]; {
		case class[c]&(spaceByte|wide) != 0:
			return i
		case c == '&' && (isByte(t, i+1, '&') || isByte(t, runEnd(t[:min(len(t), i+40)], i+1, "-_."), '=')):
			return i // the next field of a query
		case c == '"' || c == '\'' || c == '`' || c == ';' || c == '<' || c == '>' || c == '|' || c == other:
			return i
		case c == '\\' && i+1 < len(t) && (t[i+1] == 'n' || t[i+1] == 'r' || t[i+1] == 't' || t[i+1] == '"' || t[i+1] == '\'' || t[i+1] == '\\'):
			return i
		}
	}
	return i
}

// endsLine reports whether nothing but a comment follows at t[i] on its line.
func endsLine(t []byte, i int) bool {
	for i < len(t) && bytes.IndexByte([]byte(",.;)}]"), t[i]) >= 0 {
		i++
	}
	i = skipBlanks(t, i)
	return i >= len(t) || t[i] == '\n' || t[i] == '\r' || t[i] == '#' || t[i] == '\\' || t[i] == '}' || t[i] == '<' || t[i] == '|' || t[i] == other || t[i] == '"' || t[i] == '\'' || t[i] == '`'
}

// isSecret reports whether value can be the value of a field of the kind k.
func isSecret(value []byte, k kind, quoted bool) bool {
	if len(value) == 0 || isAll(value, covered) || isReference(value) || len(value) <= 12 && notValues[string(bytes.ToLower(value))] {
		return false
	}
	if k == passwordName {
		return true
	}
	switch {
	case k == weakName:
		return len(value) >= 6 && isOpaque(value)
	case len(value) < 8:
		return len(value) >= 6 && isOpaque(value)
	case bytes.IndexByte(value[:min(len(value), 64)], ' ') >= 0:
		return false
	case quoted || len(value) >= 20:
		return true
	}
	return isOpaqueValue(value)
}

// isOpaqueValue reports whether value has a digit, or a sign that words have not.
func isOpaqueValue(value []byte) bool {
	for _, b := range value {
		if class[b]&digit != 0 || class[b]&(upper|lower) == 0 && bytes.IndexByte([]byte("-_.,'/()[]"), b) < 0 && b < 0x80 {
			return true
		}
	}
	return false
}

// isReference reports whether value says where the secret is: $NAME, ${NAME},
// {{name}}, <name>, %NAME%; or hides it: ****.
func isReference(value []byte) bool {
	switch value[0] {
	case '$', '<':
		return len(value) > 1 && (value[0] == '<' || is(value, 1, upper|lower) || value[1] == '{' || value[1] == '(' || value[1] == '_')
	case '%':
		return value[len(value)-1] == '%'
	case '{':
		return len(value) > 1
	}
	return isAll(value, '*') || isAll(value, '.') || isAll(value, 'x') || isAll(value, 'X') || isAll(value, other)
}

// isCode reports whether the value t[i:stop], which is not quoted, is an
// expression of a program: a call, an element, a field of something.
func isCode(t []byte, i, stop int, spaced bool) bool {
	if !is(t, i, upper|lower) && t[i] != '_' {
		return false
	}
	j := i
	for j < stop && (is(t, j, alnum) || t[j] == '_' || t[j] == '.') {
		j++
	}
	if isByte(t, j, '(') || isByte(t, j, '[') {
		return true
	}
	for _, root := range []string{"process.env", "os.environ", "self.", "this.", "config.", "settings.", "env.", "req.", "args.", "opts.", "options.", "secrets.", "vars.", "var.", "local.", "import.meta"} {
		if bytes.HasPrefix(t[i:stop], []byte(root)) {
			return true
		}
	}
	// A name with a field of it: config.password.
	return spaced && j == stop && bytes.IndexByte(t[i:stop], '.') > 0 && !isOpaqueValue(t[i:stop])
}

// notValues are values that are no secrets.
var notValues = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range []string{
		"true", "false", "null", "nil", "none", "undefined", "empty", "required", "optional", "string", "str",
		"&str", "number", "int", "integer", "bool", "boolean", "any", "object", "bytes", "[]byte", "text", "password",
		"hidden", "yes", "no", "basic", "bearer", "token", "redacted", "[redacted]", "unset", "missing", "invalid",
	} {
		all[s] = true
	}
	return all
}()
