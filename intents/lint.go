package intents

import (
	"io/fs"
	"slices"
)

// Lint returns the faults of the intent files of a directory, in order of file
// and line. In addition to the faults found by [Load], an id that two files
// share is an [Error], since one of them is not used, a repeated example is a
// [Notice], and a directory with the name of such a file is a [Warning].
func Lint(fsys fs.FS) []Fault {
	files, faults, overridden, err := load(fsys)
	if err != nil {
		return []Fault{{File: ".", Line: 1, Severity: Error, Reason: err.Error()}}
	}
	if len(files) == 0 && len(faults) == 0 {
		return []Fault{{File: ".", Line: 1, Severity: Notice, Reason: "no intent files (*.md)"}}
	}
	for _, f := range overridden {
		f.Severity = Error
		faults = append(faults, f)
	}
	faults = slices.Concat(faults, repeatedExamples(files), notFiles(fsys))
	sortFaults(faults)
	return faults
}

// repeatedExamples returns a [Notice] for each example that stands in two places.
func repeatedExamples(files []File) []Fault {
	var faults []Fault
	seen := map[string]place{}
	for _, f := range files {
		for i, example := range f.Intent.Examples {
			if first, again := seen[exampleKey(example)]; again {
				faults = append(faults, repeatedAt(f.examplePlaces[i], example, first))
				continue
			}
			seen[exampleKey(example)] = f.examplePlaces[i]
		}
	}
	return faults
}
