// Package terms makes search terms from text: stems of English words, code
// identifiers whole and in parts, pairs of Chinese, Japanese and Korean
// characters. It is pure.
package terms
