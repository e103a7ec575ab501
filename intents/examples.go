package intents

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/internal/text"
)

// examplesSuffix ends the name of a file of examples, which stands beside an
// intent file (contract §7).
const examplesSuffix = ".examples.txt"

// ExamplesName returns the name of the file of examples beside an intent file:
// weather.examples.txt for weather.md.
func ExamplesName(intentFile string) string {
	return strings.TrimSuffix(intentFile, intentSuffix) + examplesSuffix
}

// longExample is the number of characters beyond which an example is hardly a
// message: the local classifier reads the first 240 and the last 80.
const longExample = 320

// place is where a text stands.
type place struct {
	file string
	line int
}

// readLines reads a file of examples, one a line. Blank lines, and lines that
// begin with #, are no examples.
func (p *fileParser) readLines(data []byte) {
	content, ok := p.decode(data)
	if !ok {
		return
	}
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.HasPrefix(line, "- ") {
			p.report(Notice, number, `the line begins with "- ", which counts as part of the example`)
		}
		if n := utf8.RuneCountInString(line); n > longExample {
			p.report(Warning, number, "the line has %d characters; one example stands on one line, and of more than %d only the beginning and the end count", n, longExample)
		}
		p.file.Intent.Examples = append(p.file.Intent.Examples, unescapeLine(line))
		p.file.examplePlaces = append(p.file.examplePlaces, place{p.name, number})
	}
}

// escapeLine writes an example as a line: a text that begins with #, or with
// backslashes before one, gets a backslash more.
func escapeLine(example string) string {
	if strings.HasPrefix(strings.TrimLeft(example, `\`), "#") {
		return `\` + example
	}
	return example
}

func unescapeLine(line string) string {
	if rest, ok := strings.CutPrefix(line, `\`); ok && escapeLine(rest) != rest {
		return rest
	}
	return line
}

// AppendExamples returns a file of examples with more of them, each one line of
// text, at its end. data is nil for a file that does not exist yet. The result is
// parsed before it is returned: either it has all examples, or there is an error.
func AppendExamples(data []byte, examples []string) ([]byte, error) {
	before, faults := parse(examplesSuffix, data)
	if HasErrors(faults) {
		return nil, fmt.Errorf("line %d: %s", faults[0].Line, faults[0].Reason)
	}
	if len(examples) == 0 {
		return data, nil
	}
	eol := "\n"
	if first, _, ok := bytes.Cut(data, []byte("\n")); ok && bytes.HasSuffix(first, []byte("\r")) {
		eol = "\r\n"
	}
	out := bytes.Clone(data)
	if len(data) > 0 && !bytes.ContainsRune([]byte("\r\n"), rune(data[len(data)-1])) {
		out = append(out, eol...)
	}
	for _, example := range examples {
		if err := isOneLine("example", example); err != nil {
			return nil, err
		}
		out = append(out, escapeLine(example)+eol...)
	}
	after, faults := parse(examplesSuffix, out)
	switch {
	case HasErrors(faults):
		return nil, errors.New(faults[0].Reason)
	case !slices.Equal(after.Intent.Examples, slices.Concat(before.Intent.Examples, examples)):
		return nil, errors.New("the examples cannot be written as lines")
	}
	return out, nil
}

// ReadExamples returns the content of a file of examples, nil if there is none.
// It fails for a file that [Load] does not use.
func ReadExamples(fsys fs.FS, name string) ([]byte, error) {
	if _, err := fs.Lstat(fsys, name); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := readFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, faults := parse(name, data); HasErrors(faults) {
		return nil, faults[0]
	}
	return data, nil
}

// assemble adds the examples of each file of examples to those of its intent
// file. An example that the intent has already is not added again, with a
// [Notice].
func assemble(all []File) (files []File, faults []Fault) {
	beside := map[string]File{}
	for _, f := range all {
		if isExamplesFile(f.Name) {
			beside[f.Name] = f
		} else {
			files = append(files, f)
		}
	}
	for i, f := range files {
		more, ok := beside[ExamplesName(f.Name)]
		if !ok {
			continue
		}
		seen := make(map[string]place, len(f.Intent.Examples)+len(more.Intent.Examples))
		for k, example := range f.Intent.Examples {
			seen[exampleKey(example)] = f.examplePlaces[k]
		}
		// The last good versions of watched files stay as they are.
		f.Intent.Examples, f.examplePlaces = slices.Clone(f.Intent.Examples), slices.Clone(f.examplePlaces)
		for k, example := range more.Intent.Examples {
			at := more.examplePlaces[k]
			if first, again := seen[exampleKey(example)]; again {
				faults = append(faults, repeatedAt(at, example, first))
				continue
			}
			seen[exampleKey(example)] = at
			f.Intent.Examples, f.examplePlaces = append(f.Intent.Examples, example), append(f.examplePlaces, at)
		}
		files[i] = f
	}
	return files, faults
}

// orphans returns a [Warning] for each file of examples without an intent file.
func orphans(names []string) (faults []Fault) {
	for _, name := range names {
		file := strings.TrimSuffix(name, examplesSuffix) + intentSuffix
		if isExamplesFile(name) && !slices.Contains(names, file) {
			faults = append(faults, Fault{
				File: name, Line: 1, Severity: Warning, Reason: fmt.Sprintf("there is no %s beside it, so its examples are not used", file),
			})
		}
	}
	return faults
}

// notFiles returns a [Warning] for each directory that has the name of an intent
// file or a file of examples.
func notFiles(fsys fs.FS) (faults []Fault) {
	entries, _ := fs.ReadDir(fsys, ".")
	for _, e := range entries {
		if e.IsDir() && (isIntentFile(e.Name()) || isExamplesFile(e.Name())) {
			faults = append(faults, Fault{File: e.Name(), Line: 1, Severity: Warning, Reason: "this is a directory, and what is in it is not used"})
		}
	}
	return faults
}

// exampleKey is the same for examples that count as one.
func exampleKey(example string) string { return strings.ToLower(text.Fold(example)) }

func repeatedAt(at place, example string, first place) Fault {
	return Fault{
		File: at.file, Line: at.line, Severity: Notice,
		Reason: fmt.Sprintf("the example %q is already at %s:%d", example, first.file, first.line),
	}
}

// ExampleAt returns where an example of the intent stands, by its position. The
// line of one that was added by [File.With] is 0.
func (f File) ExampleAt(i int) (file string, line int) {
	return f.examplePlaces[i].file, f.examplePlaces[i].line
}

// TriggerAt returns the line of a trigger of the intent, by its position.
func (f File) TriggerAt(i int) (line int) { return f.triggerLines[i] }

// With returns the file with more examples.
func (f File) With(examples ...string) File {
	f.Intent.Examples = slices.Concat(f.Intent.Examples, examples)
	f.examplePlaces = slices.Concat(f.examplePlaces, slices.Repeat([]place{{file: ExamplesName(f.Name)}}, len(examples)))
	return f
}

// Without returns the file without the example at a position.
func (f File) Without(i int) File {
	f.Intent.Examples = slices.Delete(slices.Clone(f.Intent.Examples), i, i+1)
	f.examplePlaces = slices.Delete(slices.Clone(f.examplePlaces), i, i+1)
	return f
}
