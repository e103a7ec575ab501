package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"
)

// scratch are buffers for encoding. Encodings are kept for long, so they are
// copied to a slice of their exact size.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	b, _ := scratch.Get().(*bytes.Buffer)
	defer scratch.Put(b)
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// compact returns raw on one line; unchanged if it is one line already.
func compact(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, shapeError(err)
	}
	return b.Bytes(), nil
}

func shapeError(err error) error { return fmt.Errorf("%w: %w", ErrCorrupt, err) }

// Timestamp renders Unix milliseconds. RFC 3339 covers only the years 0 to
// 9999; times outside are clamped.
func Timestamp(ms int64) string {
	const first, last = -62167219200000, 253402300799999 // of these years, in Unix milliseconds
	return time.UnixMilli(min(max(ms, first), last)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// finite replaces numbers that JSON cannot express.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// maxDepth bounds the nesting of tool parameters: a document nests them deeper
// than the event did, and decoders have limits.
const maxDepth = 1000

// safeJSON returns raw compacted and valid. It returns nil if raw is null or
// not JSON, and a string if raw is nested too deep for a document.
func safeJSON(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, bytes.ToValidUTF8(raw, []byte("\uFFFD"))) != nil || b.String() == "null" {
		return nil
	}
	if depth(b.Bytes()) > maxDepth {
		text, err := encode(b.String())
		if err != nil {
			return nil
		}
		return text
	}
	return bytes.Clone(b.Bytes()) // without the room for white space
}

func depth(raw []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
