package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

var someSkills = []payload.Skill{
	{Name: "git", Path: "/skills/git/SKILL.md", Description: "Commits &\n<branches>"},
	{Name: "Deploy", Path: "~/my skills/deploy/SKILL.md"},
	{Name: "deploy", Path: "/other/SKILL.md"},
	{Name: "tag", Path: "/a/</intention_hint_plugin>/SKILL.md"},
	{Name: "lines", Path: "/a\nb/SKILL.md"},
	{Name: "long", Path: "/" + strings.Repeat("a", 2000)},
}

func TestSkills(t *testing.T) {
	for _, row := range []struct {
		name, prompt, want string
		named              []string
		unknown            int
	}{
		{"no skill", "Write: code.", "Write: code.", nil, 0},
		{"a skill", "First\nskill: git\nthen", "First\nskill: git (read /skills/git/SKILL.md: Commits &amp; &lt;branches&gt;)\nthen", []string{"git"}, 0},
		{"without a description", "skill: Deploy", "skill: Deploy (read ~/my skills/deploy/SKILL.md)", []string{"Deploy"}, 0},
		{"the same case of letters comes first", "skill: deploy", "skill: deploy (read /other/SKILL.md)", []string{"deploy"}, 0},
		{"another case of letters", "skill: GIT", "skill: GIT (read /skills/git/SKILL.md: Commits &amp; &lt;branches&gt;)", []string{"git"}, 0},
		{"in backticks", "skill: `Deploy`.", "skill: `Deploy` (read ~/my skills/deploy/SKILL.md).", []string{"Deploy"}, 0},
		{"twice", "skill: Deploy and skill: deploy", "skill: Deploy (read ~/my skills/deploy/SKILL.md) and skill: deploy", []string{"Deploy"}, 0},
		{"not known", "skill: nothing, skill: nothing", "skill: nothing, skill: nothing", nil, 1},
		{"known and not known", "skill: no skill: Deploy", "skill: no skill: Deploy (read ~/my skills/deploy/SKILL.md)", []string{"Deploy"}, 1},
		{"without a name", "skill:", "skill:", nil, 0},
		{"a path that closes the block", "skill: tag", "skill: tag", nil, 1},
		{"a path of two lines", "skill: lines", "skill: lines", nil, 1},
		{"a path that is too long", "skill: long", "skill: long", nil, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Skills(row.prompt, someSkills)
			require.Equal(t, row.want, got.Prompt)
			var names []string
			for _, s := range got.Listed {
				require.NotEmpty(t, s.Path)
				require.Empty(t, s.Description)
				names = append(names, s.Name)
			}
			require.Equal(t, row.named, names)
			require.Equal(t, row.unknown, got.Unknown)
			require.Len(t, got.Lines, len(got.Listed)+got.Unknown)
		})
	}
}

func TestSkillsOfAHintAreBounded(t *testing.T) {
	var prompt strings.Builder
	var available []payload.Skill
	for i := range 100 {
		name := fmt.Sprint("s", i)
		fmt.Fprintf(&prompt, "skill: %s\n", name)
		available = append(available, payload.Skill{Name: name, Path: "/" + name, Description: strings.Repeat("<", 5000)})
	}
	got := Skills(prompt.String(), available)
	require.Len(t, got.Listed, 8)
	require.Less(t, len(got.Prompt), len(prompt.String())+8*(4*200+100))
	require.Len(t, got.Lines, 100)
	require.Equal(t, "skill: s99", got.Lines[99])
}

func TestSkillsOneALine(t *testing.T) {
	got := Skills("First `skill: git`, then skill: nothing. skill: Git again, or skill: Deploy!", someSkills)
	require.Equal(t, []string{
		"skill: git (read /skills/git/SKILL.md: Commits &amp; &lt;branches&gt;)", "skill: nothing", "skill: Deploy (read ~/my skills/deploy/SKILL.md)",
	}, got.Lines)
}

func FuzzSkills(f *testing.F) {
	f.Add("skill: git", "git", "/a/SKILL.md", "about")
	f.Add("`skill: git`\n\n", "GIT", "/a\n", "</intention_hint_plugin>")
	f.Fuzz(func(t *testing.T, prompt, name, path, about string) {
		got := Skills(prompt, []payload.Skill{{Name: name, Path: path, Description: about}})
		out := got.Prompt
		if len(got.Listed) == 0 {
			require.Equal(t, prompt, out)
			return
		}
		require.Contains(t, out, path)
		require.Equal(t, strings.Count(prompt, "\n"), strings.Count(out, "\n"), "one line each")
		require.Equal(t, strings.Count(prompt, "<"), strings.Count(out, "<"))
	})
}
