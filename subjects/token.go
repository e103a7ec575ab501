package subjects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// AbsentToken is the token of an absent value.
const AbsentToken = "_"

// MaxNameBytes is the longest token that is used unchanged as a file name;
// [Name] shortens longer ones to their first bytes and a sum.
const (
	MaxNameBytes   = 200
	shortenedBytes = 180
	sumBytes       = 8 // written as hex digits
)

// ErrBadToken reports a token that [EncodeToken] cannot have made.
var ErrBadToken = errors.New("not an encoded subject token")

const upperHex = "0123456789ABCDEF"

// EncodeToken writes value as one subject token: bytes outside [A-Za-z0-9_-]
// become '=' and two upper-case hex digits, "" becomes "_" and "_" becomes
// "=5F" (contract §2). It is total and reversible; see [DecodeToken].
func EncodeToken(value string) string {
	switch value {
	case "":
		return AbsentToken
	case AbsentToken:
		return "=5F"
	}
	start := 0
	for start < len(value) && isPlain(value[start]) {
		start++
	}
	if start == len(value) {
		return value
	}
	var b strings.Builder
	b.Grow(2 * len(value))
	b.WriteString(value[:start])
	for _, c := range []byte(value[start:]) {
		if isPlain(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('=')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&0xF])
	}
	return b.String()
}

// DecodeToken returns the value that EncodeToken wrote as token. Anything
// EncodeToken cannot have written is [ErrBadToken], so that two tokens never
// mean the same value.
func DecodeToken(token string) (string, error) {
	if token == AbsentToken {
		return "", nil
	}
	value, err := url.PathUnescape(strings.ReplaceAll(token, "=", "%"))
	if err != nil || EncodeToken(value) != token {
		return "", fmt.Errorf("%w: %q", ErrBadToken, token)
	}
	return value, nil
}

// Name returns the token of value, made short enough for a file name: a token
// of more than [MaxNameBytes] bytes becomes its first 180 bytes and 16 hex
// digits of its SHA-256 (contract §8).
func Name(value string) string {
	token := EncodeToken(value)
	if len(token) <= MaxNameBytes {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return token[:shortenedBytes] + hex.EncodeToString(sum[:sumBytes])
}

// MayBeShortened reports whether a name made by [Name] may be a shortened one.
// A shortened name can look like the token of another value.
func MayBeShortened(name string) bool { return len(name) == shortenedBytes+2*sumBytes }

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
