package decide

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
	"intenthint/redact"
)

// rubricDigits is the length of a fingerprint.
const rubricDigits = 12

// Fingerprint returns the rubric of a question: 12 hex digits of the SHA-256 of the
// canonical JSON (sorted keys, no white space) of its type, criteria and instructions,
// in which each string that is also a string in the state is "@". So a question that
// names a message of the state by its id is the same for every message. Labels are
// keys, and stay.
func Fingerprint(q *Question, state json.RawMessage) string {
	sum := sha256.Sum256(canonical(q, stringsIn(state)))
	return hex.EncodeToString(sum[:])[:rubricDigits]
}

// ValidRubric reports whether a text has the form of a rubric.
func ValidRubric(rubric string) bool {
	_, err := hex.DecodeString(rubric)
	return err == nil && len(rubric) == rubricDigits && strings.ToLower(rubric) == rubric
}

// canonical returns the JSON of a question for its fingerprint.
func canonical(q *Question, shared map[string]bool) []byte {
	fields := map[string]any{"type": q.Type}
	if q.Instructions != nil {
		fields["instructions"] = generic(q.Instructions, shared)
	}
	switch q.Type {
	case Score:
		levels := make([]any, len(q.Criteria))
		for i, c := range q.Criteria {
			levels[i] = generic(c, shared)
		}
		fields["criteria"] = levels
	default:
		criteria := map[string]any{}
		for i, c := range q.Criteria {
			// A boolean without a criterion is one with null.
			if q.Type == Choice || c != nil {
				criteria[q.Labels[i]] = generic(c, shared)
			}
		}
		if len(criteria) > 0 {
			fields["criteria"] = criteria
		}
	}
	return marshal(fields)
}

// generic decodes an entry; its strings that are shared are "@".
func generic(raw json.RawMessage, shared map[string]bool) any {
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // checked by ParseBatch
	return replace(v, shared)
}

func replace(v any, shared map[string]bool) any {
	switch v := v.(type) {
	case string:
		if shared[v] {
			return "@"
		}
	case []any:
		for i := range v {
			v[i] = replace(v[i], shared)
		}
	case map[string]any:
		for k := range v {
			v[k] = replace(v[k], shared)
		}
	}
	return v
}

// marshal writes canonical JSON, without escapes for HTML.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // decoded JSON
	return bytes.TrimSpace(b.Bytes())
}

// stringsIn returns the strings that are values in a state, at any depth.
func stringsIn(state json.RawMessage) map[string]bool {
	out := map[string]bool{}
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		if v.Type == gjson.String && v.Str != "" {
			out[v.Str] = true
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool {
				walk(inner)
				return true
			})
		}
	}
	walk(gjson.ParseBytes(state))
	return out
}

const (
	// maxText bounds the text of a state that is classified here, in characters; the
	// beginning and the end are kept. Teachers get the whole state.
	maxText = 4000
	// maxRecorded bounds the text that is recorded and learnt (contract §15).
	maxRecorded = 1000
)

// textOf returns the text of a state: a text as it is, of an object lines "key: value",
// depth first. With a focus, a dotted path, it is that of the value there, if there is
// one.
func textOf(state json.RawMessage, focus string) string {
	v := gjson.ParseBytes(state)
	if focus != "" {
		for name := range strings.SplitSeq(focus, ".") {
			v = field(v, name)
		}
		if !v.Exists() {
			v = gjson.ParseBytes(state)
		}
	}
	var b strings.Builder
	lines(&b, "", v)
	return text.Middle(strings.TrimSpace(b.String()), maxText)
}

// field returns a field of an object, without the patterns of gjson's paths.
func field(v gjson.Result, name string) (found gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
		}
		return key.Str != name
	})
	return found
}

func lines(b *strings.Builder, label string, v gjson.Result) {
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(key, inner gjson.Result) bool {
			name := label
			if v.IsObject() {
				name = key.Str
			}
			lines(b, name, inner)
			return true
		})
		return
	}
	if v.Type == gjson.Null {
		return
	}
	if label != "" {
		b.WriteString(label + ": ")
	}
	b.WriteString(v.String() + "\n")
}

// recorded returns a text as it is stored: redacted, and cut.
func recorded(s string) string { return redact.Head(s, maxRecorded) }

// hashed is what is stored of a text instead of it.
func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}
