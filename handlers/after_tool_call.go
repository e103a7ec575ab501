package handlers

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/goccy/go-yaml"

	"intenthint/payload"
	"intenthint/store"
)

// maxResult bounds the stored result of a tool, in characters (contract §8).
const maxResult = 200

// afterToolCall adds a tool call to its turn, and the skill it read, if any.
func afterToolCall(d Decoder, env payload.Envelope, ctx payload.Context, f *store.Fact) error {
	e, err := payload.DecodeAfterToolCall(env.Event)
	if err != nil {
		return err
	}
	f.RunID = cmp.Or(e.RunID, f.RunID)
	call := &store.Call{
		ToolCallID: cmp.Or(e.ToolCallID, ctx.ToolCallID),
		Name:       cmp.Or(e.ToolName, ctx.ToolName),
		Params:     d.params(e.Params),
		Error:      d.stored(e.Error),
		DurationMs: e.DurationMs,
	}
	if call.Error == "" {
		call.Skill = skillRead(call.Name, e.Params, e.Text)
		// Copy, so that the text does not hold the event, which may be megabytes.
		call.Result = strings.Clone(d.head(e.Text, maxResult))
	}
	f.Call = call
	return nil
}

// skillRead returns the skill that a tool call has read: a read of a path that
// ends in SKILL.md whose text has front matter with a name; else nil.
func skillRead(tool string, params json.RawMessage, text string) *store.Skill {
	if !strings.EqualFold(tool, "read") {
		return nil
	}
	var p struct {
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
	}
	if len(params) == 0 || json.Unmarshal(params, &p) != nil {
		return nil
	}
	path := cmp.Or(p.Path, p.FilePath)
	if !strings.HasSuffix(path, "SKILL.md") {
		return nil
	}
	name := nameOf(frontMatter(text))
	if name == "" {
		return nil
	}
	return &store.Skill{Name: strings.Clone(name), Path: path}
}

// maxMatter is the longest front matter that the YAML parser gets, in bytes: a
// tool's result is untrusted text, and the parser takes a minute for 100 kB of
// brackets. Front matter with aliases is not parsed, as they can expand without
// limit.
const maxMatter = 4 << 10

// nameOf reads the name in front matter. Skills are written by hand and read
// by tolerant gateways: if the YAML is invalid elsewhere or too long, the name
// line still counts.
func nameOf(matter string) string {
	var meta struct {
		Name string `yaml:"name"`
	}
	if len(matter) <= maxMatter && !strings.Contains(matter, "*") && yaml.Unmarshal([]byte(matter), &meta) == nil {
		return strings.TrimSpace(meta.Name)
	}
	for line := range strings.Lines(matter) {
		if name, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.Trim(strings.TrimSpace(name), `"'`)
		}
	}
	return ""
}

// frontMatter returns the text between a first line --- and the next one; "" if
// either is missing.
func frontMatter(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, opened := strings.CutPrefix(text, "---\n")
	matter, _, closed := strings.Cut("\n"+rest, "\n---")
	if !opened || !closed {
		return ""
	}
	return matter
}
