package store

import (
	"fmt"

	"intenthint/subjects"
)

// SessionOf returns the session of facts: the session id, else the session
// key. Its errors are [ErrNoSession] and [ErrMixedSessions].
func SessionOf(facts []Fact) (string, error) {
	session := ""
	for i, f := range facts {
		switch s := f.Session(); {
		case s == "":
			return "", fmt.Errorf("%w: event %q", ErrNoSession, f.ID)
		case i > 0 && s != session:
			return "", fmt.Errorf("%w: %q and %q", ErrMixedSessions, session, s)
		default:
			session = s
		}
	}
	return session, nil
}

// Tokens returns the tokens that the name of a session may mean: that of an id
// or a key, else the token itself (contract §8).
func Tokens(session string) []string {
	out := []string{subjects.Name(session)}
	if IsToken(session) && session != out[0] {
		out = append(out, session)
	}
	return out
}

// IsSession reports whether name can be the token of a stored session. Facts
// without a session are not stored, so the token of an absent value is not one.
func IsSession(name string) bool { return name != subjects.AbsentToken && IsToken(name) }

// IsToken reports whether name can be the token of a session, full or shortened.
func IsToken(name string) bool {
	if name == "" || len(name) > subjects.MaxNameBytes {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '=' {
			return false
		}
	}
	return true
}
