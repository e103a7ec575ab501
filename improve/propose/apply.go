package propose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"intenthint/classify/local"
	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/redact"
)

// Source is the input of edits.
type Source struct {
	Files []intents.File
	// Read returns the content of a file of examples by its name, nil if there is
	// none (see [intents.ReadExamples]).
	Read func(name string) ([]byte, error)
	// Catalog is the catalogue of the files, and Classifier is trained on it.
	Catalog    *intents.Catalog
	Classifier Classifier
}

// Change is the effect of edits on one file: lines at its end.
type Change struct {
	File string
	// Before is nil for a new file.
	Before, After []byte
}

// Edited is the result of applying edits.
type Edited struct {
	// Edits are all edits, with the problems of those that were not made. Those that
	// remove or replace a text name the place where it stands.
	Edits []Edit
	// Changes are the files that get lines.
	Changes []Change
	// Catalog is the catalogue of all files with the edits; nil if they change
	// nothing.
	Catalog *intents.Catalog
}

// Apply makes the edits. An edit that cannot be made gets the reason,
// and the others are made. New examples must pass the rules of [expand.Filter].
// With corrected, the classifier's opinion was the mistake, so it is ignored
// for texts that people wrote, that is, the finding's messages.
func (s *Source) Apply(edits []Edit, messages []Message, corrected bool) Edited {
	a := applying{Source: s, files: slices.Clone(s.Files), filter: expand.NewFilter(s.Catalog, s.Classifier), said: map[string]bool{}}
	if corrected {
		for _, m := range messages {
			a.said[local.Normalize(clean(m.Text))] = true
		}
	}
	var out Edited
	for _, e := range edits {
		if err := a.apply(&e); err != nil {
			e.Problem = err.Error()
		}
		out.Edits = append(out.Edits, e)
	}
	out.Changes = a.fresh
	changed := a.removed || len(a.fresh) > 0
	for _, add := range a.added {
		if len(add.examples) == 0 {
			continue
		}
		after, err := intents.AppendExamples(add.before, add.examples)
		if err != nil { // which the edit has tried
			continue
		}
		out.Changes, changed = append(out.Changes, Change{add.file, add.before, after}), true
	}
	if changed {
		out.Catalog = intents.CatalogOf(a.files)
	}
	return out
}

// applying makes edits one after another.
type applying struct {
	*Source
	files   []intents.File // with the edits so far
	filter  *expand.Filter
	said    map[string]bool // normalised texts for which the classifier is not asked
	added   []*addition
	fresh   []Change // new files
	removed bool     // a text of a file was removed or replaced
}

// addition is the examples that are added to a file.
type addition struct {
	file     string
	before   []byte
	examples []string
}

func (a *applying) apply(e *Edit) error {
	switch e.Edit {
	case NewIntent:
		return a.newIntent(e)
	case AddExample, RemoveExample, ChangeTrigger:
	default:
		return fmt.Errorf("%q is not a known edit", e.Edit)
	}
	i := slices.IndexFunc(a.files, func(f intents.File) bool { return strings.EqualFold(f.Intent.ID, e.Intent) })
	switch {
	case i < 0 && strings.EqualFold(e.Intent, intents.FallbackID):
		return fmt.Errorf("%s has no file: it is the built-in one", intents.FallbackID)
	case i < 0:
		return fmt.Errorf("there is no intent %q", e.Intent)
	}
	file := &a.files[i]
	e.Intent = file.Intent.ID
	switch e.Edit {
	case AddExample:
		return a.addExample(file, e)
	case RemoveExample:
		return a.removeExample(file, e)
	}
	return a.changeTrigger(file, e)
}

func (a *applying) addExample(file *intents.File, e *Edit) error {
	if e.Dropped = a.judge(e.Intent, e.Text); len(e.Dropped) > 0 {
		return nil
	}
	return a.append(file, []string{e.Text})
}

// append adds examples to the file beside an intent file.
func (a *applying) append(file *intents.File, examples []string) error {
	to, err := a.addition(intents.ExamplesName(file.Name))
	if err != nil {
		return err
	}
	all := slices.Concat(to.examples, examples)
	if _, err := intents.AppendExamples(to.before, all); err != nil {
		return fmt.Errorf("%s: %w", to.file, err)
	}
	to.examples = all
	*file = file.With(examples...)
	return nil
}

