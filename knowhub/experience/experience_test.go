package experience_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
)

func valid() experience.Experience {
	return experience.Experience{
		Task: "Deploy the site", Resource: "wrangler", Result: "Use --env production", Confidence: 1, Status: experience.Pending,
		AgentID: "main", SubmittedBy: "jo", SessionKey: "agent:main:main", CreatedAt: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
	}
}

func TestJSON(t *testing.T) {
	got, err := json.Marshal(valid())
	require.NoError(t, err)
	require.Equal(t, `{"id":"","task":"Deploy the site","resource":"wrangler","result":"Use --env production","confidence":1,"status":"pending",`+
		`"agent_id":"main","submitted_by":"jo","session_key":"agent:main:main","created_at":"2026-05-01T12:00:00Z"}`, string(got))
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*experience.Experience)
		want   string
	}{
		{"valid", func(*experience.Experience) {}, ""},
		{"longest task", func(e *experience.Experience) { e.Task = strings.Repeat("記", experience.MaxTask) }, ""},
		{"task too long", func(e *experience.Experience) { e.Task = strings.Repeat("a", experience.MaxTask+1) }, "task must have at most 2000 characters"},
		{"no task", func(e *experience.Experience) { e.Task = "" }, "task must not be blank"},
		{"blank resource", func(e *experience.Experience) { e.Resource = " \n" }, "resource must not be blank"},
		{"only control characters", func(e *experience.Experience) { e.Result = "\x00\x07" }, "result must not be blank"},
		{"only invisible characters", func(e *experience.Experience) { e.Task = "\u200b\u200d\ufeff" }, "task must not be blank"},
		{"agent too long", func(e *experience.Experience) { e.AgentID = strings.Repeat("a", 201) }, "agent_id"},
		{"confidence above 1", func(e *experience.Experience) { e.Confidence = 1.01 }, "confidence must be 0–1"},
		{"no number", func(e *experience.Experience) { e.Confidence = math.NaN() }, "confidence must be 0–1"},
		{"unknown status", func(e *experience.Experience) { e.Status = "maybe" }, "status must be"},
		{"seen less than never", func(e *experience.Experience) { e.Seen = -1 }, "seen"},
		{"many flags", func(e *experience.Experience) { e.Flags = strings.Split("abcdefghijklmnopqrstuvwxyz", "") }, "flags"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := valid()
			tt.change(&e)
			err := e.Normal().Validate()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, experience.ErrInvalid)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestNormal(t *testing.T) {
	e := valid()
	e.Task, e.Resource, e.AgentID = "  a\r\nb\x00 \xff\t", "\u3000記憶\u3000", "ma\nin "
	e.CreatedAt = time.Date(2026, 5, 1, 12, 0, 0, 1_234_567, time.FixedZone("", 3600))
	e.Flags = []string{"b", "a", "", "b"}
	got := e.Normal()
	require.Equal(t, "a\nb \uFFFD", got.Task)
	require.Equal(t, "記憶", got.Resource)
	require.Equal(t, "ma in", got.AgentID)
	require.Equal(t, time.Date(2026, 5, 1, 11, 0, 0, 1_000_000, time.UTC), got.CreatedAt)
	require.Equal(t, []string{"a", "b"}, got.Flags)
	require.Equal(t, []string{"b", "a", "", "b"}, e.Flags, "the original stays")
}

func TestID(t *testing.T) {
	base := experience.ID(valid(), true)
	require.True(t, experience.ValidID(base))
	for _, tt := range []struct {
		name   string
		change func(*experience.Experience)
		shared bool
		same   bool
	}{
		{"nothing", func(*experience.Experience) {}, true, true},
		{"case", func(e *experience.Experience) { e.Task = "DEPLOY the Site" }, true, true},
		{"white space", func(e *experience.Experience) { e.Task = " Deploy\n the  site" }, true, true},
		{"wide letters", func(e *experience.Experience) { e.Resource = "ｗｒａｎｇｌｅｒ" }, true, true},
		{"agent, confidence, status, time", func(e *experience.Experience) {
			e.AgentID, e.Confidence, e.Status, e.CreatedAt, e.SubmittedBy = "other", 0.5, experience.Approved, time.Now(), "mo"
		}, true, true},
		{"task", func(e *experience.Experience) { e.Task = "Deploy the shop" }, true, false},
		{"result", func(e *experience.Experience) { e.Result = "Use --env staging" }, true, false},
		{"a word in another field", func(e *experience.Experience) {
			e.Task, e.Resource = "Deploy the", "site wrangler"
		}, true, false},
		{"not shared", func(*experience.Experience) {}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := valid()
			tt.change(&e)
			require.Equal(t, tt.same, experience.ID(e, tt.shared) == base)
		})
	}
	mine, other := valid(), valid()
	other.AgentID = "other"
	require.NotEqual(t, experience.ID(mine, false), experience.ID(other, false), "an agent's own")
	require.Equal(t, experience.ID(mine, false), experience.ID(mine, false))
}

func TestValidID(t *testing.T) {
	for _, tt := range []struct {
		name, id string
		want     bool
	}{
		{"id", strings.Repeat("0a", 16), true},
		{"empty", "", false},
		{"short", "0a", false},
		{"upper case", strings.Repeat("0A", 16), false},
		{"wildcard", strings.Repeat("0*", 16), false},
		{"path", "../" + strings.Repeat("a", 29), false},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, experience.ValidID(tt.id)) })
	}
}

func FuzzNormal(f *testing.F) {
	f.Add("Deploy\r\nthe site", "wrangler\x00", "ＡＢＣ \xff", "main")
	f.Add("ΐ", "ŉ", "ﬁ", "\u0345")
	f.Fuzz(func(t *testing.T, task, resource, result, agent string) {
		e := experience.Experience{Task: task, Resource: resource, Result: result, AgentID: agent}
		normal := e.Normal()
		require.Equal(t, normal, normal.Normal(), "twice changes nothing")
		for _, shared := range []bool{true, false} {
			require.Equal(t, experience.ID(e, shared), experience.ID(normal, shared))
		}
		data, err := json.Marshal(normal)
		require.NoError(t, err)
		var again experience.Experience
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, normal, again)
	})
}
