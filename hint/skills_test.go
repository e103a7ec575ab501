package hint

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/hint/render"
	"intenthint/hint/said"
	"intenthint/intents"
	"intenthint/internal/hook"
	"intenthint/payload"
)

// skilled are settings whose intent names skills.
func skilled(more func(*Settings)) *Settings {
	return settingsWith(func(s *Settings) {
		cat := intents.NewCatalog([]intents.Intent{
			{ID: "CHAT", Name: "Chat", Triggers: []string{"t"}, Prompt: "Chat away."},
			{ID: "CODE", Name: "Code", Triggers: []string{"t"}, Prompt: "Follow skill: git, not skill: svn.", Fastpath: intents.Fastpath{Keywords: []string{"commit"}, Hint: "skill: git"}},
		})
		s.Catalog = func(string) *intents.Catalog { return cat }
		s.Repeat = said.Rule{Repeat: said.Always}
		if more != nil {
			more(s)
		}
	})
}

// withSkills is a request of a gateway that lists skills.
func withSkills(run, text string) *hook.Request {
	req := prompt(run, text)
	ctx, _ := json.Marshal(map[string]any{
		"runId": run, "availableSkills": []any{map[string]any{"name": "git", "path": "/skills/git/SKILL.md", "description": "Commits.", "new": 1}, "other"},
	})
	req.Envelope.Ctx = ctx
	return req
}

func TestSkillsOfAnIntentAreInItsHint(t *testing.T) {
	var r recorder
	h := hinter(&r, skilled(nil))
	res := handle(t, h, withSkills("r1", "code"))
	require.Contains(t, given(res), "Follow skill: git (read /skills/git/SKILL.md: Commits.), not skill: svn.")
	require.Equal(t, []payload.Skill{{Name: "git", Path: "/skills/git/SKILL.md"}}, r.turns(t)[0].Skills)
	require.Equal(t, map[string]int{"named": 1, "unknown": 1}, counted(t, h, "skill_hints_total"))

	retry := handle(t, h, withSkills("r1", "Continue"))
	require.Equal(t, given(res), given(retry))
	require.Equal(t, map[string]int{"named": 1, "unknown": 1}, counted(t, h, "skill_hints_total"), "a retry names nothing new")

	res = handle(t, h, prompt("r2", "code"))
	require.Contains(t, given(res), "Follow skill: git, not skill: svn.", "a gateway that lists none")
	require.Empty(t, r.turns(t)[1].Skills)
}

func TestAHintWithoutTheIntentsPromptNamesNoSkills(t *testing.T) {
	var r recorder
	h := hinter(&r, skilled(func(s *Settings) { s.Style.Form = render.Brief }))
	require.NotContains(t, given(handle(t, h, withSkills("r1", "code"))), "/skills/git")
	h.Use(skilled(nil))
	require.NotContains(t, given(handle(t, h, withSkills("r2", "commit"))), "/skills/git", "a keyword's own hint")
	for _, turn := range r.turns(t) {
		require.Empty(t, turn.Skills)
	}
	require.Empty(t, counted(t, h, "skill_hints_total"))
}

func TestANewListOfSkillsIsNoNewHint(t *testing.T) {
	h := hinter(&recorder{}, skilled(func(s *Settings) { s.Repeat = said.Rule{Repeat: said.Changed, After: 8} }))
	require.NotEmpty(t, given(handle(t, h, prompt("r1", "code"))))
	require.Empty(t, given(handle(t, h, withSkills("r2", "code"))))
}

func TestSkillsOfATurnAreStoredRedacted(t *testing.T) {
	var r recorder
	h := hinter(&r, skilled(func(s *Settings) { s.Redact = true }))
	req := withSkills("r1", "code")
	req.Envelope.Ctx = json.RawMessage(`{"availableSkills":[{"name":"git","path":"/home/ada/skills/git/SKILL.md"}]}`)
	require.Contains(t, given(handle(t, h, req)), "/home/ada/skills/git")
	turn := r.turns(t)[0]
	require.NotContains(t, turn.Hint, "/ada/")
	require.Equal(t, "git", turn.Skills[0].Name)
	require.NotContains(t, turn.Skills[0].Path, "/ada/")
}
