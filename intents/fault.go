package intents

import (
	"cmp"
	"slices"
	"strconv"
)

// Severity is the effect of a [Fault] on its file.
type Severity int

// Severities, from harmless to fatal.
const (
	// Notice is information for the author; nothing is lost.
	Notice Severity = iota
	// Warning is something that may not have the effect its author expects.
	Warning
	// Error keeps a file from being used (contract §7).
	Error
)

// Fault is one problem of an intent file.
type Fault struct {
	// File is the name of the file within its directory; "." is the directory.
	File string
	// Line counts from 1; a fault of the whole file has line 1.
	Line     int
	Severity Severity
	// Reason is one line.
	Reason string
}

// Error is "file:line: reason", the form that editors jump to (contract §10).
func (f Fault) Error() string { return f.File + ":" + strconv.Itoa(f.Line) + ": " + f.Reason }

// HasErrors reports whether one of the faults is an [Error].
func HasErrors(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Severity == Error })
}

func sortFaults(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
