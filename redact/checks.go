package redact

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"
)

// opaque matches text that is not made of words: it has letters and digits,
// changes often between lower and upper case, or is long.
var opaque = regexp.MustCompile(`[0-9].*[A-Za-z]|[A-Za-z].*[0-9]|(?:[a-z][A-Z].*){4}|^[A-Za-z]{24,}$|(?:[0-9].*){12}`)

// checkOpaque requires the text after the beginning of a key to be opaque.
func checkOpaque(m match) (start, end int) {
	start, end = m.last()
	if !opaque.Match(m.line[start:end]) {
		return 0, 0
	}
	return m.at[0], end
}

// checkOtherKey judges a word that begins with "sk-", like the keys of many
// vendors but also names of packages: a key has a part that is long, or long
// enough and opaque.
func checkOtherKey(m match) (start, end int) {
	start, end = m.last()
	for part := range bytes.FieldsFuncSeq(m.line[start+3:end], func(r rune) bool { return r == '-' || r == '_' }) {
		if len(part) >= 20 || len(part) >= 12 && opaque.Match(part) {
			return start, end
		}
	}
	return 0, 0
}

// checkBasic requires base64 of name:password.
func checkBasic(m match) (start, end int) {
	if start, end = m.last(); !isBasic(m.line[start:end]) {
		return 0, 0
	}
	return start, end
}

// isBasic reports whether a value is name:password in base64.
func isBasic(value []byte) bool {
	plain, _ := base64.StdEncoding.AppendDecode(nil, value[:min(len(value), 256)/4*4])
	return bytes.IndexByte(plain, ':') > 0
}

// checkUser skips uid:gid.
func checkUser(m match) (start, end int) {
	if password := m.group("password"); isDigit(m.group("name")[0]) && isDigit(password[0]) || isReference(password) {
		return 0, 0
	}
	return m.at[2], m.at[3]
}

// discordDigits requires digits in the id and the signature of a bot.
var discordDigits = regexp.MustCompile(`^[\w-]*\d[\w-]*\.[\w-]+\.[\w-]*\d`)

// checkDiscord skips methods with long names.
func checkDiscord(m match) (start, end int) {
	if start, end = m.last(); !discordDigits.Match(m.line[start:end]) {
		return 0, 0
	}
	return start, end
}

// checkCookie requires an opaque value.
func checkCookie(m match) (start, end int) {
	if start, end = m.last(); isReference(m.line[start:end]) {
		return 0, 0
	}
	return checkBearer(m)
}

// checkValue skips references, as in $TOKEN.
func checkValue(m match) (start, end int) {
	if start, end = m.last(); isReference(m.line[start:end]) {
		return 0, 0
	}
	return start, end
}

// number matches a port or ports, as of ssh or docker run.
var number = regexp.MustCompile(`^\d{1,5}(?::\d{1,5})?$`)

// checkOption skips ports: the option may be that of another command.
func checkOption(m match) (start, end int) {
	if start, end = m.last(); number.Match(m.line[start:end]) {
		return 0, 0
	}
	return checkValue(m)
}

var ports = regexp.MustCompile(`^[\d.]+:\d`)

// checkMySQL skips ports, as in "docker run --name mysql -p3306:3306".
func checkMySQL(m match) (start, end int) {
	if start, end = m.last(); isReference(m.line[start:end]) || ports.Match(m.line[start:end]) {
		return 0, 0
	}
	return start, end
}

// checkBearer requires an opaque token.
func checkBearer(m match) (start, end int) {
	if start, end = m.last(); !opaque.Match(m.line[start:end]) {
		return 0, 0
	}
	return start, end
}

// checkRandom requires a token that nobody made of words.
func checkRandom(m match) (start, end int) {
	if start, end = m.last(); !isRandom(bytes.TrimRight(m.line[start:end], "=")) {
		return 0, 0
	}
	return start, end
}

// checkTelegram requires the number of a bot before the colon.
func checkTelegram(m match) (start, end int) {
	start = m.at[0]
	for start > 0 && isDigit(m.line[start-1]) && m.at[0]-start < 12 {
		start--
	}
	if n := m.at[0] - start; n < 8 || n > 11 || isWord(m.line[start-1]) && !hasSuffixFold(m.line[:start], "bot") && !isEscape(m.line[:start]) {
		return 0, 0
	}
	return start, m.at[2]
}

// checkURL judges the text before the @ of a URL: a name alone is a secret if
// it is a key; for nats:// it always is. A short password may have an unescaped
// / or #.
func checkURL(m match) (start, end int) {
	start, end = m.last()
	credentials := m.line[start:end]
	secret := bytes.IndexByte(credentials, ':') >= 0 || len(credentials) >= 20 && opaque.Match(credentials)
	switch {
	case isReference(credentials), m.at[4] >= 0 && len(credentials) > 128:
		return 0, 0
	case secret, hasSuffixFold(m.line[:m.at[0]], "nats"):
		return start, end
	}
	return 0, 0
}

