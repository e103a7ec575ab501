//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigurationReload(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	path := filepath.Join(s.dir, "openclaw.json")
	s.env["HINT_CONFIG"] = path
	s.env["HINT_AGENTS"] = "*" // the environment wins
	config := func(text string) {
		write(t, path, `// An openclaw.json as people write it.
{
	gateway: {port: 18789},
	plugins: {entries: {'intention-hint': {enabled: true, config: {
		agents: ['nobody'],
		`+text+`
	}}}},
}`)
	}
	config(`allowedChatTypes: ["direct"],`)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	group := func() string {
		run := unique("run")
		r := g.ask(turn{session: unique("s"), run: run, prompt: "Hello there.", ctx: object{"sessionKey": "agent:main:telegram:group:-1", "channelId": "-1"}})
		return r.Header.Get("Hint-Skip")
	}
	require.Equal(t, "chat_type", group())

	config(`allowedChatTypes: ["direct", "group"],`)
	require.Eventually(t, func() bool { return group() == "" }, patient, 5*tick, "groups must be allowed now")

	config(`allowedChatTypes: ["party"],`)
	p.logs("party")
	require.Empty(t, group(), "a wrong value keeps the last good configuration")
	write(t, path, `{plugins: {entries: `)
	p.logs("HINT_CONFIG", "error")
	require.Empty(t, group(), "a broken file keeps the last good configuration")

	config(`allowedChatTypes: ["direct", "group"], deniedChatIds: ["telegram:telegram:group:-1"],`)
	require.Eventually(t, func() bool { return group() == "chat_id" }, patient, 5*tick, "a valid file must be loaded")

	// Some editors write in place.
	require.NoError(t, os.WriteFile(path, []byte(`{allowedChatTypes: ["direct", "group"], timeoutMs: 900}`), 0o600))
	require.Eventually(t, func() bool { return group() == "" }, patient, 5*tick, "the plugin's object alone must be loaded")
	p.stop()
}

// intent returns the text of an intent file.
func intent(id, example, prompt string) string {
	return fmt.Sprintf("---\nid: %s\nname: Name of %s\ntriggers:\n  - The user says %s.\nexamples:\n  - %s\n---\n%s\n", id, id, example, example, prompt)
}

func TestIntentsReload(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	s := newSystem(t, m.settings("llm"))
	dir := filepath.Join(s.dir, "intents")
	s.env["HINT_INTENTS_DIR"] = dir
	write(t, filepath.Join(dir, "weather.md"), intent("WEATHER", "will it rain tomorrow", "Weather prompt, first edition."))
	write(t, filepath.Join(dir, "cooking.md"), intent("COOKING", "a recipe for dumplings", "Cooking prompt."))
	write(t, filepath.Join(dir, "broken.md"), "---\nid: BROKEN\n---\nNo triggers.\n")
	processes := s.serve(2, 2)
	for _, p := range processes {
		p.logs("broken.md", "triggers")
	}
	g := s.gateway()
	// hint lets the model answer with an intent and returns the results, of enough
	// requests to reach every process.
	hint := func(id string) (intents map[string]bool, hints string) {
		m.Always(answered(id, 0))
		intents = map[string]bool{}
		var hintsSb84 strings.Builder
		for range 12 {
			r := g.ask(turn{session: "s1", run: unique("r"), prompt: "Hello there."})
			intents[r.Header.Get("Hint-Intent")] = true
			hintsSb84.WriteString(r.hint)
		}
		hints += hintsSb84.String()
		return intents, hints
	}
	only := func(id, becomes, holds string) func() bool {
		return func() bool {
			intents, hints := hint(id)
			return len(intents) == 1 && intents[becomes] && (holds == "" || strings.Count(hints, holds) == 12)
		}
	}
	require.True(t, only("WEATHER", "WEATHER", "Weather prompt, first edition.")())
	require.True(t, only("BROKEN", "OTHER", "")(), "a file with an error is skipped")

	write(t, filepath.Join(dir, "travel.md"), intent("TRAVEL", "book a train to Rome", "Travel prompt."))
	require.Eventually(t, only("TRAVEL", "TRAVEL", "Travel prompt."), patient, 5*tick, "a new file")

	write(t, filepath.Join(dir, "weather.md"), intent("WEATHER", "will it rain tomorrow", "Weather prompt, second edition."))
	require.Eventually(t, only("WEATHER", "WEATHER", "Weather prompt, second edition."), patient, 5*tick, "an edit")

	write(t, filepath.Join(dir, "weather.md"), "---\nid: WEATHER\ntriggers: [\n---\nWeather prompt, third edition.\n")
	for _, p := range processes {
		p.logs("weather.md")
	}
	require.True(t, only("WEATHER", "WEATHER", "Weather prompt, second edition.")(), "a broken edit keeps the last good version")
	require.True(t, only("TRAVEL", "TRAVEL", "Travel prompt.")())

	write(t, filepath.Join(dir, "weather.md"), intent("WEATHER", "will it rain tomorrow", "Weather prompt, fourth edition."))
	require.Eventually(t, only("WEATHER", "WEATHER", "Weather prompt, fourth edition."), patient, 5*tick, "a repair")

	require.NoError(t, os.Remove(filepath.Join(dir, "travel.md")))
	require.Eventually(t, only("TRAVEL", "OTHER", ""), patient, 5*tick, "a deletion")

	write(t, filepath.Join(dir, "other.md"), intent("OTHER", "anything else", "A fallback of our own."))
	require.Eventually(t, only("TRAVEL", "OTHER", "A fallback of our own."), patient, 5*tick, "the fallback is replaced")
}

func TestTheLocalClassifierLearnsNewIntents(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	dir := filepath.Join(s.dir, "intents")
	s.env["HINT_INTENTS_DIR"] = dir
	write(t, filepath.Join(dir, "weather.md"), intent("WEATHER", "will it rain tomorrow", "Weather prompt."))
	write(t, filepath.Join(dir, "cooking.md"), intent("COOKING", "a recipe for dumplings", "Cooking prompt."))
	s.serve(1, 1)
	g := s.gateway()
	says := func(text, id string) func() bool {
		return func() bool {
			r := g.ask(turn{session: "s1", run: unique("r"), prompt: text})
			return r.Header.Get("Hint-Intent") == id
		}
	}
	require.True(t, says("will it rain tomorrow", "WEATHER")())
	require.False(t, says("please tune the harpsichord", "TUNING")())
	write(t, filepath.Join(dir, "tuning.md"), intent("TUNING", "please tune the harpsichord", "Tuning prompt."))
	require.Eventually(t, says("please tune the harpsichord", "TUNING"), patient, 5*tick)
	require.NoError(t, os.Remove(filepath.Join(dir, "tuning.md")))
	require.Eventually(t, func() bool { return !says("please tune the harpsichord", "TUNING")() }, patient, 5*tick)
}
