package text

import "strings"

var (
	escaper          = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
)

// Escape makes s harmless between tags: it can neither open nor close one.
func Escape(s string) string {
	if !strings.ContainsAny(s, "&<>") {
		return s
	}
	return escaper.Replace(s)
}

// EscapeAttribute makes s harmless inside a quoted attribute.
func EscapeAttribute(s string) string { return attributeEscaper.Replace(s) }
