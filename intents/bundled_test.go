package intents

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestBundledDefinitions(t *testing.T) {
	t.Parallel()
	require.Empty(t, strs(Lint(BundledFS())))

	c := Bundled()
	require.Same(t, c, Bundled())
	require.GreaterOrEqual(t, len(c.Enabled())+1, 32)
	require.Equal(t, "other.md", c.Fallback().File)
	for _, in := range append([]Intent{c.Fallback()}, c.Enabled()...) {
		require.GreaterOrEqual(t, utf8.RuneCountInString(in.Prompt), 100, in.File)
		if in.ID == FallbackID {
			continue
		}
		require.GreaterOrEqual(t, len(in.Triggers), 3, in.File)
		require.GreaterOrEqual(t, len(in.Examples), 12, in.File)
		cjk := 0
		for _, example := range in.Examples {
			if hasCJK(example) {
				cjk++
			}
		}
		require.GreaterOrEqual(t, cjk, 3, "%s: examples in Chinese, Japanese or Korean", in.File)
	}
}

// maxWords bounds a built-in prompt. It stays in the conversation for good, and says
// only what a model does not know by itself.
const maxWords = 80

func TestBundledPromptsAreShort(t *testing.T) {
	t.Parallel()
	c := Bundled()
	for _, in := range append([]Intent{c.Fallback()}, c.Enabled()...) {
		require.LessOrEqual(t, len(strings.Fields(in.Prompt)), maxWords, in.File)
		require.NotContains(t, in.Prompt, "\n#", "%s: a heading", in.File)
	}
	chat, _ := c.Lookup("CHAT")
	require.NotContains(t, chat.Prompt, "\n", "one line")
}

// Short prompts still name the tools that the turn needs, and what must not happen.
func TestBundledPromptsNameTheirTools(t *testing.T) {
	t.Parallel()
	tools := map[string][]string{
		"AGENT_ADMINISTRATION":  {"gateway's own tools", "cron", "doctor"},
		"AGENT_SKILLS":          {"skills", "`SKILL.md`", "install"},
		"BROWSER_AUTOMATION":    {"browser tools", "snapshot", "fetch tool"},
		"CHAT":                  {"no tools"},
		"CODE_ARCHITECTURE":     {"read and search tools", "search memory", "documentation"},
		"CODE_DEBUGGING":        {"exec tool", "search"},
		"CODE_GIT":              {"exec tool", "reflog", "`--force-with-lease`", "command-line client"},
		"CODE_REVIEW":           {"exec tool", "code host's client"},
		"CODE_WRITING":          {"exec tool", "Edit", "Look up"},
		"CREATIVE_WRITING":      {"Search memory", "read and write tools"},
		"DATA_ANALYSIS":         {"exec tool", "Search memory"},
		"DECISION_ADVICE":       {"Search memory", "the web"},
		"DOCUMENT_WORK":         {"search memory", "write and exec tools"},
		"FILE_MANAGEMENT":       {"exec tool", "device tools", "storage clients"},
		"FINANCE":               {"tool", "Search memory", "official sources"},
		"HEALTH":                {"emergency number", "Search memory", "web search"},
		"HOME_AUTOMATION":       {"smart-home tool", "Search memory", "scheduler"},
		"HUMANITIES":            {"web search", "fetch", "Search memory"},
		"IMAGE_ANALYSIS":        {"image tool", "exec tool", "web search"},
		"IMAGE_GENERATION":      {"image generation or editing tool", "exec tool", "Search memory"},
		"LANGUAGE_LEARNING":     {"Search memory", "write tool", "text-to-speech"},
		"MEDIA":                 {"music or media player skill", "Search memory", "search the web"},
		"MEMORY_COMPARE":        {"memory search", "session history"},
		"MEMORY_EMOTION":        {"Search memory", "session history"},
		"MEMORY_LOOKUP":         {"memory search", "read tool", "No web search"},
		"MEMORY_META":           {"memory search", "write or edit tools"},
		"MEMORY_RECENT":         {"session history", "memory search", "read or exec tools"},
		"MEMORY_TIMELINE":       {"memory search", "exec tool"},
		"OTHER":                 {"memory search"},
		"PRODUCTIVITY_CALENDAR": {"calendar tools", "scheduler or cron tool", "search memory"},
		"PRODUCTIVITY_EMAIL":    {"mail tools", "Search memory", "calendar"},
		"PRODUCTIVITY_TASKS":    {"task tool", "Search memory", "calendar"},
		"RESEARCH_DEVDOCS":      {"read and exec tools", "`--help`", "web search"},
		"RESEARCH_GENERAL":      {"web search", "fetch", "Search memory"},
		"RESEARCH_OPENSOURCE":   {"repository search", "fetch", "exec tool"},
		"RESEARCH_REALTIME":     {"Always fetch", "web search", "Search memory"},
		"SHOPPING":              {"Search memory", "web search", "fetch"},
		"SUMMARIZATION":         {"read tool", "fetch", "transcript tools", "exec tool"},
		"SYSTEM_DIAGNOSTICS":    {"exec tool", "device tools", "Search memory"},
		"SYSTEM_INFRASTRUCTURE": {"exec tool", "dry run", "Search memory"},
		"SYSTEM_SECURITY":       {"exec tool", "search vendor advisories"},
		"TRANSLATION":           {"Search memory", "read and write tools"},
		"TRAVEL":                {"web search", "fetch", "Search memory", "calendar and mail"},
		"TYPO":                  {"read and edit tools", "search memory"},
	}
	c := Bundled()
	for id, words := range tools {
		in, ok := c.Lookup(id)
		require.True(t, ok || id == FallbackID, id)
		if !ok {
			in = c.Fallback()
		}
		for _, word := range words {
			require.Contains(t, in.Prompt, word, id)
		}
		if id != "CHAT" {
			require.Contains(t, in.Prompt, "Never", id)
		}
	}
}

func hasCJK(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			return true
		}
	}
	return false
}

func BenchmarkLoadBundled(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		files, _, err := Load(BundledFS())
		require.NoError(b, err)
		CatalogOf(files)
	}
}
