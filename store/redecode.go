package store

import (
	"bytes"
	"encoding/json"
)

// Redecode is [Decode] for a document of which an earlier state is at hand.
// Turns whose encoding is the same in both are taken over from it unread, so
// that an event costs no more when another process wrote the last one. The
// earlier document must not be used any more.
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
			// The next one is most likely the next one.
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

// split splits a document in the form that encode gives it; it is not ok for
// any other form, valid or not. It calls turn for every turn, with the data
// from there on, to get the data after it. What is not a turn it returns, to
// be decoded in the usual way.
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

// match finds the known turn with which data begins. An encoded turn is an
// object, so that nothing else can begin with it.
func match(data []byte, known []*held) int {
	for i, h := range known {
		if len(h.raw) > 0 && bytes.HasPrefix(data, h.raw) {
			return i
		}
	}
	return -1
}

// valueLen is the length of the JSON value without white space before it at
// the beginning of data, 0 when it has no end. It tells values apart, it does
// not check them.
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
