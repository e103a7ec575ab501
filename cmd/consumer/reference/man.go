package reference

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"intenthint/config"
)

// Man returns the manual page (section 1) in the man macros of roff.
func Man(app *kong.Application, version string, variables []config.Variable) string {
	var b strings.Builder
	commands := commandsOf(app)
	lead, rest, _ := strings.Cut(app.Help, "\n")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"intenthint %s\"\n", strings.ToUpper(app.Name), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(app.Name), roff(strings.TrimSuffix(lead, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n[\\fIcommand\\fR] [\\fIarguments\\fR]\n", roff(app.Name))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", paragraphs(rest))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands[1:] {
		if !c.Leaf() {
			continue
		}
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(strings.TrimPrefix(c.Summary(), app.Name+" ")), paragraphs(c.Help))
		if c.Detail != "" && c.Name != "run" { // whose text is the table of variables below
			fmt.Fprintf(&b, ".PP\n%s\n", paragraphs(c.Detail))
		}
		for _, f := range c.Flags {
			if !f.Hidden && f.Name != "help" {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(f.String()), paragraphs(f.Help))
			}
		}
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range variables {
		meaning := v.Meaning
		if v.Default != "" {
			meaning += " (default " + v.Default + ")"
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(v.Name), paragraphs(meaning))
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
It failed, or something that was checked is wrong.
.TP
.B 2
A setting or the command line is wrong.
.TP
.B 3
With \fBstream plan \-\-exit\-code\fR: something differs from the settings.
`)
	return b.String()
}

// paragraphs is a text with its lines, none of which begins a request of roff.
func paragraphs(text string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			out = append(out, ".PP")
			continue
		}
		out = append(out, roff(line))
	}
	return strings.Join(out, "\n")
}

// roff escapes a line of text.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	if text = b.String(); strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
