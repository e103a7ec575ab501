package redact

import (
	"bytes"
	"slices"
)

var (
	// keyEdge matches the first or the last line of a private key.
	keyEdge = pattern(`-{2,8} ?(?:(BEGIN)|END) (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?(?: ?-{1,8})?`)
	// keyHead matches what follows the first line: headers and lines of base64,
	// separated by line ends or by the joints of string literals in a program. The
	// last line may be short, unless it could be a word of a sentence.
	keyHead = pattern(`^((?:` + lineBreak + `+(?:` + keyHeader + `|` + keyLine + `))*)(?:(` + lineBreak + `+[A-Za-z0-9+/]{0,15}=+)|(` + lineBreak + `+[A-Za-z0-9+/]{2,15})[\n"'\\])?`)
	// keyTail matches what precedes the last line.
	keyTail = pattern(keyLine + `(?:` + lineBreak + `+` + keyLine + `)*(?:` + lineBreak + `+[A-Za-z0-9+/=]{2,15})?` + lineBreak + `*$`)
	// puttyKey matches the private part of a key file of PuTTY.
	puttyKey = pattern(`Private-Lines: ?\d{1,4}(?:` + lineBreak + `+` + keyLine + `)+(?:` + lineBreak + `+[A-Za-z0-9+/]{0,15}=+)?`)
)

const (
	lineBreak = `(?:[\s"']|\\+[nr]?|\+\s)`
	keyLine   = `[A-Za-z0-9+/=]{16,}`
	keyHeader = `(?i:proc-type|dek-info|version|comment|hash|charset)[^\n\r\\]{0,200}`
)

// privateKeys finds private keys (contract §12): PEM and OpenPGP blocks from
// their BEGIN to their END line, also with \n for line ends. A block without END,
// or without BEGIN, extends as far as its lines of base64. Public keys and
// certificates are kept. Of a key file of PuTTY the private lines are found.
func (w *work) privateKeys() {
	if bytes.Contains(w.t, []byte("Private-Lines:")) {
		for _, at := range puttyKey.FindAllIndex(w.t, -1) {
			w.add(at[0], at[1], privateKey)
		}
	}
	if !bytes.Contains(w.t, []byte("PRIVATE KEY")) {
		return
	}
	edges := keyEdge.FindAllSubmatchIndex(w.t, -1)
	done := 0
	for i := 0; i < len(edges); i++ {
		start, end, isBegin := edges[i][0], edges[i][1], edges[i][2] >= 0
		switch {
		case !isBegin:
			if tail := keyTail.FindIndex(w.t[done:start]); tail != nil {
				w.add(done+tail[0], end, privateKey)
			}
		case i+1 < len(edges) && edges[i+1][2] < 0:
			i++
			end = edges[i][1]
			w.add(start, end, privateKey)
		default:
			next := len(w.t)
			if i+1 < len(edges) {
				next = edges[i+1][0]
			}
			end += slices.Max(keyHead.FindSubmatchIndex(w.t[end:next])[2:])
			w.add(start, end, privateKey)
		}
		done = end
	}
}
