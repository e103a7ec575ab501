package intents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

func TestSkillMentions(t *testing.T) {
	for _, row := range []struct {
		name, prompt string
		want         []string
	}{
		{"none", "Write code. Skills are good: use them.", nil},
		{"a line of its own", "Write code.\nskill: git-flow\nMore.", []string{"git-flow"}},
		{"a list item", "- skill: git-flow\n* Skill: deploy", []string{"git-flow", "deploy"}},
		{"within a sentence", "Follow skill: git-flow, then skill: deploy.", []string{"git-flow", "deploy"}},
		{"marks around the name", "skill: `git-flow` skill: \"deploy\" skill: 'a'", []string{"git-flow", "deploy", "a"}},
		{"marks around all", "`skill: git-flow` **skill:** deploy", []string{"git-flow", "deploy"}},
		{"no space", "skill:git", []string{"git"}},
		{"other letters", "skill: 園芸.v2 and SKILL: team/deploy:eu", []string{"園芸.v2", "team/deploy:eu"}},
		{"without a name", "skill:\nskill: (none)", []string{"", ""}},
		{"another word", "subskill: git, upskill: x, my-skill: y, skills: z", nil},
		{"at the end", "skill", nil},
		{"only the colon", ":", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, m := range intents.SkillMentions(row.prompt) {
				got = append(got, m.Name)
			}
			require.Equal(t, row.want, got)
		})
	}
}

func TestASkillWithoutANameIsANotice(t *testing.T) {
	_, faults := intents.Parse("x.md", []byte("---\ntriggers: [t]\n---\nFollow skill: git.\n- skill:\nThe skill: (none)\n"))
	require.Len(t, faults, 1)
	require.Equal(t, "x.md:5: skill: without the name of a skill", faults[0].Error())
	require.Equal(t, intents.Notice, faults[0].Severity)
}

func FuzzSkillMentions(f *testing.F) {
	for _, s := range []string{"skill: `git-flow`.", "Skill:**", "skill:skill: a", "skill: 'a", "xskill: a", "skill: \xff", "ſkill: a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		at := 0
		for _, m := range intents.SkillMentions(prompt) {
			require.LessOrEqual(t, at, m.Start)
			require.Less(t, m.Start, m.End)
			require.LessOrEqual(t, m.End, len(prompt))
			require.Contains(t, prompt[m.Start:m.End], m.Name)
			at = m.End
		}
	})
}

func TestSkillsOfACatalogue(t *testing.T) {
	c := intents.NewCatalog([]intents.Intent{
		{ID: "CODE", Prompt: "Follow skill: Git, then `skill: svn`, then skill: "},
		{ID: "MORE", Prompt: "See skill: git and skill: hg."},
		{ID: intents.FallbackID, Prompt: "skill: chat"},
	})
	want := []string{"chat", "git", "hg", "svn"}
	require.Equal(t, want, c.Skills())
	require.Equal(t, want, c.Without([]string{"MORE"}).Skills(), "one list for all agents")
	require.Equal(t, want, c.WithExamples(nil).Skills())
	require.Empty(t, intents.NewCatalog(nil).Skills())
}
