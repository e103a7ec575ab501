package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
)

// Types of questions. On the wire a boolean is a "noul".
const (
	Choice  = "choice"
	Score   = "score"
	Boolean = "boolean"

	wireBoolean = "noul"
)

// Limits of a batch (contract §15). A batch in the gateway has the same.
const (
	// MaxBytes is the largest body, in bytes.
	MaxBytes     = 1 << 20
	maxQuestions = 256
	maxNodes     = 20000 // values of any kind, without the keys of objects
	maxDepth     = 32
	maxLabels    = 255
	maxLevels    = 10
)

var (
	// ErrNotJSON reports a body that is not JSON.
	ErrNotJSON = errors.New("not JSON")
	// ErrForm reports a batch of the wrong form, or one beyond the limits. The text says
	// why, and quotes nothing of the state.
	ErrForm = errors.New("unsupported question")
)

// Batch is a state and the questions about it.
type Batch struct {
	// State is any JSON value.
	State     json.RawMessage
	Questions []Question
	// raw are the questions as they were sent.
	raw json.RawMessage
}

// Question is one question, in whichever type.
type Question struct {
	// Key is the name under which it is asked and answered.
	Key  string
	Type string
	// Instructions is a text, an object or an array; nil for none.
	Instructions json.RawMessage
	// Labels are the possible answers: labels of a choice, the numbers "0" to "9" of a
	// score's levels, "true" and "false".
	Labels []string
	// Criteria say when each label is right, each a text, an object or an array; nil for
	// none.
	Criteria []json.RawMessage
}

// ParseBatch reads a batch in the form of the wire. Errors are [ErrNotJSON] and
// [ErrForm].
func ParseBatch(body []byte) (Batch, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return Batch{}, ErrNotJSON
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return Batch{}, form("the body must be an object")
	}
	if nodes, depth := measure(body); nodes > maxNodes || depth > maxDepth {
		return Batch{}, form("at most %d values and a depth of %d are allowed, not %d and %d", maxNodes, maxDepth, nodes, depth)
	}
	var out Batch
	err := each(root, func(name string, v gjson.Result) error {
		switch name {
		case "model": // which one answers is not asked
			if v.Type != gjson.String && v.Type != gjson.Null {
				return form("model must be a text")
			}
		case "state":
			out.State = json.RawMessage(v.Raw)
		case "questions":
			if !v.IsObject() {
				return form("questions must be an object")
			}
			out.raw = json.RawMessage(v.Raw)
			return each(v, func(key string, q gjson.Result) error {
				if len(out.Questions) == maxQuestions {
					return form("at most %d questions are allowed", maxQuestions)
				}
				parsed, err := parseQuestion(key, q)
				out.Questions = append(out.Questions, parsed)
				return err
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return Batch{}, err
	case out.State == nil:
		return Batch{}, form("state is missing")
	case len(out.Questions) == 0:
		return Batch{}, form("there must be a question")
	}
	return out, nil
}

func form(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrForm, fmt.Sprintf(format, args...))
}

// each calls yield with the fields of an object in their order. A field that occurs
// twice is [ErrForm].
func each(object gjson.Result, yield func(name string, v gjson.Result) error) (err error) {
	seen := map[string]bool{}
	object.ForEach(func(key, value gjson.Result) bool {
		if seen[key.Str] {
			err = form("a field occurs twice")
			return false
		}
		seen[key.Str] = true
		err = yield(key.Str, value)
		return err == nil
	})
	return err
}

// maxShown bounds a key in an error, in characters.
const maxShown = 60

func parseQuestion(key string, v gjson.Result) (q Question, err error) {
	q.Key = key
	wrong := func(format string, args ...any) error {
		return form("question %q: %s", text.OneLine(key, maxShown), fmt.Sprintf(format, args...))
	}
	if !v.IsObject() {
		return q, wrong("must be an object")
	}
	var criteria gjson.Result
	err = each(v, func(name string, v gjson.Result) error {
		switch name {
		case "type":
			q.Type = v.Str
		case "instructions":
			if !isEntry(v) {
				return wrong("instructions must be a text, an object or an array")
			}
			q.Instructions = entry(v)
		case "criteria":
			criteria = v
		}
		return nil
	})
	if err != nil {
		return q, err
	}
	if q.Type == wireBoolean {
		q.Type = Boolean
	}
	switch problem := q.take(criteria); {
	case problem != "":
		return q, wrong("%s", problem)
	default:
		return q, nil
	}
}

// take reads the criteria, and returns what is wrong with them.
func (q *Question) take(criteria gjson.Result) (problem string) {
	switch q.Type {
	case Choice:
		if !criteria.IsObject() {
			return "criteria of a choice must be an object"
		}
		if q.addObject(criteria); len(q.Labels) == 0 || len(q.Labels) > maxLabels {
			return fmt.Sprintf("a choice must have 1 to %d labels", maxLabels)
		}
	case Score:
		if !criteria.IsArray() {
			return "criteria of a score must be an array"
		}
		for i, level := range criteria.Array() {
			q.add(strconv.Itoa(i), level)
		}
		if len(q.Labels) == 0 || len(q.Labels) > maxLevels {
			return fmt.Sprintf("a score must have 1 to %d levels", maxLevels)
		}
	case Boolean:
		if criteria.Exists() && criteria.Type != gjson.Null && !criteria.IsObject() {
			return "criteria of a boolean must be an object"
		}
		q.add("true", criteria.Get("true"))
		q.add("false", criteria.Get("false"))
		if criteria.IsObject() {
			known := Question{}
			known.addObject(criteria)
			for _, label := range known.Labels {
				if label != "true" && label != "false" {
					return "criteria of a boolean may have true and false only"
				}
			}
		}
	default:
		return "type must be choice, score or noul"
	}
	seen := map[string]bool{}
	for i, label := range q.Labels {
		switch {
		case label == "" || seen[label]:
			return "labels must be different, and none empty"
		case q.Criteria[i] != nil && !isEntry(gjson.ParseBytes(q.Criteria[i])):
			return "criteria must be texts, objects or arrays"
		}
		seen[label] = true
	}
	return ""
}

// addObject adds the fields of an object, each a label.
func (q *Question) addObject(criteria gjson.Result) {
	criteria.ForEach(func(label, criterion gjson.Result) bool {
		q.add(label.Str, criterion)
		return true
	})
}

func (q *Question) add(label string, criterion gjson.Result) {
	q.Labels = append(q.Labels, label)
	q.Criteria = append(q.Criteria, entry(criterion))
}

// isEntry reports whether a value may be an instruction or a criterion.
func isEntry(v gjson.Result) bool {
	return v.Type == gjson.Null || v.Type == gjson.String || v.IsObject() || v.IsArray()
}

// entry returns the JSON of an entry, nil for null and none.
func entry(v gjson.Result) json.RawMessage {
	if v.Type == gjson.Null {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// measure counts the values of valid JSON and how deep they are nested. Keys of objects
// are no values.
func measure(data []byte) (nodes, depth int) {
	level, inString, inLiteral := 0, false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString, inLiteral = true, false
			nodes++
		case '{', '[':
			level++
			depth = max(depth, level)
			nodes++
			inLiteral = false
		case '}', ']':
			level--
			inLiteral = false
		case ':': // what stood before it was a key
			nodes--
		case ',', ' ', '\t', '\n', '\r':
			inLiteral = false
		default:
			if !inLiteral {
				nodes++
			}
			inLiteral = true
		}
	}
	return nodes, depth
}
