package decide

import (
	"cmp"
	"maps"

	"intenthint/model"
	"intenthint/part"
)

// What is recorded of a state's text (contract §15).
const (
	RecordText = "text" // redacted, and cut; needed to learn
	RecordHash = "hash"
	RecordOff  = "off"
)

// zeroTopic allows an answer from labels and descriptions alone.
const zeroTopic = "topic"

// Settings are how questions are answered (HINT_DECIDE).
type Settings struct {
	Enabled bool
	// Model is the teacher, as provider/model; "" for none.
	Model string
	// Target is the agreement with the teacher, 0–1, that a student needs.
	Target float64
	Record string
	// Rubrics are by fingerprint, by name, or by the key of the question.
	Rubrics map[string]Rule
	// Sample is how many random decisions a day are offered for marking.
	Sample int

	// What follows is set by [Make].

	// Teachers are the models to ask, by reference; without those that cannot be asked.
	Teachers map[string]Teacher
	// Limit bounds the calls of teachers.
	Limit *model.Limit
}

// Rule is what holds for one rubric; empty fields are those of [Settings].
type Rule struct {
	Name string `json:"name,omitempty"`
	// Focus is the dotted path of the part of a state that a question is about.
	Focus   string  `json:"focus,omitempty"`
	Teacher string  `json:"teacher,omitempty"`
	Target  float64 `json:"target,omitempty"`
	Record  string  `json:"record,omitempty"`
	Zero    string  `json:"zero,omitempty"`
}

// Declared are the fields of HINT_DECIDE (contract §15).
var Declared = part.Declare("decide", "answers typed questions of plugins and programs",
	part.Set("enabled", func(s *Settings) *bool { return &s.Enabled }, false, part.Flag, "").AtStart().Showing(false),
	part.Set("model", func(s *Settings) *string { return &s.Model }, "", part.Model, "The teacher, as provider/model; empty: decideModel."),
	part.Set("target", func(s *Settings) *float64 { return &s.Target }, 0.95, part.Number(0.5, 0.999), "Agreement with the teacher, 0.5-0.999, that a student needs before it answers alone."),
	part.Set("record", func(s *Settings) *string { return &s.Record }, RecordOff, part.OneOf(RecordText, RecordHash, RecordOff), "What is recorded of the text of a state: text (redacted; needed to learn), hash or off."),
	part.Set("rubrics", func(s *Settings) *map[string]Rule { return &s.Rubrics }, nil, rules, `Questions with settings of their own: {"<fingerprint or name>": {"name", "focus", "teacher", "target", "record", "zero"}}.`),
	part.Set("sample", func(s *Settings) *int { return &s.Sample }, 10, part.Whole(0, 1000), "Random decisions a day that are offered for marking."),
)

// rules are the settings of rubrics.
var rules = part.Rule[map[string]Rule]{
	Allowed: `{"<fingerprint or name>": {"name", "focus", "teacher": "provider/model", "target": 0.5–0.999, "record": text, hash or off, "zero": topic or off}}`,
	Parse: func(value any) (map[string]Rule, bool) {
		object, ok := value.(map[string]any)
		out := make(map[string]Rule, len(object))
		for name, v := range object {
			fields, isObject := v.(map[string]any)
			rule, valid := parseRule(fields)
			out[name], ok = rule, ok && isObject && valid
		}
		return out, ok
	},
}

func parseRule(fields map[string]any) (r Rule, ok bool) {
	ok = true
	for name, v := range fields {
		s, isText := v.(string)
		switch name {
		case "name":
			r.Name, ok = s, ok && isText
		case "focus":
			r.Focus, ok = s, ok && isText
		case "teacher":
			r.Teacher, ok = s, ok && isText && (s == "" || part.IsModel(s))
		case "target":
			n, isNumber := v.(float64)
			r.Target, ok = n, ok && isNumber && n >= 0.5 && n <= 0.999
		case "record":
			r.Record, ok = s, ok && (s == RecordText || s == RecordHash || s == RecordOff)
		case "zero":
			r.Zero, ok = s, ok && (s == zeroTopic || s == RecordOff)
		default:
			ok = false
		}
	}
	return r, ok
}

// Make returns the settings of a program. The error is that of the providers; a model
// that cannot be asked is not among the teachers.
func Make(p part.Program) (*Settings, error) {
	s := *Declared.In(p.Values)
	s.Model, s.Teachers, s.Limit = cmp.Or(s.Model, p.DecideModel), map[string]Teacher{}, model.NewLimit(p.MaxInflight)
	refs := map[string]bool{s.Model: true}
	for _, r := range s.Rubrics {
		refs[r.Teacher] = true
	}
	delete(refs, "")
	for ref := range maps.Keys(refs) {
		t, err := teacherOf(p, ref)
		if err != nil {
			return nil, err
		}
		s.Teachers[ref] = t
	}
	return &s, nil
}

// rule returns what holds for a question with this fingerprint.
func (s *Settings) rule(rubric, key string) Rule {
	own := defaultName(rubric, key)
	r, ok := s.Rubrics[rubric]
	for _, name := range []string{own, key} {
		if !ok {
			r, ok = s.Rubrics[name]
		}
	}
	r.Name = cmp.Or(r.Name, own)
	r.Teacher = cmp.Or(r.Teacher, s.Model)
	r.Target = cmp.Or(r.Target, s.Target)
	r.Record = cmp.Or(r.Record, s.Record)
	return r
}

// nameDigits is how many digits of a fingerprint a name has.
const nameDigits = 4

// defaultName is the name of a rubric without one in the settings: the key under which
// it is asked, and the beginning of its fingerprint.
func defaultName(rubric, key string) string { return key + "-" + rubric[:nameDigits] }
