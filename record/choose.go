package record

import (
	"slices"

	"intenthint/intents"
	"intenthint/intents/expand"
)

// Unknown is why a lesson is not used whose intent the catalogue does not have; the
// other reasons are those of package expand.
const Unknown expand.Reason = "unknown"

// Chosen is which lessons a catalogue takes.
type Chosen struct {
	// Examples are the new ones, by id as the catalogue spells it, those that count
	// most first.
	Examples map[string][]string
	// Used are the lessons that they come from, and Unused the others, both with
	// those that count more first.
	Used   []Lesson
	Unused []Unused
}

// Unused is a lesson that is not used.
type Unused struct {
	Lesson
	Reason expand.Reason `json:"reason"`
	// Of is the example that it repeats or is similar to, or the id of the other
	// intent, when there is one.
	Of string `json:"of,omitempty"`
}

// Choose decides which lessons become examples of a catalogue, at most most of an
// intent: what is neither known nor another intent's. Of lessons about one text
// that of a person counts, then the newest; the same holds for which stay of too
// many. The classifier is one trained on the catalogue.
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
		if d, ok := filter.Keep(in.ID, l.Text, len(out.Examples[in.ID]) < most, l.Said()); !ok {
			out.Unused = append(out.Unused, Unused{l, d.Reason, d.Of})
			continue
		}
		out.Examples[in.ID] = append(out.Examples[in.ID], l.Text)
		out.Used = append(out.Used, l)
	}
	return out
}
