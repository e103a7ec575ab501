package payload_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func TestDecodeSkills(t *testing.T) {
	for name, row := range map[string]struct {
		ctx  string
		want []payload.Skill
	}{
		"a list":            {`{"availableSkills":[{"name":"git","path":"/s/git/SKILL.md","description":"Commits."},{"name":"a","path":"b"}]}`, []payload.Skill{{Name: "git", Path: "/s/git/SKILL.md", Description: "Commits."}, {Name: "a", Path: "b"}}},
		"unknown fields":    {`{"availableSkills":[{"name":"git","path":"p","version":7,"x":{}}]}`, []payload.Skill{{Name: "git", Path: "p"}}},
		"without a path":    {`{"availableSkills":[{"name":"git"},{"path":"p"},{"name":"a","path":""}]}`, nil},
		"other types in it": {`{"availableSkills":[null,7,"git",["git"],{"name":7,"path":"p"},{"name":"a","path":"p","description":[]}]}`, []payload.Skill{{Name: "a", Path: "p"}}},
		"none":              {`{"runId":"r"}`, nil},
		"an object":         {`{"availableSkills":{"git":"p"}}`, nil},
		"a text":            {`{"availableSkills":"git"}`, nil},
		"null":              {`{"availableSkills":null}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, payload.DecodeSkills(json.RawMessage(row.ctx)))
		})
	}
}

func TestSkillsAreBounded(t *testing.T) {
	ctx := fmt.Sprintf(`{"availableSkills":[%s{"name":"last","path":"p"}]}`, strings.Repeat(`{"name":"a","path":"b"},`, 1000))
	require.Len(t, payload.DecodeSkills(json.RawMessage(ctx)), 500)
}

func TestSkillsOfATurnBegun(t *testing.T) {
	skills := []payload.Skill{{Name: `g"it`, Path: "/s/SKILL.md"}, {Name: "園", Path: "b"}}
	body := payload.EncodeTurnBegun("e1", 1763680000123, payload.Context{SessionID: "s"}, payload.TurnBegun{Prompt: "p", Hint: "h", Skills: skills}, 0)
	env, err := payload.DecodeEvent("", "", body)
	require.NoError(t, err)
	begun, err := payload.DecodeTurnBegun(env.Event)
	require.NoError(t, err)
	require.Equal(t, skills, begun.Skills)
}

func TestDecodeSkillNames(t *testing.T) {
	for name, row := range map[string]struct {
		ctx  string
		want []string
		ok   bool
	}{
		"a list":        {`{"skillNames":["git","svn"]}`, []string{"git", "svn"}, true},
		"an empty list": {`{"skillNames":[]}`, nil, true},
		"other values":  {`{"skillNames":["git",7,null,["svn"]]}`, []string{"git"}, true},
		"none":          {`{"availableSkills":[]}`, nil, false},
		"a text":        {`{"skillNames":"git"}`, nil, false},
		"null":          {`{"skillNames":null}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			names, ok := payload.DecodeSkillNames(json.RawMessage(row.ctx))
			require.Equal(t, row.want, names)
			require.Equal(t, row.ok, ok)
		})
	}
}
