package intents

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SkillMention is a `skill: NAME` in an intent's prompt (contract §7).
type SkillMention struct {
	// Name is "" if no name follows.
	Name string
	// Start is where the word skill begins in the prompt, and End where the name
	// ends, including its closing quote; both in bytes.
	Start, End int
}

// maxSkillName bounds the name of a skill, in bytes.
const maxSkillName = 200

// skillsOf returns the names of the skills that the prompts of intents name, sorted,
// each once ignoring case.
func skillsOf(enabled []Intent, fallback Intent) []string {
	var names []string
	for _, in := range append(slices.Clone(enabled), fallback) {
		for _, m := range SkillMentions(in.Prompt) {
			if m.Name != "" {
				names = append(names, strings.ToLower(m.Name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SkillMentions returns the skills that a prompt names, in order. A name
// consists of letters, digits and `_`, `-`, `.`, `:`, `/`; it may be in quotes
// or backticks.
func SkillMentions(prompt string) []SkillMention {
	const word = "skill"
	var out []SkillMention
	for at, last := 0, 0; ; {
		colon := strings.IndexByte(prompt[at:], ':')
		if colon < 0 {
			return out
		}
		colon += at
		at = colon + 1
		start := colon - len(word)
		if start < last || !strings.EqualFold(prompt[start:colon], word) {
			continue
		}
		if before, _ := utf8.DecodeLastRuneInString(prompt[:start]); start > 0 && isSkillRune(before) {
			continue // another word with this ending
		}
		m := SkillMention{Start: start, End: at}
		m.Name, m.End = skillName(prompt, at)
		out = append(out, m)
		at, last = m.End, m.End
	}
}

// skillName reads the name after the colon of a mention, and where it ends.
func skillName(prompt string, at int) (name string, end int) {
	rest := strings.TrimLeft(strings.TrimLeft(prompt[at:], "*"), " \t")
	begin := len(prompt) - len(rest)
	quote := byte(0)
	if rest != "" && strings.IndexByte("`\"'", rest[0]) >= 0 {
		quote, rest = rest[0], rest[1:]
		begin++
	}
	size := strings.IndexFunc(rest, func(r rune) bool { return !isSkillRune(r) && !strings.ContainsRune(".:/", r) })
	if size < 0 {
		size = len(rest)
	}
	name = strings.TrimRight(rest[:size], ".:/-")
	if name == "" || len(name) > maxSkillName {
		return "", at
	}
	end = begin + len(name)
	if quote != 0 && end < len(prompt) && prompt[end] == quote {
		end++
	}
	return name, end
}

func isSkillRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}
