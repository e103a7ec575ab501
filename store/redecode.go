package store

import (
	"bytes"
	"encoding/json"
)

// Redecode is [Decode] with an earlier state of the document. Turns whose
// encoding is unchanged are reused without parsing, so that an event costs no
// more when another process wrote the last one. The earlier document must no
// longer be used.
func Redecode(data []byte, earlier *Document) (*Document, error) {
	if earlier != nil {
		if d, ok := redecode(data, earlier.turns); ok {
			return d, nil
		}
	}
	return Decode(data)
}

// redecode decodes a document that [split] can split.
func redecode(data []byte, known []*held) (*Document, bool) {
	var in members
	var turns []*held
	small, ok := split(data, func(_ bool, rest []byte) ([]byte, bool) {
		if i := match(rest, known); i >= 0 {
			turns = append(turns, known[i])
			rest = rest[len(known[i].raw):]
			// The next turn is most likely the next known one.
			known = append(known[i+1:len(known):len(known)], known[:i]...)
			return rest, true
		}
		n := valueLen(rest)
		if n <= 0 {
			return nil, false
		}
		h, err := hold(bytes.Clone(rest[:n]))
		if err != nil {
			return nil, false
		}
		turns = append(turns, h)
		return rest[n:], true
	})
	if !ok || json.Unmarshal(small, &in) != nil {
		return nil, false
	}
	d, err := in.document(turns)
	return d, err == nil
}

// split splits a document in the form that encode gives it; ok is false for any
// other form, valid or not. It calls turn for every turn, with the data from
// there on, and gets the data after it. It returns the rest, to be decoded in
// the usual way.
func split(data []byte, turn func(current bool, rest []byte) ([]byte, bool)) (small []byte, ok bool) {
	small = []byte{'{'}
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(data), []byte{'{'})
	seen := map[string]bool{}
	for first := true; ok && string(rest) != "}"; first = false {
		if !first {
			if rest, ok = bytes.CutPrefix(rest, []byte{','}); !ok {
				return nil, false
			}
		}
		keyLen := valueLen(rest)
		if keyLen <= 0 || keyLen >= len(rest) || rest[keyLen] != ':' {
			return nil, false
		}
		key, value := string(rest[:keyLen]), rest[keyLen+1:]
		if seen[key] {
			return nil, false
		}
		seen[key] = true
		switch key {
		case `"current"`:
			rest, ok = turn(true, value)
		case `"history"`:
			rest, ok = bytes.CutPrefix(value, []byte{'['})
			for first := true; ok && (len(rest) == 0 || rest[0] != ']'); first = false {
				if !first {
					if rest, ok = bytes.CutPrefix(rest, []byte{','}); !ok {
						break
					}
				}
				rest, ok = turn(false, rest)
			}
			if ok {
				rest = rest[1:]
			}
		case `"sessionId"`, `"sessionKey"`, `"agentId"`, `"ended"`, `"superseded"`, `"namedBy"`, `"waiting"`:
			n := valueLen(value)
			if n <= 0 {
				return nil, false
			}
			if len(small) > 1 {
				small = append(small, ',')
			}
			small = append(append(append(small, key...), ':'), value[:n]...)
			rest = value[n:]
		default:
			return nil, false
		}
	}
	return append(small, '}'), ok
}

// match finds the known turn that data begins with. An encoded turn is an
// object, so at most one can match.
func match(data []byte, known []*held) int {
	for i, h := range known {
		if len(h.raw) > 0 && bytes.HasPrefix(data, h.raw) {
			return i
		}
	}
	return -1
}

// valueLen returns the length of the JSON value at the beginning of data,
// without leading white space; 0 if it is incomplete. It finds the end of the
// value without validating it.
func valueLen(data []byte) int {
	level := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if i >= len(data) {
				return 0
			}
			if level == 0 {
				return i + 1
			}
		case '{', '[':
			level++
		case '}', ']':
			level--
			if level == 0 {
				return i + 1
			}
			if level < 0 {
				return i
			}
		case ',', ':':
			if level == 0 {
				return i
			}
		}
	}
	return 0
}