// top is a top-level domain.
var top = pattern(`^(?:[A-Za-z{L}]{2,63}|[{W}][{W}A-Za-z{L}]+|(?i:xn--).+)$`)

// fileNames are extensions of files that have an @ in their names. None is a
// top-level domain.
var fileNames = words(`avif bmp conf cfg css csv device dll exe gif gz htm html ico ini
	jpeg jpg js json jsx less lock log mount mp pdf png scope scss service slice socket svg target tgz tiff
	timer toml ts tsx txt wasm webp xml yaml yml`)

func words(s string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(s) {
		all[word] = true
	}
	return all
}

var version = regexp.MustCompile(`^v?[0-9][^.]*\.v?[0-9]`)

// checkEmail skips git@ of remotes, versions (react@18.2.0), files
// (icon@2x.png, user@1000.service), and calls (a@b.dot()).
func checkEmail(m match) (start, end int) {
	start, end = localStart(m.line[:m.at[0]]), m.at[1]
	local, domain := string(m.line[start:m.at[0]]), m.line[m.at[2]:end]
	last := domain[bytes.LastIndexByte(domain, '.')+1:]
	switch {
	case local == "", local == "git", local == "hg", local == "svn",
		len(local) == 1 && m.line[start-1] == '%': // %s@example.com
		return 0, 0
	case domain[0] == '[':
		return start, end
	case !top.Match(last), fileNames[string(bytes.ToLower(last))], version.Match(domain), m.line[end] == '(':
		return 0, 0
	}
	return start, end
}

// longestLocal bounds the part of an address before its @, in bytes.
const longestLocal = 256

