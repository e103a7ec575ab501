package render

import (
	"strings"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
)

// Bounds of the skills in a hint.
const (
	// maxHintSkills is how many skills of a prompt are resolved.
	maxHintSkills = 8
	// maxSkillText bounds a description, in characters.
	maxSkillText = 200
	// maxSkillPath bounds a path, in bytes. Longer paths are not used: a cut path
	// names no file.
	maxSkillPath = 1024
)

// Named are the skills that a prompt names, each once.
type Named struct {
	// Prompt is the prompt with path and description behind each skill that the
	// gateway lists, where it is named first: `skill: git (read
	// /skills/git/SKILL.md: Commits and branches)` (contract §7). Other names are
	// unchanged.
	Prompt string
	// Lines are the same, one skill each, without the text around them.
	Lines []string
	// Listed are the skills with a path, without descriptions.
	Listed []payload.Skill
	// Unknown is the number of skills that the gateway does not list.
	Unknown int
}

// Skills finds the skills that a prompt names among those that are available.
func Skills(prompt string, available []payload.Skill) Named {
	var (
		out  Named
		b    strings.Builder
		done = 0
		seen = map[string]bool{}
	)
	for _, m := range intents.SkillMentions(prompt) {
		key := strings.ToLower(m.Name)
		if m.Name == "" || seen[key] {
			continue
		}
		seen[key] = true
		line := "skill: " + m.Name
		s, ok := find(available, m.Name)
		switch {
		case !ok:
			out.Unknown++
		case len(out.Listed) < maxHintSkills:
			about := " (" + read(s) + ")"
			out.Listed = append(out.Listed, payload.Skill{Name: s.Name, Path: s.Path})
			b.WriteString(prompt[done:m.End] + about)
			done, line = m.End, line+about
		}
		out.Lines = append(out.Lines, line)
	}
	b.WriteString(prompt[done:])
	out.Prompt = b.String()
	return out
}

// read returns one line on how to use a skill.
func read(s payload.Skill) string {
	about := text.Escape(text.OneLine(s.Description, maxSkillText))
	if about == "" {
		return "read " + s.Path
	}
	return "read " + s.Path + ": " + about
}

// find returns the skill with a name, preferring an exact match of case. Skills
// with a path that does not fit into a line of a hint are ignored.
func find(available []payload.Skill, name string) (found payload.Skill, ok bool) {
	for _, s := range available {
		if !strings.EqualFold(s.Name, name) || !isPath(s.Path) {
			continue
		}
		if s.Name == name {
			return s, true
		}
		if !ok {
			found, ok = s, true
		}
	}
	return found, ok
}

// isPath reports whether a path can be put into a hint unchanged: escaped or
// cut, it would name another file.
func isPath(path string) bool {
	return path != "" && len(path) <= maxSkillPath && path == text.OneLine(path, len(path)) && !strings.ContainsAny(path, "<>")
}
