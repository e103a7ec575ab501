package workbench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/internal/text"
)

// Import is `consumer intents import`.
type Import struct {
	Dir       string `arg:"" type:"path" help:"The directory of intent files to import, for example the original plugin's."`
	Overwrite bool   `help:"Replace files of the same name that differ. Without it they are kept."`
	Yes       bool   `short:"y" help:"Copy without asking."`
	DryRun    bool   `help:"Only show what would be loaded or left out, and why."`
	JSON      bool   `name:"json" help:"Print one JSON object instead of the table. Never asks, so it needs --yes or --dry-run."`
}

// Help is the longer text of `consumer intents import --help`.
func (Import) Help() string {
	return `Shows for each *.md file of the directory its id, name, examples and warnings, and its state: new, same (already there), overwrite, differs (a file of that name has other content, and is kept), taken (another file has the id), or unusable, with the reason. A file of examples (NAME.examples.txt) goes with its *.md file. After confirmation it copies the new files to HINT_INTENTS_DIR, and with --overwrite also those that differ. A running consumer loads them at once. Faults go to standard error, as from "consumer intents lint".

Exit code 1: a file was left out, or copying was not confirmed. Files that already exist do not count.`
}

// Validate is called by kong.
func (c *Import) Validate() error {
	switch {
	case c.Yes && c.DryRun:
		return errors.New("--yes and --dry-run cannot be used together")
	case c.JSON && !c.Yes && !c.DryRun:
		return errors.New("--json never asks, add --yes or --dry-run")
	}
	return nil
}

// States of an imported file.
const (
	ImportNew       = "new"
	importSame      = "same"
	importOverwrite = "overwrite"
	importDiffers   = "differs"
	importTaken     = "taken"
	importUnusable  = "unusable"
)

// Imported is one intent file of an import, with its file of examples.
type Imported struct {
	File     string   `json:"file"`
	ID       string   `json:"id,omitempty"`
	Name     string   `json:"name,omitempty"`
	Enabled  bool     `json:"enabled"`
	Examples int      `json:"examples"`
	Keywords int      `json:"keywords"`
	Skills   []string `json:"skills"` // that the prompt names
	State    string   `json:"state"`
	Reason   string   `json:"reason,omitempty"` // why it is left out
	Warnings []string `json:"warnings"`         // "line N: …"

	parts []importedPart
}

// importedPart is one file to copy.
type importedPart struct {
	name        string
	data, there []byte // its content, and that of the file it would replace; nil for none
}

// leftOut reports whether the file is not in the target afterwards.
func (f Imported) leftOut() bool {
	return f.State == importDiffers || f.State == importTaken || f.State == importUnusable
}

// Importing is what --json prints.
type Importing struct {
	Dir    string     `json:"dir"`
	Into   string     `json:"into,omitempty"` // "" without HINT_INTENTS_DIR
	Files  []Imported `json:"files"`
	Copied []string   `json:"copied"`
}

// Run is called by kong.
func (c *Import) Run(inv *cli.Invocation) error {
	out, err := c.plan(inv)
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := out.print(inv); err != nil {
			return err
		}
	}
	undone := c.copy(inv, &out)
	if c.JSON {
		if err := cli.PrintJSON(inv, out); err != nil {
			return err
		}
	}
	if undone == nil && slices.ContainsFunc(out.Files, Imported.leftOut) {
		undone = cli.ErrReported
	}
	return undone
}

// plan determines the state of each file.
func (c *Import) plan(inv *cli.Invocation) (Importing, error) {
	out := Importing{Dir: c.Dir, Into: inv.Config.IntentsDir, Files: []Imported{}, Copied: []string{}}
	source, err := IntentsFS(c.Dir)
	if err != nil {
		return out, err
	}
	files, faults, err := intents.Load(source)
	if err != nil {
		return out, err
	}
	for _, file := range files {
		f, err := usable(source, file)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, f)
	}
	out.blame(inv, faults)
	if len(out.Files) == 0 {
		return out, fmt.Errorf("no intent files (*.md) in %s", c.Dir)
	}
	slices.SortFunc(out.Files, func(a, b Imported) int { return cmp.Compare(a.File, b.File) })
	if out.Into == "" {
		return out, nil
	}
	target, err := IntentsFS(out.Into)
	if err != nil {
		return out, err
	}
	present, _, err := intents.Load(target)
	if err != nil {
		return out, err
	}
	for i := range out.Files {
		if err := out.Files[i].compare(target, present, c.Overwrite); err != nil {
			return out, err
		}
	}
	return out, nil
}

// usable returns a file that can be loaded.
func usable(source fs.FS, file intents.File) (Imported, error) {
	in := file.Intent
	f := Imported{
		File: file.Name, ID: in.ID, Name: in.Name, Enabled: file.Enabled, Examples: len(in.Examples), Keywords: len(in.Fastpath.Keywords),
		Skills: []string{}, State: ImportNew, Warnings: []string{},
	}
	for _, m := range intents.SkillMentions(in.Prompt) {
		if m.Name != "" && !slices.Contains(f.Skills, m.Name) {
			f.Skills = append(f.Skills, m.Name)
		}
	}
	data, err := fs.ReadFile(source, file.Name)
	if err != nil {
		return f, err
	}
	f.parts = []importedPart{{name: file.Name, data: data}}
	// A broken file of examples has a fault, which makes the intent unusable.
	name := intents.ExamplesName(file.Name)
	if examples, err := intents.ReadExamples(source, name); err == nil && examples != nil {
		f.parts = append(f.parts, importedPart{name: name, data: examples})
	}
	return f, nil
}

