package payload

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Skill is a skill that an agent may read.
type Skill struct {
	Name string `json:"name"`
	// Path is the path of its SKILL.md, in the form that the agent's tools accept.
	Path        string `json:"path"`
	Description string `json:"description,omitempty"`
}

// Same reports whether both are the same skill: a tool may spell its path
// differently. Without a path only the names count.
func (s Skill) Same(o Skill) bool { return s.Name == o.Name || s.Path != "" && s.Path == o.Path }

// maxSkills bounds the skills that are read from a list.
const maxSkills = 500

// DecodeSkills returns availableSkills of the ctx of before_prompt_build, which the
// plugin adds: the skills that the agent may read. Entries without name and
// path, and any other values, are left out.
func DecodeSkills(ctx json.RawMessage) []Skill {
	o, err := view(ctx, "ctx")
	if err != nil {
		return nil
	}
	return skillsIn(o.Get("availableSkills"))
}

// DecodeSkillNames returns skillNames of the ctx of before_prompt_build: the names
// that the plugin has picked availableSkills by. ok is false for a list that is
// whole.
func DecodeSkillNames(ctx json.RawMessage) (names []string, ok bool) {
	o, err := view(ctx, "ctx")
	if err != nil {
		return nil, false
	}
	list := o.Get("skillNames")
	if !list.IsArray() {
		return nil, false
	}
	list.ForEach(func(_, value gjson.Result) bool {
		if value.Type == gjson.String {
			names = append(names, strings.Clone(value.Str))
		}
		return true
	})
	return names, true
}

// skillsIn reads a list of skills. It copies: a kept field must not keep a large
// body in memory.
func skillsIn(list gjson.Result) (out []Skill) {
	if !list.IsArray() {
		return nil
	}
	list.ForEach(func(_, value gjson.Result) bool {
		s := Skill{Name: textOf(value, "name"), Path: textOf(value, "path"), Description: textOf(value, "description")}
		if s.Name != "" && s.Path != "" {
			out = append(out, s)
		}
		return len(out) < maxSkills
	})
	return out
}

// textOf returns a string field of an object, "" for any other value.
func textOf(value gjson.Result, field string) string {
	if !value.IsObject() {
		return ""
	}
	if v := value.Get(field); v.Type == gjson.String {
		return strings.Clone(strings.TrimSpace(v.Str))
	}
	return ""
}
