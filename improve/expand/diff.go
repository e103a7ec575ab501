package expand

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// contextLines is the number of unchanged lines before the added ones.
const contextLines = 3

// Diff returns the unified diff of a file to which lines were appended, "" for an
// unchanged one. Line ends are those of the file.
func Diff(oldName, newName string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	old, lines := splitLines(before), splitLines(after)
	from := max(0, len(old)-contextLines)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", oldName, newName, span(from, len(old)-from), span(from, len(lines)-from))
	for i, line := range lines[from:] {
		if from+i < len(old) {
			last := old[from+i]
			if last == line {
				out.WriteString(" " + line)
				continue
			}
			out.WriteString("-" + last + "\n\\ No newline at end of file\n")
		}
		out.WriteString("+" + line)
	}
	return out.String()
}

// span returns a range of lines in the form of a hunk header.
func span(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func splitLines(data []byte) []string {
	return slices.Collect(strings.Lines(string(data)))
}
