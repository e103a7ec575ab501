package expand

import (
	"fmt"
	"slices"
	"strings"
)

// contextLines is the number of unchanged lines around a change.
const contextLines = 3

// Diff returns the unified diff of a file, "" for an unchanged one. Line ends are
// those of the file. Its time is proportional to the product of the numbers of
// lines between the first and the last change.
func Diff(oldName, newName string, before, after []byte) string {
	lines := compared(splitLines(before), splitLines(after))
	var out strings.Builder
	for from := 0; ; {
		first := slices.IndexFunc(lines[from:], func(l diffLine) bool { return l.mark != ' ' })
		if first < 0 {
			return out.String()
		}
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
		}
		begin := max(0, from+first-contextLines)
		from = hunkEnd(lines, from+first)
		writeHunk(&out, lines[:begin], lines[begin:from])
	}
}

// diffLine is a line of the old file (' ', '-'), of the new one (' ', '+'), or both.
type diffLine struct {
	mark byte
	text string
}

// hunkEnd returns where the hunk with the change at lines[i] ends: after its
// last change and the context, if no other change is near.
func hunkEnd(lines []diffLine, i int) int {
	last := i
	for ; i < len(lines) && i <= last+2*contextLines; i++ {
		if lines[i].mark != ' ' {
			last = i
		}
	}
	return min(last+1+contextLines, len(lines))
}

// writeHunk writes a hunk of lines; before are the lines that precede it.
func writeHunk(out *strings.Builder, before, lines []diffLine) {
	count := func(lines []diffLine, without byte) (n int) {
		for _, l := range lines {
			if l.mark != without {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(count(before, '+'), count(lines, '+')), span(count(before, '-'), count(lines, '-')))
	for _, l := range lines {
		out.WriteByte(l.mark)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// compared returns the lines of both files in order, with as many common lines
// as possible.
func compared(a, b []string) (out []diffLine) {
	add := func(mark byte, lines ...string) {
		for _, text := range lines {
			out = append(out, diffLine{mark, text})
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	add(' ', a[:head]...)
	rest := a[len(a)-tail:]
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	// longest[i][j] is how many lines a[i:] and b[j:] have in common, in order.
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			add(' ', a[i])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			add('-', a[i])
			i++
		default:
			add('+', b[j])
			j++
		}
	}
	add('-', a[i:]...)
	add('+', b[j:]...)
	add(' ', rest...)
	return out
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
