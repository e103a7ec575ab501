package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/internal/porttest"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

// gardening are settings with an intent that names a skill.
func gardening(t *testing.T, more map[string]string) map[string]string {
	t.Helper()
	dir := apptest.WriteIntents(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gardening.md"), []byte(`---
triggers: [The user asks how to keep plants.]
examples: [how often do I water my plants, my plants are dry, when do I cut the roses]
---
Follow skill: plants.
`), 0o600))
	out := map[string]string{"HINT_INTENTS_DIR": dir, "HINT_REPEAT": "always"}
	maps.Copy(out, more)
	return out
}

// withSkills is a request of a gateway that lists a skill.
func withSkills(t *testing.T, s *system, run string) payload.Envelope {
	t.Helper()
	env := s.Prompt("s1", run, "how often do I water my plants")
	var ctx map[string]any
	require.NoError(t, json.Unmarshal(env.Ctx, &ctx))
	ctx["availableSkills"] = []any{map[string]any{"name": "plants", "path": "/skills/plants/SKILL.md", "description": "Water."}}
	var err error
	env.Ctx, err = json.Marshal(ctx)
	require.NoError(t, err)
	return env
}

// A skill that a hint names is counted as used once, when the turn reads it, and the
// session tells.
func TestASkillOfAHintIsCountedWhenItIsRead(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	s := start(t, gardening(t, map[string]string{"HINT_HTTP_ADDR": address}))
	for i := range 2 {
		reply := s.Ask(withSkills(t, s, fmt.Sprint("r", i)), time.Minute)
		require.Contains(t, string(reply.Data), "skill: plants (read /skills/plants/SKILL.md: Water.)")
	}
	for i := range 2 {
		call := s.Prompt("s1", "r1", "")
		call.Hook, call.ID = subjects.HookAfterToolCall, fmt.Sprint("c", i)
		call.Event = json.RawMessage(`{"toolName":"read","runId":"r1","toolCallId":"` + call.ID + `","params":{"path":"/skills/plants/SKILL.md"},"result":{"content":[{"type":"text","text":"---\nname: plants\n---\nWater."}]}}`)
		s.Tell(call)
	}
	hinted := func(turn any) any { return turn.(map[string]any)["skillsHinted"] }
	skill := func(used bool) []any {
		return []any{map[string]any{"name": "plants", "path": "/skills/plants/SKILL.md", "used": used}}
	}
	s.Eventually("the turns are in the session", func() bool {
		doc := s.Document("s1")
		history, _ := doc["history"].([]any)
		if len(history) != 1 || len(doc["current"].(map[string]any)["toolCalls"].([]any)) != 2 {
			return false
		}
		require.Equal(t, skill(false), hinted(history[0]))
		require.Equal(t, skill(true), hinted(doc["current"]))
		return true
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	require.NoError(t, err)
	reply, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = reply.Body.Close() }()
	metrics, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	for outcome, n := range map[string]int{"named": 2, "used": 1, "unknown": 0} {
		require.Contains(t, string(metrics), fmt.Sprintf("intenthint_skill_hints_total{outcome=%q} %d\n", outcome, n))
	}
}

// The writer is asked beside the local classifier. While its model is down the hint
// has the intent's prompt.
func TestAWriterBesideTheLocalClassifier(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	s := start(t, gardening(t, map[string]string{
		"HINT_WRITER": "mock/small", "HINT_PROVIDERS": fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()), "HINT_TIMEOUT_MS": "60000",
	}))
	model.Always(providertest.Answer{Status: 500, Message: "down"})
	require.Contains(t, string(s.Ask(withSkills(t, s, "r1"), time.Minute).Data), `Follow skill: plants (read`)
	require.Positive(t, model.Count())
	model.Always(providertest.Answer{Text: `{"instruction": ["Ask which plants they are."]}`})
	reply := s.Ask(withSkills(t, s, "r2"), time.Minute)
	require.Equal(t, "local", reply.Header.Get("Hint-Source"))
	require.Contains(t, string(reply.Data), `\n\nAsk which plants they are.\n\nskill: plants (read /skills/plants/SKILL.md: Water.)\n</intention`)
	asked := model.Count()
	require.Contains(t, string(s.Ask(withSkills(t, s, "r3"), time.Minute).Data), `Ask which plants they are.`)
	require.Equal(t, asked, model.Count(), "an instruction is written once in a session")
}
