package run

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/hint/eligibility"
	"intenthint/payload"
)

var quiet = slog.New(slog.DiscardHandler)

func TestRunsForgetTheOldest(t *testing.T) {
	m := newMemory()
	for i := range maxRuns + 1 {
		known, _, mine := m.join(strconv.Itoa(i), "p")
		require.True(t, mine)
		m.finish(strconv.Itoa(i), known, Answer{Hint: "h", Result: &payload.Classification{}})
	}
	_, _, mine := m.join("1", "p")
	require.False(t, mine)
	_, _, mine = m.join("0", "p")
	require.True(t, mine)
}

func TestLongRunKeysAreHashed(t *testing.T) {
	long := payload.Context{SessionID: "s", RunID: strings.Repeat("r", 1<<20)}
	require.LessOrEqual(t, len(Key(long)), 2*maxIDBytes+1)
	require.Equal(t, Key(long), Key(long))
	other := long
	other.SessionID = "s2"
	require.NotEqual(t, Key(long), Key(other))
	require.Equal(t, "s\x00r1", Key(payload.Context{SessionID: "s", RunID: "r1"}))
	require.Empty(t, Key(payload.Context{SessionID: "s"}))
}

// A prompt may be megabytes; only runs that may be begun again need theirs.
func TestRunsKeepFewPrompts(t *testing.T) {
	const runs = 250 // 25 MB
	long := strings.Repeat("p", 100<<10)
	for _, row := range []struct {
		name string
		a    Answer
		most int
	}{
		{"answered", Answer{Hint: "h", Result: &payload.Classification{}}, 0},
		{"failed", Answer{Skip: "deadline"}, maxPrompts},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, other := newMemory(), NewAnswers(quiet)
			for i := range runs {
				key := strconv.Itoa(i)
				known, first, mine := m.join(key, long)
				require.True(t, mine)
				require.Equal(t, long, first)
				m.finish(key, known, row.a)
				other.Learn(payload.EncodeTurnBegun(key, 1, payload.Context{RunID: key, SessionID: "s"}, payload.TurnBegun{RunID: key, Prompt: long, Hint: row.a.Hint, Skip: string(row.a.Skip), Result: row.a.Result}, 0))
			}
			for _, r := range []*memory{m, other.memory} {
				require.Equal(t, runs, r.cache.Len())
				require.LessOrEqual(t, held(r), row.most)
				require.Equal(t, held(r), r.prompts)
			}
			_, first, _ := m.join(strconv.Itoa(runs-1), "Continue")
			require.Equal(t, row.most > 0, first == long)
		})
	}
}

// held is what the prompts of a memory take.
func held(m *memory) (bytes int) {
	for _, known := range m.cache.Values() {
		bytes += len(known.prompt)
	}
	return bytes
}

func TestPromptsOfForgottenRunsDoNotCount(t *testing.T) {
	m, long, failed := newMemory(), strings.Repeat("p", 1000), Answer{Skip: eligibility.Deadline}
	require.Less(t, maxRuns*len(long), maxPrompts)
	slow, _, _ := m.join("slow", long)
	for i := range 2 * maxRuns {
		key := strconv.Itoa(i)
		known, _, _ := m.join(key, long)
		m.finish(key, known, failed)
	}
	require.Equal(t, maxRuns*len(long), m.prompts)
	require.Equal(t, m.prompts, held(m))
	_, first, _ := m.join(strconv.Itoa(maxRuns), "Continue")
	require.Equal(t, long, first, "there is room for all of them")
	m.finish("slow", slow, failed)
	require.Equal(t, held(m), m.prompts, "a run that is forgotten before it ends")

	// One that is answered, forgotten, and begun again before it ends.
	m = newMemory()
	slow, _, _ = m.join("slow", long)
	m.learn("slow", long, failed)
	for i := range maxRuns {
		m.learn(strconv.Itoa(i), long, failed)
	}
	again, _, mine := m.join("slow", long)
	require.True(t, mine)
	m.finish("slow", slow, failed)
	m.finish("slow", again, failed)
	require.Equal(t, held(m), m.prompts)
}

func TestKeptAnswersRoundTrip(t *testing.T) {
	for _, a := range []Answer{
		{Hint: "intent: A (A)\ncomplexity: low\n\nThe rest.", Result: &payload.Classification{Intent: "A"}, Full: true},
		{Skip: eligibility.LowConfidence, Result: &payload.Classification{Intent: "A"}},
		{Skip: eligibility.Deadline},
		{Hint: "a hint of some other shape"},
		{Hint: "intent: A (A)\n\nThe rest.\n\n" + payload.UntrustedHeader + "\ngoal: g\n"},
	} {
		require.Equal(t, a, compact(a).answer())
		require.Equal(t, a.Final(), compact(a).final())
	}
	one, two := compact(Answer{Hint: "intent: A (A)\n\nrest"}), compact(Answer{Hint: "intent: A (A)\nconfidence: 0.70\n\nrest"})
	require.Equal(t, one.body, two.body, "what hints share is kept once")
}

func TestSkillsThatARunReads(t *testing.T) {
	ctx := payload.Context{RunID: "r1", SessionID: "s"}
	git, deploy := payload.Skill{Name: "git", Path: "/git/SKILL.md"}, payload.Skill{Name: "deploy", Path: "/deploy/SKILL.md"}
	as := NewAnswers(quiet)
	require.False(t, as.UseSkill(ctx, git), "a run that is not known")
	as.Learn(payload.EncodeTurnBegun("e1", 1, ctx, payload.TurnBegun{RunID: "r1", Hint: "h", Result: taken.Result, Skills: []payload.Skill{git, deploy}}, 0))
	require.False(t, as.UseSkill(ctx, payload.Skill{Name: "other", Path: "/other/SKILL.md"}), "one that the hint does not name")
	require.True(t, as.UseSkill(ctx, payload.Skill{Name: "git", Path: "~/git/SKILL.md"}), "by its name")
	require.False(t, as.UseSkill(ctx, git), "again")
	require.True(t, as.UseSkill(ctx, payload.Skill{Name: "Deployment", Path: "/deploy/SKILL.md"}), "by its path")
	as.Amend(Key(payload.Context{RunID: "r2", SessionID: "s"}), Answer{Hint: "h", Skills: []payload.Skill{{Name: "git"}}})
	require.False(t, as.UseSkill(payload.Context{RunID: "r2", SessionID: "s"}, payload.Skill{Name: "other"}), "neither has a path")
	require.False(t, as.UseSkill(payload.Context{RunID: "r3", SessionID: "s"}, git), "another run")
	require.False(t, as.UseSkill(payload.Context{SessionID: "s"}, git), "no run")
}
