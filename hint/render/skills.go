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

// Skills adds path and description to each skill that a prompt names, where it
// is named first: `skill: git (read /skills/git/SKILL.md: Commits and
// branches)` (contract §7). named are these skills, without descriptions;
// unknown is the number of other skills that the prompt names, which are left
// unchanged.
func Skills(prompt string, available []payload.Skill) (out string, named []payload.Skill, unknown int) {
	var b strings.Builder
	done := 0
	seen := map[string]bool{}
	for _, m := range intents.SkillMentions(prompt) {
		key := strings.ToLower(m.Name)
		if m.Name == "" || seen[key] {
			continue
		}
		seen[key] = true
		s, ok := find(available, m.Name)
		if !ok {
			unknown++
			continue
		}
		if len(named) == maxHintSkills {
			break
		}
		named = append(named, payload.Skill{Name: s.Name, Path: s.Path})
		b.WriteString(prompt[done:m.End])
		b.WriteString(" (" + read(s) + ")")
		done = m.End
	}
	if done == 0 {
		return prompt, named, unknown
	}
	b.WriteString(prompt[done:])
	return b.String(), named, unknown
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
