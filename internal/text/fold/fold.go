package fold

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NFKC returns s in the Unicode form NFKC: wide, styled and joined characters
// become plain ones, and letters are composed with their marks.
func NFKC(s string) string { return norm.NFKC.String(s) }

// AppendNFKC appends s in NFKC.
func AppendNFKC(dst []byte, s string) []byte { return norm.NFKC.AppendString(dst, s) }

// NFKD returns s in the Unicode form NFKD: as [NFKC], with each letter before its
// marks.
func NFKD(s string) string { return norm.NFKD.String(s) }

// Lower returns s in NFKC and lower case. Invalid bytes become U+FFFD if any
// character changes.
func Lower(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// Case returns s in NFKC and without case by full case folding: "Straße" and
// "STRASSE" are equal. Callers that need one form of every text fold twice, as a
// second folding can change the result.
func Case(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// WithoutMarks returns s in NFKD without accents, vowel signs and other marks. Bytes that
// are not UTF-8 become U+FFFD first: behind such a byte a letter may stay composed.
func WithoutMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToValidUTF8(s, "\uFFFD")))
}

// WithoutSpace returns s without white space.
func WithoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Base returns a composed letter without its marks.
func Base(r rune) rune {
	for _, r := range norm.NFD.String(string(r)) {
		return r
	}
	return r
}

var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'")

// Apostrophes returns s with typographic apostrophes, which NFKC keeps, as plain
// ones.
func Apostrophes(s string) string { return apostrophes.Replace(s) }
