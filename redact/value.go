package redact

import (
	"bytes"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A kind is what the name of a field says about its value.
type kind uint8

const (
	none         kind = iota
	passwordName      // a password: any value counts
	tokenName         // a key or token: values that look like one count
	weakName          // pass, pw: values of letters and digits count
	anyKeyName        // STRIPE_KEY: values that look random count
	headerName        // Authorization, Cookie: values count that hold something random
	basicName         // auth: name:password in base64 counts
)

var (
	fieldName = pattern(`^` + secretName + `$`)
	keyOwner  = regexp.MustCompile(`(?i)(?:api|access|secret|private|auth|account|signing|encryption|master|shared|client|license)[-_. ]?$`)
	passOwner = regexp.MustCompile(`(?i)(?:db|user|root|admin|smtp|mail|redis|auth|ssh|become|sudo|ldap|ftp|vpn|proxy|sasl|login)[-_.]?$`)
	// dataOwner precedes KEY in names of what is looked up, or public.
	dataOwner = regexp.MustCompile(`(?:PUBLIC|CACHE|OBJECT|SORT|PARTITION|IDEMPOTENCY)_$`)
	// environment precedes the last word of a variable's name in capitals.
	environment = regexp.MustCompile(`[A-Z0-9]_$`)
	// assigned follows PASS where it is a name: not in "PASS: TestX1".
	assigned = regexp.MustCompile("^(?:[ \\t]{0,4}=|[\\\\\"'`>]|$)")
)

// nameKind judges the name of a field by its end: dbPassword, X-API-Key,
// OPENAI_API_KEY_2. Names of counts (max_tokens) and other words (tokenizer,
// passwordLength) do not count.
func (w *work) nameKind(name []byte) kind {
	w.t, _ = appendFolded(w.t[:0], name, true)
	name = w.t
	w.low = appendLower(w.low[:0], name)
	if slices.Contains(headers, string(w.low)) {
		return headerName
	}
	if string(w.low) == "auth" {
		return basicName
	}
	for at := 0; ; at++ {
		if at = atName(name, w.low, at); at < 0 {
			return none
		}
		if m, ok := find(fieldName, name, at); ok {
			return m.kind()
		}
	}
}

// headers are names of fields that are headers with a secret in them.
var headers = []string{"authorization", "proxy-authorization", "cookie", "set-cookie"}

// tokenWords begin the names of keys and tokens; other names of secrets are of
// passwords.
var tokenWords = []string{"token", "secret", "credential", "signature", "密钥", "密鑰", "金钥", "金鑰", "鍵"}

// kind judges the name of a secret by itself and by what precedes it.
func (m match) kind() kind {
	at := 2 * m.pattern.SubexpIndex("name")
	before, name, after := m.line[max(0, m.at[at]-16):m.at[at]], m.group("name"), m.line[m.at[at+1]:]
	isToken := func(word string) bool { return hasPrefixFold(name, word) }
	switch word := bytes.TrimRight(name, "0123456789_"); {
	case bytes.EqualFold(word, []byte("pass")), bytes.EqualFold(word, []byte("pw")):
		return passKind(before, name, after)
	case hasPrefixFold(name, "key"):
		return keyKind(before, name)
	case bytes.HasPrefix(name, []byte("senha")) && endsWithLetter(before): // resenha, a review
		return none
	case slices.ContainsFunc(tokenWords, isToken):
		return tokenName
	}
	return passwordName
}

// passKind judges pass and pw.
func passKind(before, name, after []byte) kind {
	s := string(name)
	switch {
	case passOwner.Match(before):
		return passwordName
	case s != "pass" && s != "Pass" && s != "PASS" && s != "pw" && s != "PW":
		return none
	case environment.Match(before) && (s == "PASS" || s == "PW"):
		return weakName
	case len(before) > 0 && isWord(before[len(before)-1]), s == "PASS" && !assigned.Match(after):
		return none
	}
	return weakName
}

// keyKind judges names that end in key: those with an owner that makes the key a
// secret, and those of variables in capitals.
func keyKind(before, name []byte) kind {
	switch {
	case keyOwner.Match(before):
		return tokenName
	case environment.Match(before) && !dataOwner.Match(before) && bytes.IndexFunc(name, unicode.IsLower) < 0:
		return anyKeyName
	}
	return none
}

var (
	nextField = regexp.MustCompile(`&(?:&|[\w.-]*=)`)
	directory = regexp.MustCompile(`^(?:[/~]|.:\\)`)
	restBlank = pattern("^[,.;)}\\]]*(?:[ \\t]{1,4}\\}|[ \\t]{0,4}[\\n\\r#\\\\<|\\x{FFFD}\"'`])")
)

// checkAssignment judges the value of a name: name=value, "name": "value",
// \"name\": \"value\", name => value, <name>value</name>, --name value, 密码是value.
func checkAssignment(m match) (start, end int) {
	start, end = m.last()
	name, sep, k := m.group("name"), m.group("sep"), m.kind()
	if k == none {
		return 0, 0
	}
	if m.group("plain") == nil {
		if !isSecret(m.line[start:end], k, true) {
			return 0, 0
		}
		return start, end
	}
	text := m.line[start:end]
	if at := nextField.FindIndex(text); at != nil {
		text = text[:at[0]]
	}
	text = bytes.TrimRight(text, ".,:)]}*")
	end = start + len(text)
	spaced := len(m.group("blanks"))+len(m.group("spaces")) > 0
	compared := (bytes.HasPrefix(sep, []byte("==")) || bytes.HasPrefix(sep, []byte("!="))) && m.group("open") == nil
	prose := bytes.HasPrefix(sep, []byte(":")) && spaced && !restBlank.Match(m.line[end:])
	isWide := len(name) > 0 && name[0] >= 0x80
	switch {
	case compared, len(text) == 0, !isSecret(text, k, false), isCode(m.line[start:], text, spaced), bytes.EqualFold(text, m.word()),
		sep == nil && text[0] == '-',
		hasSuffixFold(name, "pwd") && directory.Match(text),
		k == passwordName && (prose || isWide) && !unlikeWords.Match(text): // "password: must be long"
		return 0, 0
	}
	return start, end
}

// word returns the word that ends with the name of a secret.
func (m match) word() []byte {
	i := m.pattern.SubexpIndex("name")
	start, end := m.at[2*i], m.at[2*i+1]
	for n := 0; start > 0 && n < 64 && isWord(m.line[start-1]); n++ {
		start--
	}
	return m.line[start:end]
}

// checkSaid judges the value in "password is value", which is mostly not a
// value.
func checkSaid(m match) (start, end int) {
	start, end = m.last()
	k := m.kind()
	if k == none {
		return 0, 0
	}
	if m.group("plain") == nil {
		if end-start > 128 || !isSecret(m.line[start:end], k, true) {
			return 0, 0
		}
		return start, end
	}
	text := bytes.TrimRight(m.line[start:end], ".,:)]}")
	if len(text) < 4 || k != passwordName && !opaque.Match(text) || !unlikeWords.Match(text) || !isSecret(text, k, false) {
		return 0, 0
	}
	return start, start + len(text)
}

func hasPrefixFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}

