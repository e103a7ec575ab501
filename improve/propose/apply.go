package propose

import (
	"bytes"
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
	// Read returns the content of a file by its name.
	Read func(name string) ([]byte, error)
	// Catalog is the catalogue of the files, and Classifier is trained on it.
	Catalog    *intents.Catalog
	Classifier Classifier
}

// Change is the effect of edits on one file.
type Change struct {
	File string
	// Before is nil for a new file.
	Before, After []byte
}

// Edited is the result of applying edits.
type Edited struct {
	// Edits are all edits, with the problems of those that were not made.
	Edits []Edit
	// Changes are the files that differ.
	Changes []Change
	// Catalog is the catalogue of all files with the changes; nil if nothing has
	// changed.
	Catalog *intents.Catalog
}

// Apply makes the edited files. An edit that cannot be made gets the reason,
// and the others are made. New examples must pass the rules of [expand.Filter].
// With corrected, the classifier's opinion was the mistake, so it is ignored
// for texts that people wrote, that is, the finding's messages.
func (s *Source) Apply(edits []Edit, messages []Message, corrected bool) Edited {
	a := applying{Source: s, filter: expand.NewFilter(s.Catalog, s.Classifier), said: map[string]bool{}}
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
	out.Changes = slices.DeleteFunc(a.changes, func(c Change) bool { return bytes.Equal(c.Before, c.After) })
	if len(out.Changes) > 0 {
		out.Catalog = a.catalog(out.Changes)
	}
	return out
}

// applying makes edits one after another.
type applying struct {
	*Source
	filter  *expand.Filter
	said    map[string]bool // normalised texts for which the classifier is not asked
	changes []Change
}

func (a *applying) apply(e *Edit) error {
	switch e.Edit {
	case NewIntent:
		return a.newIntent(e)
	case AddExample, RemoveExample, ChangeTrigger:
	default:
		return fmt.Errorf("%q is not a known edit", e.Edit)
	}
	in, c, err := a.open(e.Intent)
	if err != nil {
		return err
	}
	e.Intent = in.ID
	var after []byte
	switch e.Edit {
	case AddExample:
		if e.Dropped = a.judge(in.ID, e.Text); len(e.Dropped) > 0 {
			return nil
		}
		after, err = intents.AppendExamples(c.After, []string{e.Text})
	case RemoveExample:
		i := find(in.Examples, e.Text)
		if i < 0 {
			return fmt.Errorf("%s has no example “%s”", in.ID, e.Text)
		}
		e.Text = in.Examples[i]
		after, err = intents.RemoveExample(c.After, e.Text)
	case ChangeTrigger:
		i := find(in.Triggers, e.From)
		if i < 0 {
			return fmt.Errorf("%s has no trigger “%s”", in.ID, e.From)
		}
		e.From = in.Triggers[i]
		after, err = intents.ReplaceTrigger(c.After, e.From, e.Text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	c.After = after
	if e.Edit == RemoveExample {
		// The classifier learnt the text there, so its opinion says nothing about the
		// new place.
		a.filter.Forget(in.ID, e.Text)
		a.said[local.Normalize(e.Text)] = true
	}
	return nil
}

// open returns an intent as in its file with the changes so far.
func (a *applying) open(id string) (intents.Intent, *Change, error) {
	i := slices.IndexFunc(a.Files, func(f intents.File) bool { return strings.EqualFold(f.Intent.ID, id) })
	switch {
	case i < 0 && strings.EqualFold(id, intents.FallbackID):
		return intents.Intent{}, nil, fmt.Errorf("%s has no file: it is the built-in one", intents.FallbackID)
	case i < 0:
		return intents.Intent{}, nil, fmt.Errorf("there is no intent %q", id)
	}
	name := a.Files[i].Name
	at := slices.IndexFunc(a.changes, func(c Change) bool { return c.File == name })
	if at < 0 {
		before, err := a.Read(name)
		if err != nil {
			return intents.Intent{}, nil, err
		}
		a.changes = append(a.changes, Change{name, before, before})
		at = len(a.changes) - 1
	}
	c := &a.changes[at]
	file, faults := intents.Parse(name, c.After)
	if intents.HasErrors(faults) {
		return intents.Intent{}, nil, fmt.Errorf("%s has changed and is broken", name)
	}
	return file.Intent, c, nil
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
	case in.ID == intents.FallbackID || slices.ContainsFunc(a.Files, taken) || slices.ContainsFunc(a.changes, func(c Change) bool { return c.File == name }):
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
	e.Examples = in.Examples
	a.changes = append(a.changes, Change{File: name, After: data})
	return nil
}

// catalog returns the catalogue of all files with the changes.
func (a *applying) catalog(changes []Change) *intents.Catalog {
	files := slices.Clone(a.Files)
	for _, c := range changes {
		file, _ := intents.Parse(c.File, c.After) // which the edit has parsed
		if i := slices.IndexFunc(files, func(f intents.File) bool { return f.Name == c.File }); i >= 0 {
			files[i] = file
		} else {
			files = append(files, file)
		}
	}
	return intents.CatalogOf(files)
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
