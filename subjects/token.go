package subjects

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	escapes := 0
	for i := range len(value) {
		if !isPlain(value[i]) {
			escapes++
		}
	}
	if escapes == 0 {
		return value
	}
	var b strings.Builder
	b.Grow(len(value) + 2*escapes)
	for i := range len(value) {
		c := value[i]
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
	switch token {
	case AbsentToken:
		return "", nil
	case "=5F":
		return AbsentToken, nil
	case "":
		return "", fmt.Errorf("%w: empty", ErrBadToken)
	}
	if strings.IndexByte(token, '=') < 0 {
		for i := range len(token) {
			if !isPlain(token[i]) {
				return "", fmt.Errorf("%w: byte %#02x at %d", ErrBadToken, token[i], i)
			}
		}
		return token, nil
	}
	var b strings.Builder
	b.Grow(len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c != '=' {
			if !isPlain(c) {
				return "", fmt.Errorf("%w: byte %#02x at %d", ErrBadToken, c, i)
			}
			b.WriteByte(c)
			continue
		}
		if i+2 >= len(token) {
			return "", fmt.Errorf("%w: escape cut short at %d", ErrBadToken, i)
		}
		hi, lo := strings.IndexByte(upperHex, token[i+1]), strings.IndexByte(upperHex, token[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("%w: bad escape at %d", ErrBadToken, i)
		}
		v := byte(hi<<4 | lo)
		if isPlain(v) {
			return "", fmt.Errorf("%w: needless escape at %d", ErrBadToken, i)
		}
		b.WriteByte(v)
		i += 2
	}
	return b.String(), nil
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

// MayBeShortened reports whether a name of [Name] may be that of a longer token.
// Such a one can look like the token of another value.
func MayBeShortened(name string) bool { return len(name) == shortenedBytes+2*sumBytes }

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
