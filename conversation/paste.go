package conversation

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"intenthint/internal/text"
)

// Paste is a text that stands in a message beside what is asked about it.
type Paste struct {
	// Before and Behind are what stands around it and may ask about it: the line at the
	// outside, and where that belongs to a short paragraph, the paragraph. Each is on
	// one line, and one of both may be empty.
	Before, Behind []string
	// Text is its beginning, with its lines.
	Text string
}

const (
	// minPasted is how long a paste is at least, and minFenced one in a code fence, in
	// characters. What is shorter belongs to the request.
	minPasted, minFenced = 200, 40
	// maxAsk bounds what stands before or behind a paste, in characters: a longer
	// paragraph is a part of it.
	maxAsk = 400
	// maxAskLines bounds a paragraph of several lines, in characters. Of a longer one
	// only the line at the outside may be the ask.
	maxAskLines = 160
	// maxPasteText bounds the beginning of a paste that is kept, in bytes. It shows
	// what kind of text it is.
	maxPasteText = 1024
)

// Pasted returns the paste in the user's words of a prompt, or nil. Its time is linear
// in the prompt.
func Pasted(prompt string) *Paste {
	if len(prompt) < minPasted && !strings.Contains(prompt, codeFence) {
		return nil // the usual message
	}
	_, _, lines := (&reading{}).message(prompt)
	return pasted(lines)
}

// pasted finds the paste in a text that has its lines.
func pasted(s string) *Paste {
	s = strings.Trim(s, space)
	if p := fenced(s); p != nil {
		return p
	}
	head := headOf(s)
	tail := tailOf(s[len(head):])
	rest := strings.Trim(s[len(head):len(s)-len(tail)], "\r\n")
	if utf8.RuneCountInString(rest) < minPasted {
		return nil
	}
	return around(head, tail, rest)
}

// around makes a paste of its parts, nil if nothing is around it.
func around(head, tail, rest string) *Paste {
	p := &Paste{Text: text.CutBytes(rest, maxPasteText)}
	first, _, _ := strings.Cut(strings.Trim(head, space), "\n")
	last := strings.Trim(tail, space)
	last = last[strings.LastIndexByte(last, '\n')+1:]
	p.Before, p.Behind = parts(first, head), parts(last, tail)
	if p.Before == nil && p.Behind == nil {
		return nil
	}
	return p
}

// parts returns a line and the paragraph that it stands in, each on one line, and
// once where both are the same.
func parts(line, paragraph string) []string {
	line, paragraph = text.Fold(line), text.Fold(paragraph)
	switch {
	case paragraph == "":
		return nil
	case line == paragraph:
		return []string{line}
	}
	return []string{line, paragraph}
}

// fenced finds a paste between code fences.
func fenced(s string) *Paste {
	begin := strings.Index(s, codeFence)
	end := strings.LastIndex(s, codeFence)
	if begin < 0 || end < begin+len(codeFence)+minFenced {
		return nil
	}
	inner := s[begin+len(codeFence) : end]
	if line := endOfLine(inner); line < len(inner) && !strings.ContainsAny(strings.TrimSpace(inner[:line]), space) {
		inner = inner[line:] // behind the name of the language
	}
	before, behind := s[:begin], s[end+len(codeFence):]
	if utf8.RuneCountInString(before) > 2*maxAsk || utf8.RuneCountInString(behind) > 2*maxAsk {
		return nil
	}
	return around(before, behind, strings.Trim(inner, "\r\n"))
}

// headOf returns the beginning of a text that may be an ask: its first paragraph, or
// its first line where that paragraph goes on with the paste. Courtesies before it
// belong to it.
func headOf(s string) string {
	n := 0
	for {
		rest := s[n:]
		end := paragraphEnd(rest)
		if !mayAsk(rest[:end]) {
			if end = endOfLine(rest[skip(rest, 0, space):]) + skip(rest, 0, space); !mayAsk(rest[:end]) {
				return s[:n]
			}
		}
		if n+end >= len(s) {
			return s[:n]
		}
		if n += end; !isCourtesy(s[:n]) {
			return s[:n]
		}
	}
}

// tailOf returns the end of a text that may be an ask, as headOf does its beginning.
func tailOf(s string) string {
	n := len(s)
	for {
		rest := strings.TrimRight(s[:n], space)
		begin := lastParagraph(rest)
		if !mayAsk(rest[begin:]) {
			if begin = strings.LastIndexByte(rest, '\n') + 1; !mayAsk(rest[begin:]) {
				return s[n:]
			}
		}
		if begin == 0 {
			return s[n:]
		}
		if n = begin; !isCourtesy(s[n:]) {
			return s[n:]
		}
	}
}

// lastParagraph returns where the last paragraph of a text begins.
func lastParagraph(s string) int {
	for i := len(s); i > 0; {
		nl := strings.LastIndexByte(s[:i], '\n')
		if nl < 0 {
			break
		}
		if before := strings.TrimRight(s[:nl], " \t\r"); before == "" || before[len(before)-1] == '\n' {
			return nl + 1
		}
		i = nl
	}
	return 0
}

// mayAsk reports whether a paragraph may be a person's words beside a paste.
func mayAsk(paragraph string) bool {
	paragraph = strings.Trim(paragraph, "\r\n")
	most := maxAsk
	if strings.Contains(paragraph, "\n") {
		most = maxAskLines
	}
	if len(paragraph) > most*utf8.UTFMax || utf8.RuneCountInString(paragraph) > most || letters(paragraph) == 0 {
		return false
	}
	for line := range strings.Lines(paragraph) {
		if strings.TrimSpace(line) != "" && machineLine(line) {
			return false
		}
	}
	return true
}

// machineHead matches the beginning of a line that a program or a mail wrote.
var machineHead = regexp.MustCompile(`^(?:` +
	`\s*at [\w.$/<>]+\(|\s*File "|Traceback \(|Caused by: |\s*\.\.\. \d+ more|goroutine \d+|panic: |npm ERR!|\s*[\w.]*(?:Error|Exception|Warning|Fault)\b[:\[ ]|` +
	`\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|\w{3} +\d{1,2} \d\d:\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3} |` +
	`diff --git |@@ -|\+\+\+ |--- |index [0-9a-f]{7}|[+-]\s*[\t{}(]|` +
	`(?:From|To|Cc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Datum|Gesendet|De|Para|Asunto|Objet|Assunto|Oggetto|От|Кому|Тема|发件人|收件人|主题|差出人|宛先|件名): ?|` +
	`(?:import|package|using|from|def|class|func|function|const|let|var|public|private|static|return|export|#include|#!/|//|/\*|<\?|<!|SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|GROUP BY|ORDER BY) ?[^\s?？]*[({;=<>"'\./*:]` +
	`|[\t ]+\S|[{}\[\]<#$|;)]|"[^"]*":)`)

// machineLine reports whether a line is code, data, a log, a trace or a mail's
// header.
func machineLine(line string) bool {
	line = strings.TrimRight(line, space)
	if machineHead.MatchString(line) {
		return true
	}
	switch line[len(line)-1] {
	case '{', '}', ';', '\\', '>', '|':
		return true
	}
	// Rows of a table: more separators than words.
	separators := strings.Count(line, ",") + strings.Count(line, "\t") + strings.Count(line, "|") + strings.Count(line, ";")
	return separators >= 3 && separators > strings.Count(line, " ")
}
