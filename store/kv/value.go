package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"intenthint/store"
)

// The first byte of a value is its kind.
const (
	plainMark  = 'r' // the data
	packedMark = 's' // the data as a block of s2
	listMark   = 'c' // the names of the chunks that the data was cut into, one a line
)

// packFrom is the minimum size for compression: anything smaller takes one disk
// block either way.
const packFrom = 2 << 10

// maxData bounds the decompressed size of one message.
const maxData = 64 << 20

// pack makes a value of data, in the memory of buf if it is large enough.
func pack(buf, data []byte) []byte {
	if len(data) >= packFrom {
		buf = slices.Grow(buf[:0], 1+s2.MaxEncodedLen(len(data)))
		packed := s2.Encode(buf[1:cap(buf)], data)
		if len(packed) < len(data) {
			buf = buf[:1+len(packed)]
			buf[0] = packedMark
			return buf
		}
	}
	return append(append(buf[:0], plainMark), data...)
}

// unpack returns the data of a value that [pack] made.
func unpack(value []byte) ([]byte, error) {
	if len(value) == 0 {
		return nil, fmt.Errorf("%w: empty value", store.ErrCorrupt)
	}
	switch value[0] {
	case plainMark:
		return value[1:], nil
	case packedMark:
		n, err := s2.DecodedLen(value[1:])
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		case n > maxData:
			return nil, fmt.Errorf("%w: decompresses to %d bytes", store.ErrCorrupt, n)
		}
		data, err := s2.Decode(nil, value[1:])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		return data, nil
	default:
		return nil, fmt.Errorf("%w: unknown kind of value %q", store.ErrCorrupt, value[0])
	}
}

// packChunks makes a value of the names of chunks.
func packChunks(names []string) []byte {
	return append([]byte{listMark}, strings.Join(names, "\n")...)
}

// chunksOf returns the names of the chunks of a value, none if it is whole.
func chunksOf(value []byte) []string {
	if len(value) == 0 || value[0] != listMark {
		return nil
	}
	names := strings.Split(string(value[1:]), "\n")
	for _, name := range names {
		if !store.IsToken(name) {
			return nil // the value is of no known kind then
		}
	}
	return names
}

// sumOf returns the beginning of a chunk's name.
func sumOf(chunk []byte) string {
	sum := sha256.Sum256(chunk)
	return hex.EncodeToString(sum[:16]) + "-"
}

// format is the version of [head] that this package writes.
const format = 1

// errFormat reports a session written by a later version of the program.
var errFormat = errors.New("unknown session format")

// head is the data under the token of a session: a line of what follows it,
// the document on one line and, one a line, the turns that are leaving it.
type head struct {
	Format int `json:"v"`
	// Archived reports whether turns of the session may exist under their own
	// keys.
	Archived bool `json:"archived,omitempty"`

	state []byte
	// leaving are turns that are no longer in the document but may not be stored
	// under their own keys yet.
	leaving []json.RawMessage
}

// empty is a session without content.
func empty() head { return head{Format: format, state: []byte(`{"history":[]}`)} }

// append appends the encoding to buf. appendState appends the document.
func (h head) append(buf []byte, appendState func([]byte) ([]byte, error)) ([]byte, error) {
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	buf = append(append(buf, first...), '\n')
	if buf, err = appendState(buf); err != nil {
		return nil, err
	}
	buf = append(buf, '\n')
	for _, raw := range h.leaving {
		buf = append(append(buf, raw...), '\n')
	}
	return buf, nil
}

// decodeHead decodes what append encoded, without checking the document. Its
// errors are [store.ErrCorrupt] and [errFormat].
func decodeHead(data []byte) (head, error) {
	var h head
	first, rest, ok := bytes.Cut(data, []byte{'\n'})
	if err := json.Unmarshal(first, &h); err != nil {
		return head{}, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if h.Format > format {
		return head{}, fmt.Errorf("%w: %d", errFormat, h.Format)
	}
	if !ok || h.Format < 1 || data[len(data)-1] != '\n' {
		return head{}, fmt.Errorf("%w: not a session", store.ErrCorrupt)
	}
	h.state, rest, _ = bytes.Cut(rest, []byte{'\n'})
	for line := range bytes.Lines(rest) {
		h.leaving = append(h.leaving, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	return h, nil
}
