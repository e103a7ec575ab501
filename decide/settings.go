package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
			rule, wrong := parseRule(v)
			out[name], ok = rule, ok && wrong == ""
		}
		return out, ok
	},
	Wrong: func(value any) string {
		object, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, wrong := parseRule(object[name]); wrong != "" {
				return fmt.Sprintf("%q: %s", name, wrong)
			}
		}
		return ""
	},
}

// ruleFields are the fields of a rule; each takes a value, and reports whether it is
// allowed.
var ruleFields = map[string]ruleField{
	"name":    fieldOf(part.Text, func(r *Rule) *string { return &r.Name }),
	"focus":   fieldOf(part.Text, func(r *Rule) *string { return &r.Focus }),
	"teacher": fieldOf(part.Model, func(r *Rule) *string { return &r.Teacher }),
	"target":  fieldOf(part.Number(0.5, 0.999), func(r *Rule) *float64 { return &r.Target }),
	"record":  fieldOf(part.OneOf(RecordText, RecordHash, RecordOff), func(r *Rule) *string { return &r.Record }),
	"zero":    fieldOf(part.OneOf(zeroTopic, RecordOff), func(r *Rule) *string { return &r.Zero }),
}

type ruleField struct {
	allowed string
	put     func(r *Rule, value any) (ok bool)
}

func fieldOf[T any](rule part.Rule[T], at func(*Rule) *T) ruleField {
	return ruleField{rule.Allowed, func(r *Rule, value any) (ok bool) {
		*at(r), ok = rule.Parse(value)
		return ok
	}}
}

// parseRule reads the settings of one rubric, and returns what is wrong with them.
func parseRule(value any) (r Rule, wrong string) {
	fields, ok := value.(map[string]any)
	if !ok {
		return r, "must be an object"
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, known := ruleFields[name]
		switch {
		case !known:
			return r, fmt.Sprintf("unknown field %q", name)
		case !field.put(&r, fields[name]):
			return r, name + " must be " + field.allowed
		}
	}
	return r, ""
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
