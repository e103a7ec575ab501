package record

import (
	"cmp"
	"slices"

	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/payload"
)

// Reasons of unused lessons, beside those of package expand.
const (
	// Unknown means that the intent is not in the catalogue.
	Unknown expand.Reason = "unknown"
	// Injection means that the text looks like a prompt injection.
	Injection expand.Reason = "injection"
	// Share means that the same person or chat has taught enough of the intent already.
	Share expand.Reason = "share"
)

// MaxShare is how many examples of an intent are learnt from one person or one chat, so
// that nobody can teach everybody's classifier alone.
const MaxShare = 5

// Bounds limit which lessons [Choose] takes.
type Bounds struct {
	// Most is how many of an intent are taken.
	Most int
	// Share is how many of these may be of one person or one chat; 0 means any number. A
	// person is who marked the turn, except on the pages, where the operator does; a chat
	// is known by its session key.
	Share int
	// Suspect reports whether a text looks like a prompt injection; nil for none.
	Suspect func(text string) bool
}

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

// Choose decides which lessons become examples of a catalogue, within bounds: those
// that are neither known nor another intent's. Of several lessons
// about one text, a person's takes precedence, then the newest; the same order
// decides which are kept of too many. The classifier must be trained on the
// catalogue.
func Choose(catalog *intents.Catalog, classifier expand.Classifier, lessons []Lesson, b Bounds) Chosen {
	out := Chosen{Examples: map[string][]string{}}
	filter := expand.NewFilter(catalog, classifier)
	taught := map[[2]string]int{} // by intent and teacher
	lessons = slices.Clone(lessons)
	BestFirst(lessons)
	for _, l := range lessons {
		unused := func(reason expand.Reason, of string) { out.Unused = append(out.Unused, Unused{l, reason, of}) }
		in, ok := catalog.Lookup(l.Intent)
		enough := func(teacher string) bool { return b.Share > 0 && taught[[2]string{in.ID, teacher}] >= b.Share }
		switch {
		case !ok:
			unused(Unknown, "")
			continue
		case b.Suspect != nil && b.Suspect(l.Text):
			unused(Injection, "")
			continue
		case slices.ContainsFunc(l.teachers(), enough):
			unused(Share, "")
			continue
		}
		if d, ok := filter.Keep(in.ID, l.Text, len(out.Examples[in.ID]) < b.Most, l.FromPerson()); !ok {
			unused(d.Reason, d.Of)
			continue
		}
		for _, teacher := range l.teachers() {
			taught[[2]string{in.ID, teacher}]++
		}
		out.Examples[in.ID] = append(out.Examples[in.ID], l.Text)
		out.Used = append(out.Used, l)
	}
	return out
}

// teachers returns who a lesson is from: the chat, and the person who marked it, if
// known.
func (l *Lesson) teachers() []string {
	out := []string{"chat " + cmp.Or(l.Chat, l.Session)}
	if l.FromPerson() && l.By != "" && l.By != payload.ByConsole {
		out = append(out, "person "+l.By)
	}
	return out
}