// localStart returns where the local part of an address at the end of t begins:
// "any text", letters of scripts without spaces, or other letters. The last two
// do not mix, so that in Chinese an address needs no space before it.
func localStart(t []byte) int {
	i, first := len(t), max(0, len(t)-longestLocal)
	if i > 0 && t[i-1] == '"' {
		quote := bytes.LastIndexAny(t[first:i-1], "\"\x00")
		if quote < 0 || t[first+quote] != '"' {
			return i
		}
		return first + len(bytes.TrimSuffix(t[first:first+quote], []byte(`\`)))
	}
	r, _ := utf8.DecodeLastRune(t)
	for east := isWide(r); i > first; {
		r, n := utf8.DecodeLastRune(t[:i])
		if r >= utf8.RuneSelf && (r == other || isWide(r) != east) || r < utf8.RuneSelf && !isAlnum(byte(r)) && (east || !strings.ContainsRune("_.+%'-", r)) {
			break
		}
		i -= n
	}
	if i+1 < len(t) && isEscape(t[:i+1]) {
		i++
	}
	return len(t) - len(bytes.TrimLeft(t[i:], ".%'-"))
}

func isWide(r rune) bool { return r >= firstWide && r != other }

// nobody are directories next to home directories that belong to nobody.
var nobody = words("shared public default linuxbrew lost+found .localized guest")

// afterUser is what follows a path in a query or in HTML: &x=1 or &gt;.
var afterUser = regexp.MustCompile(`&(?:[\w.-]*=|(?:amp|lt|gt|quot|apos|nbsp);)`)

// checkUserName skips directories that belong to nobody.
func checkUserName(m match) (start, end int) {
	start, end = m.last()
	name := m.line[start:end]
	if at := afterUser.FindIndex(m.line[start : end+1]); at != nil {
		name = name[:at[0]]
	}
	name = bytes.TrimRight(name, ".-@")
	if lower := string(bytes.ToLower(name)); nobody[lower] || lower == "default user" || lower == "all users" {
		return 0, 0
	}
	return start, start + len(name)
}

// shorter tries text, and text without its last blank-separated groups.
func shorter(text []byte, ok func([]byte) bool) int {
	for len(text) > 0 && !ok(text) {
		text = text[:max(bytes.LastIndexByte(text, ' '), 0)]
	}
	return len(text)
}

// isCard matches the beginnings and lengths of card numbers.
var isCard = pattern(`^(?:
	4(?:\d{12}|\d{15}|\d{17,18})|
	(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|
	3[47]\d{13}|
	35(?:2[89]|[3-8]\d)\d{12,15}|
	3[0689]\d{12}|3[0689]\d{14,17}|
	(?:62|81)\d{14,17}|
	220[0-4]\d{12,15}|
	9792\d{12}|
	(?:5[0678]|6\d)\d{11,17})$`)

// checkCard requires the beginning and length of an issuer and a valid check
// digit. It skips parts of longer paths.
func checkCard(m match) (start, end int) {
	start, end = m.last()
	if bytes.IndexByte(m.line[start:end], '/') >= 0 && (m.line[start-1] == '/' || m.line[end] == '/') {
		return 0, 0
	}
	size := shorter(m.line[start:end], func(text []byte) bool {
		number := onlyDigits(text)
		return isCard.Match(number) && luhn(number)
	})
	return start, start + size
}

func onlyDigits(text []byte) []byte {
	var digits []byte
	for _, b := range text {
		if isDigit(b) {
			digits = append(digits, b)
		}
	}
	return digits
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

var (
	units     = regexp.MustCompile(`^ (?:byte|ns|us|ms|row|token|item)`)
	zeroShape = regexp.MustCompile(`^\d{2,5}(?:\D\d{2,}){0,2}\D\d{3,}$`)
	dateShape = regexp.MustCompile(`^\d\d\D\d\d\D`)
	fourShape = regexp.MustCompile(`^\d{3,4}[ -]\d{3}[ -]\d\d[ -]\d\d$`) // 044 668 18 00, 0212 123 45 67
	longShape = regexp.MustCompile(`^\d{4}\D(?:\d{8}|\d{4}\D\d{4})$`)
	// mixShape matches 070-123 45 67 as in Sweden, 0470/12.34.56 as in Belgium.
	mixShape = pattern(`^0[1-9](?:
		\d{1,2}-\d{2,3} \d\d \d\d|\d\d-\d{3} \d\d|-\d{3} (?:\d\d \d\d|\d{3} \d\d)|
		\d{1,2}/\d\d[. ]\d\d[. ]\d\d|/\d{3}[. ]\d\d[. ]\d\d)$`)
	fileModes = regexp.MustCompile(`^[0124][4-7][014-7]{2}(?: [0124][4-7][014-7]{2})+$`) // 0755 0644 0600
)

// checkPhone requires a plausible number of digits if the form does not
// determine it.
func checkPhone(m match) (start, end int) {
	start, end = m.last()
	switch {
	case m.line[start] == '+' && len(bytes.Trim(m.line[start+3:end], "0")) == 0,
		(m.group("pairs") != nil || m.group("mixed") != nil || fourShape.Match(m.line[start:end])) && (m.line[start-1] == ' ' && isDigit(m.line[start-2]) || m.line[end] == ' ' && isDigit(m.line[end+1])), // a row of bytes
		m.group("mixed") != nil && !mixShape.Match(m.line[start:end]),
		m.group("mobile") != nil && units.Match(m.line[end:]):
		return 0, 0
	case m.group("zero") != nil:
		end = start + shorter(m.line[start:end], func(text []byte) bool {
			n := len(onlyDigits(text))
			return 9 <= n && n <= 11 && zeroShape.Match(text) && !dateShape.Match(text) || fourShape.Match(text) || n == 12 && longShape.Match(text) && !fileModes.Match(text)
		})
	}
	return start, end
}

var (
	// onePiece matches a number with 9 to 13 digits that is not a time: not
	// 1700000000, not 202401151030.
	onePiece = regexp.MustCompile(`^(?:[02-9]\d{8,12}|1[2-9]\d{9})$`)
	// grouped matches numbers with separators other than dots and a group of three
	// or more digits.
	grouped = regexp.MustCompile(`^\+?\(?(?:\d{1,5}\)?(?:[ /-]{1,3}\(?\d\d\)?)*[ /-]{1,3}\d{3,8}|\d{3,5})(?:[ /-]{1,3}\d{2,8})*$`)
	// eight matches the pairs and the one piece of numbers with eight digits, which
	// Denmark and Norway have; lineWord, in front of them, has no other meaning.
	eight     = regexp.MustCompile(`^\d\d(?: ?\d\d){3}$`)
	lineWord  = regexp.MustCompile(`^(?i:t[eä]l|tlf|тел|fax)`)
	dates     = regexp.MustCompile(`^(?:(?:19|20)\d\d(?:[-/ ]|[01]\d[0-3]\d)|\d\d?[-/]\d\d?[-/])`)
	countUnit = regexp.MustCompile(`^ (?:px|[kKMGT]i?B|%|user|visit|download|people|unit|row|item|token|byte)`)
)

// checkNamed requires the form of a phone number if no colon follows the word,
// as in "mobile 9876543210", or if the number is in groups.
func checkNamed(m match) (start, end int) {
	start, end = m.last()
	text, rest := m.line[start:end], m.line[end:]
	n := len(onlyDigits(text))
	isSure := m.group("colon") != nil || m.group("sure") != nil
	isEight := n == 8 && lineWord.Match(m.line[m.at[0]:])
	switch {
	case m.group("numbered") != nil, isSure && n == len(text):
		return start, end
	case dates.Match(text), rest[0] == ' ' && isDigit(rest[1]), countUnit.Match(rest):
		return 0, 0
	case isSure && grouped.Match(text):
		return start, end
	case continuesWord(m.line, m.at[0]), n > 13, n < 9 && !isEight && (n < 8 || text[0] != '0'):
		return 0, 0
	case grouped.Match(text), m.group("contact") == nil && onePiece.Match(text), isEight && eight.Match(text):
		return start, end
	}
	return 0, 0
}

// continuesWord reports whether the word at line[i] is the end of another one:
// hotel, but not homePhone.
func continuesWord(line []byte, i int) bool {
	if isCapital := line[i]-'A' < 26; isCapital && line[i-1]-'a' < 26 {
		return false
	}
	return isDigit(line[i-1]) || endsWithLetter(line[:i])
}
