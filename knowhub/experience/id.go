package experience

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"intenthint/internal/text/fold"
)

// idDigits is the length of an id: 128 bits, so that two experiences never share
// one.
const idDigits = 32

// ID returns the id of an experience: a function of task, resource and result,
// ignoring case, white space and letter forms. So the same experience gets one
// id, whoever submits it and however often. If agents do not share experiences,
// the id also depends on the agent.
func ID(e Experience, shared bool) string {
	e = e.Normal()
	parts := []string{key(e.Task), key(e.Resource), key(e.Result)}
	if !shared {
		parts = append(parts, e.AgentID)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n"))) // no part has a line feed
	return hex.EncodeToString(sum[:])[:idDigits]
}

// ValidID reports whether s can be an id. Only valid ids may be used as keys of
// the bucket and parts of a path.
func ValidID(s string) bool {
	if len(s) != idDigits {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) < 0
}

// key makes texts equal that differ only in case, white space or letter forms.
// Folding can undo the normal form, so it is done twice.
func key(s string) string {
	return strings.Join(strings.Fields(fold.Case(fold.Case(s))), " ")
}