// blame adds the faults to their files, and adds the files that are unusable
// because of them. Faults of a file of examples belong to its intent file.
func (out *Importing) blame(inv *cli.Invocation, faults []intents.Fault) {
	for _, fault := range faults {
		i := slices.IndexFunc(out.Files, func(f Imported) bool {
			return f.File == fault.File || intents.ExamplesName(f.File) == fault.File
		})
		if i < 0 {
			i = len(out.Files)
			out.Files = append(out.Files, Imported{File: fault.File, Skills: []string{}, State: importUnusable, Warnings: []string{}})
		}
		f, line := &out.Files[i], fmt.Sprintf("line %d: %s", fault.Line, fault.Reason)
		if f.File != fault.File {
			line = fault.Error()
			if fault.Severity == intents.Error {
				f.State = importUnusable
			}
		}
		// Of two files with the same id, the unused one has only a warning.
		if f.State == importUnusable && (fault.Severity == intents.Error || fault.Severity == intents.Warning && f.Reason == "") {
			f.Reason = cmp.Or(f.Reason, line)
		} else {
			f.Warnings = append(f.Warnings, line)
		}
		fault.File = filepath.Join(out.Dir, fault.File)
		_, _ = fmt.Fprintln(inv.Stderr, fault)
	}
}

// compare compares a usable intent with the files that it would replace.
func (f *Imported) compare(target fs.FS, present []intents.File, overwrite bool) error {
	if f.State == importUnusable {
		return nil
	}
	for _, other := range present {
		if other.Name != f.File && strings.EqualFold(other.Intent.ID, f.ID) {
			f.State, f.Reason = importTaken, fmt.Sprintf("%s has the id %s", other.Name, other.Intent.ID)
			return nil
		}
	}
	same, differs := 0, ""
	for i := range f.parts {
		part := &f.parts[i]
		there, err := fs.ReadFile(target, part.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case bytes.Equal(there, part.data):
			same++
		default:
			differs = cmp.Or(differs, part.name)
		}
		part.there = there
	}
	switch {
	case differs != "" && overwrite:
		f.State = importOverwrite
	case differs == f.File:
		f.State, f.Reason = importDiffers, "a file of this name has other content"
	case differs != "":
		f.State, f.Reason = importDiffers, differs+" has other content"
	case same == len(f.parts):
		f.State = importSame
	}
	return nil
}

func (out Importing) print(inv *cli.Invocation) error {
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "FILE\tID\tNAME\tEXAMPLES\tWARNINGS\tSTATE\tREASON")
	for _, f := range out.Files {
		state := f.State
		if f.State != importUnusable && !f.Enabled {
			state += " (disabled)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", text.OneLine(f.File, 60), cmp.Or(f.ID, "-"), text.OneLine(cmp.Or(f.Name, "-"), 40),
			f.Examples, len(f.Warnings), state, text.OneLine(cmp.Or(f.Reason, "-"), 120))
	}
	return w.Flush()
}

// copy asks for confirmation and copies the files.
func (c *Import) copy(inv *cli.Invocation, out *Importing) error {
	var parts []importedPart
	fresh, replaced := 0, 0
	for _, f := range out.Files {
		if f.State != ImportNew && f.State != importOverwrite {
			continue
		}
		for _, part := range f.parts {
			switch {
			case part.there == nil:
				fresh++
			case !bytes.Equal(part.there, part.data):
				replaced++
			default:
				continue
			}
			parts = append(parts, part)
		}
	}
	switch {
	case c.DryRun:
		return nil
	case out.Into == "":
		return cli.UsageError("nothing was copied: set HINT_INTENTS_DIR to the directory that the files should be copied to, or add --dry-run")
	case fresh+replaced == 0:
		_, _ = fmt.Fprintln(inv.Stderr, "nothing to copy")
		return nil
	}
	question := fmt.Sprintf("Copy %s to %s?", cli.Count(fresh, "file"), out.Into)
	if replaced > 0 {
		question = fmt.Sprintf("Copy %s to %s, and overwrite %s there?", cli.Count(fresh, "file"), out.Into, cli.Count(replaced, "file"))
	}
	if err := inv.Confirm(question, c.Yes); err != nil && inv.Ctx.Err() == nil {
		return err
	}
	if inv.Ctx.Err() != nil {
		return errInterrupted
	}
	var errs []error
	for _, part := range parts {
		path := filepath.Join(out.Into, part.name)
		if err := part.write(path); err != nil {
			errs = append(errs, fmt.Errorf("not copied: %w", err))
			continue
		}
		out.Copied = append(out.Copied, path)
	}
	_, _ = fmt.Fprintf(inv.Stderr, "%s copied to %s\n", cli.Count(len(out.Copied), "file"), out.Into)
	return errors.Join(errs...)
}

// write writes the file. It replaces only the content that was compared.
func (p importedPart) write(path string) error {
	if p.there != nil {
		return expand.Replace(path, p.there, p.data)
	}
	return createFile(path, bytes.NewReader(p.data))
}
