package knowhub

import (
	"strconv"
	"strings"

	"intenthint/internal/text"
	"intenthint/knowhub/experience"
	"intenthint/payload"
)

// Block returns the text to put in front of a prompt, "" without experiences.
// The experiences are numbered; each part is on one line, cut and escaped.
func Block(es []experience.Experience) string {
	if len(es) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(payload.UntrustedHeader + "\n<" + payload.ExperiencesTag + ">\n" + payload.ExperiencesNote)
	for i, e := range es {
		b.WriteString("\n" + strconv.Itoa(i+1) + ". Task: " + shown(e.Task, maxShownTask))
		b.WriteString("\n   Used: " + shown(e.Resource, maxShownResource))
		b.WriteString("\n   Result: " + shown(e.Result, maxShownResult))
		b.WriteString("\n   (id " + e.ID + ")")
	}
	b.WriteString("\n</" + payload.ExperiencesTag + ">")
	return b.String()
}

// shown returns a text in the form that is put into a prompt.
func shown(s string, most int) string { return text.Escape(text.OneLine(s, most)) }
