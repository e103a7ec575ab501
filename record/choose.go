package record

import (
	"slices"

	"intenthint/improve/expand"
	"intenthint/intents"
)

// Unknown is the reason for lessons whose intent is not in the catalogue; the
// other reasons are those of package expand.
const Unknown expand.Reason = "unknown"

// Chosen is the result of [Choose].
type Chosen struct {
	// Examples are the new examples, by intent id as spelled in the catalogue, in
	// order of precedence.
	Examples map[string][]string
	// Used are the lessons behind the examples, and Unused the other lessons, both
	// in order of precedence.
	Used   []Lesson
	Unused []Unused
}

// Unused is a lesson that is not used.
type Unused struct {
	Lesson
	Reason expand.Reason `json:"reason"`
	// Of is the example that the lesson repeats or resembles, or the id of the
	// other intent, if any.
	Of string `json:"of,omitempty"`
}

// Choose decides which lessons become examples of a catalogue, at most most per
// intent: those that are neither known nor another intent's. Of several lessons
// about one text, a person's takes precedence, then the newest; the same order
// decides which are kept of too many. The classifier must be trained on the
// catalogue.
func Choose(catalog *intents.Catalog, classifier expand.Classifier, lessons []Lesson, most int) Chosen {
	out := Chosen{Examples: map[string][]string{}}
	filter := expand.NewFilter(catalog, classifier)
	lessons = slices.Clone(lessons)
	BestFirst(lessons)
	for _, l := range lessons {
		in, ok := catalog.Lookup(l.Intent)
		if !ok {
			out.Unused = append(out.Unused, Unused{l, Unknown, ""})
			continue
		}
		if d, ok := filter.Keep(in.ID, l.Text, len(out.Examples[in.ID]) < most, l.FromPerson()); !ok {
			out.Unused = append(out.Unused, Unused{l, d.Reason, d.Of})
			continue
		}
		out.Examples[in.ID] = append(out.Examples[in.ID], l.Text)
		out.Used = append(out.Used, l)
	}
	return out
}
