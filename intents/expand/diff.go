package expand

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines is the number of unchanged lines around a change.
const contextLines = 3

// Diff returns the unified diff of a file that was edited in one place, "" for an
// unchanged one. Line ends are those of the file.
func Diff(oldName, newName string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	if head == len(a) && head == len(b) {
		return ""
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, lead := max(0, head-contextLines), min(head, contextLines)
	trail := min(tail, contextLines)
	removed, added := a[head:len(a)-tail], b[head:len(b)-tail]

	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", oldName, newName,
		span(from, lead+len(removed)+trail), span(from, lead+len(added)+trail))
	write := func(mark byte, lines []string) {
		for _, line := range lines {
			out.WriteByte(mark)
			out.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(' ', a[from:head])
	write('-', removed)
	write('+', added)
	write(' ', a[len(a)-tail:len(a)-tail+trail])
	return out.String()
}

// span is a range of lines in the form of a hunk header.
func span(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func splitLines(data []byte) []string {
	return slices.Collect(strings.Lines(string(data)))
}
