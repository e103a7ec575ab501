package hint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/intents"
	"intenthint/internal/hook"
	"intenthint/payload"
	"intenthint/subjects"
)

// skilled are settings whose intent names skills.
func skilled(more func(*Settings)) *Settings {
	return settingsWith(func(s *Settings) {
		cat := intents.NewCatalog([]intents.Intent{
			{ID: "CHAT", Name: "Chat", Triggers: []string{"t"}, Prompt: "Chat away."},
			{ID: "CODE", Name: "Code", Triggers: []string{"t"}, Prompt: "Follow skill: git, not skill: svn.", Fastpath: intents.Fastpath{Keywords: []string{"commit"}, Hint: "skill: git"}},
		})
		s.Catalog = func(string) *intents.Catalog { return cat }
		s.Repeat = repetition.Rule{Repeat: repetition.Always}
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
	h := hinter(&recorder{}, skilled(func(s *Settings) { s.Repeat = repetition.Rule{Repeat: repetition.Changed, After: 8} }))
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

// picks makes a request say that its skills were picked by names.
func picks(req *hook.Request, names ...string) *hook.Request {
	var ctx map[string]any
	_ = json.Unmarshal(req.Envelope.Ctx, &ctx)
	ctx["skillNames"] = append([]string{}, names...)
	req.Envelope.Ctx, _ = json.Marshal(ctx)
	return req
}

func TestRepliesNameTheSkillsOfTheCatalogue(t *testing.T) {
	h := hinter(&recorder{}, skilled(nil))
	for name, req := range map[string]*hook.Request{
		"a hint": prompt("r1", "code"), "a rule says no": prompt("r2", ""), "another intent": prompt("r3", "chat"),
	} {
		require.Equal(t, []string{"git, svn"}, handle(t, h, req).Header[subjects.HeaderSkills], name)
	}
	h.Use(settingsWith(func(*Settings) {}))
	require.Equal(t, []string{""}, handle(t, h, prompt("r4", "code")).Header[subjects.HeaderSkills], "there are none")
}

func TestTooManySkillsAreNotNamed(t *testing.T) {
	many := skilled(func(s *Settings) {
		body := strings.Builder{}
		for i := range 1000 {
			fmt.Fprintf(&body, "skill: name-%d ", i)
		}
		cat := intents.NewCatalog([]intents.Intent{{ID: "CODE", Triggers: []string{"t"}, Prompt: body.String()}})
		s.Catalog = func(string) *intents.Catalog { return cat }
	})
	h := hinter(&recorder{}, many)
	require.NotContains(t, handle(t, h, prompt("r1", "code")).Header, subjects.HeaderSkills)
}

func TestAGatewayThatPickedByOtherNamesIsAskedForAllSkills(t *testing.T) {
	for name, row := range map[string]struct {
		picked []string
		begun  bool
	}{
		"none":             {nil, false},
		"one is missing":   {[]string{"git"}, false},
		"those":            {[]string{"git", "svn"}, true},
		"those and others": {[]string{"svn", "hg", "git"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			h := hinter(&r, skilled(nil))
			res := handle(t, h, picks(withSkills("r1", "code"), row.picked...))
			require.Equal(t, []string{"git, svn"}, res.Header[subjects.HeaderSkills])
			require.Equal(t, row.begun, res.Decision != nil)
			require.NotContains(t, res.Header, subjects.HeaderSkip)
			if row.begun {
				return
			}
			require.Empty(t, r.turns(t), "the turn has not begun")
			all := handle(t, h, withSkills("r1", "code"))
			require.Contains(t, given(all), "git (read /skills/git/SKILL.md: Commits.)")
			require.Equal(t, payload.SourceLocal, all.Header[subjects.HeaderSource][0], "a first answer")
			require.Len(t, r.turns(t), 1)
		})
	}
}