// addition returns what is added to a file of examples.
func (a *applying) addition(name string) (*addition, error) {
	if i := slices.IndexFunc(a.added, func(to *addition) bool { return to.file == name }); i >= 0 {
		return a.added[i], nil
	}
	before, err := a.Read(name)
	if err != nil {
		return nil, err
	}
	to := &addition{file: name, before: before}
	a.added = append(a.added, to)
	return to, nil
}

func (a *applying) removeExample(file *intents.File, e *Edit) error {
	i := find(file.Intent.Examples, e.Text)
	if i < 0 {
		return fmt.Errorf("%s has no example “%s”", e.Intent, e.Text)
	}
	e.Text = file.Intent.Examples[i]
	if e.File, e.Line = file.ExampleAt(i); e.Line > 0 {
		a.removed = true
	} else { // an edit before this one added it
		to, err := a.addition(e.File)
		if err != nil {
			return err
		}
		to.examples = slices.DeleteFunc(to.examples, func(s string) bool { return s == e.Text })
		e.File = ""
	}
	*file = file.Without(i)
	// The classifier learnt the text there, so its opinion says nothing about the
	// new place.
	a.filter.Forget(e.Intent, e.Text)
	a.said[local.Normalize(e.Text)] = true
	return nil
}

func (a *applying) changeTrigger(file *intents.File, e *Edit) error {
	i := find(file.Intent.Triggers, e.From)
	switch {
	case i < 0:
		return fmt.Errorf("%s has no trigger “%s”", e.Intent, e.From)
	case e.Text == "":
		return fmt.Errorf("%s: there is no new text for the trigger", e.Intent)
	}
	e.From, e.File, e.Line = file.Intent.Triggers[i], file.Name, file.TriggerAt(i)
	file.Intent.Triggers = slices.Clone(file.Intent.Triggers)
	file.Intent.Triggers[i] = e.Text
	a.removed = true
	return nil
}

// judge returns why an example is not used; nil if it is used.
func (a *applying) judge(id, example string) []expand.Dropped {
	if d, ok := a.filter.Keep(id, example, true, a.said[local.Normalize(example)]); !ok {
		return []expand.Dropped{d}
	}
	return nil
}

func (a *applying) newIntent(e *Edit) error {
	e.Intent = strings.ToUpper(e.Intent)
	in := intents.Intent{ID: e.Intent, Name: cmp.Or(e.Name, e.Intent), Triggers: e.Triggers, Prompt: e.Prompt}
	name := intents.FileName(in.ID)
	taken := func(f intents.File) bool {
		return strings.EqualFold(f.Intent.ID, in.ID) || strings.EqualFold(f.Name, name)
	}
	switch {
	case in.ID == intents.FallbackID || slices.ContainsFunc(a.files, taken):
		return fmt.Errorf("there is an intent %s", in.ID)
	case len(in.Triggers) == 0:
		return fmt.Errorf("%s has no trigger", in.ID)
	case in.Prompt == "":
		return fmt.Errorf("%s has no prompt", in.ID)
	}
	for _, example := range e.Examples {
		if dropped := a.judge(in.ID, example); len(dropped) > 0 {
			e.Dropped = append(e.Dropped, dropped...)
			continue
		}
		in.Examples = append(in.Examples, example)
	}
	if len(in.Examples) == 0 {
		return fmt.Errorf("%s has no example that can be used", in.ID)
	}
	data, err := intents.NewFile(in)
	if err != nil {
		return fmt.Errorf("%s: %w", in.ID, err)
	}
	file, _ := intents.Parse(name, data) // which NewFile has parsed
	if err := a.append(&file, in.Examples); err != nil {
		return err
	}
	e.Examples = in.Examples
	a.files, a.fresh = append(a.files, file), append(a.fresh, Change{File: name, After: data})
	return nil
}

// find returns the position of the item that a model quotes, -1 for none. The
// quotation may differ in white space and invisible characters, have personal
// data removed, or be the beginning with an ellipsis.
func find(items []string, quoted string) int {
	if i := slices.Index(items, quoted); i >= 0 || quoted == "" {
		return i
	}
	begin, cut := strings.CutSuffix(quoted, "…")
	return slices.IndexFunc(items, func(item string) bool {
		item = text.OneLine(item, max(len(item), 1))
		return item == quoted || redact.Text(item) == quoted || cut && strings.HasPrefix(item, begin)
	})
}
