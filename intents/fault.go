package intents

import (
	"cmp"
	"slices"
	"strconv"
)

// Severity is what a [Fault] does to its file.
type Severity int

// Severities, from harmless to fatal for the file.
const (
	// Notice is something an author may want to know; nothing is lost.
	Notice Severity = iota
	// Warning is something that takes effect otherwise than its author may think.
	Warning
	// Error keeps a file from being used (contract §7).
	Error
)

// String returns "notice", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Notice:
		return "notice"
	case Warning:
		return "warning"
	default:
		return "error"
	}
}

// Fault is one thing that is wrong with an intent file.
type Fault struct {
	// File is the name of the file within its directory; "." is the directory.
	File string
	// Line counts from 1; what concerns the whole file stands on line 1.
	Line     int
	Severity Severity
	// Reason is one line.
	Reason string
}

// String is "file:line: reason", the form that editors jump to (contract §10).
func (f Fault) String() string {
	return f.File + ":" + strconv.Itoa(f.Line) + ": " + f.Reason
}

// Error makes a fault an error.
func (f Fault) Error() string { return f.String() }

// HasErrors reports whether one of the faults is an [Error].
func HasErrors(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Severity == Error })
}

func sortFaults(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