func hasSuffixFold(s []byte, suffix string) bool {
	return len(s) >= len(suffix) && bytes.EqualFold(s[len(s)-len(suffix):], []byte(suffix))
}

// unlikeWords finds a digit, or a sign that does not occur in words.
var unlikeWords = regexp.MustCompile(`[^A-Za-z_.,'/()\[\]\x00\x{80}-\x{10FFFF}-]`)

// notValues are values that are not secrets.
var notValues = words(`true false null nil none undefined empty required optional string str &str number int integer
	bool boolean any object bytes []byte text password hidden yes no basic bearer token redacted [redacted] unset missing invalid`)

// isSecret reports whether value can be the value of a field of the kind k.
func isSecret(value []byte, k kind, quoted bool) bool {
	switch {
	case len(value) == 0, isReference(value), len(value) <= 12 && notValues[string(bytes.ToLower(value))]:
		return false
	case k == passwordName:
		return true
	case k == anyKeyName:
		return isRandom(value)
	case k == headerName:
		return isCredentials(value)
	case k == basicName:
		return isBasic(value)
	case k == weakName, len(value) < 8:
		return len(value) >= 6 && opaque.Match(value)
	case bytes.IndexByte(value[:min(len(value), 64)], ' ') >= 0:
		return false
	}
	return quoted || len(value) >= 20 || unlikeWords.Match(value)
}

// isCredentials reports whether the value of a header holds a secret: a random word
// alone or behind a scheme, or an opaque one behind the name of a cookie.
func isCredentials(value []byte) bool {
	words := bytes.Fields(value)
	return slices.ContainsFunc(words, func(word []byte) bool {
		word = bytes.TrimRight(word, "=;") // of base64, and between cookies
		_, cookie, named := bytes.Cut(word, []byte("="))
		return named && len(cookie) >= 16 && opaque.Match(cookie) || len(words) <= 2 && isRandom(word)
	})
}

var (
	randomForm = regexp.MustCompile(`^(?:[[:xdigit:]]{8}-(?:[[:xdigit:]]{4}-){3}[[:xdigit:]]{12}|base64:[A-Za-z0-9+/]{16,}={0,2})$`)
	twoNumbers = regexp.MustCompile(`[0-9][A-Za-z]+[0-9]`)
)

// isRandom reports whether nobody made value of words: it is a UUID or base64
// (base64:…), or has 12 letters and digits in a row with two numbers among them,
// or 32 in a row. Paths are not random.
func isRandom(value []byte) bool {
	if directory.Match(value) || bytes.ContainsAny(value, " \t") {
		return false
	}
	for part := range bytes.FieldsFuncSeq(value, func(r rune) bool { return r >= utf8.RuneSelf || !isAlnum(byte(r)) }) {
		if len(part) >= 32 || len(part) >= 12 && twoNumbers.Match(part) {
			return true
		}
	}
	return randomForm.Match(value)
}

var reference = regexp.MustCompile(`^(?:\$[A-Za-z{(_]|<.|\{.|%.*%$|(?:\*+|=+|\.+|x+|X+|\x{FFFD}+|\x00+)$)`)

// isReference reports whether value refers to the secret: $NAME, ${NAME},
// {{name}}, <name>, %NAME%; or hides it: ****.
func isReference(value []byte) bool { return reference.Match(value) }

var code = regexp.MustCompile(`^(?:[A-Za-z_][\w.]*[(\[]|process\.env|os\.environ|(?:self|this|config|settings|env|req|args|opts|options|secrets|vars|var|local)\.|import\.meta)`)

// fieldOf matches a name with a field, such as config.password.
var fieldOf = regexp.MustCompile(`^[A-Za-z_]+\.[A-Za-z_.]*$`)

// isCode reports whether value, which is unquoted and at the beginning of line,
// is an expression in code: a call, an element, a field of something.
func isCode(line, value []byte, spaced bool) bool {
	return code.Match(line[:min(len(line), len(value)+1)]) || spaced && fieldOf.Match(value)
}
