// Package terms makes search terms from text: stems of English words, code
// identifiers whole and in parts, pairs of characters of scripts that are written
// without spaces. It is pure.
package terms
