package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/experience"
)

func TestWhatWaitsIsCountedOnTheTabs(t *testing.T) {
	s, _, _ := deadSite(t, anEvent, "elsewhere")
	for _, task := range []string{"one", "two", "three"} {
		s.Memory.Add(experience.Experience{Task: task})
	}
	s.Memory.Add(experience.Experience{Task: "approved", Status: experience.Approved})
	for _, path := range []string{"/", "/turns", "/sessions", "/sessions/s", "/intents", "/triage", "/experiences", "/deadletters", "/deadletters/1"} {
		page := body(t, s.get(path))
		require.Contains(t, page, `Experiences <span class="waiting">3</span>`, path)
		require.Contains(t, page, `Dead letters <span class="waiting">2</span>`, path)
	}
	for _, path := range []string{"/", "/?parts"} {
		require.Contains(t, body(t, s.get(path)), `Waiting for a person: <a href="/experiences">Experiences (3)</a>, <a href="/deadletters">Dead letters (2)</a>.`, path)
	}
}

func TestNothingWaitsAndNothingIsCounted(t *testing.T) {
	s := newSite(t, nil)
	s.Memory.Add(experience.Experience{Task: "approved", Status: experience.Approved})
	page := body(t, s.get("/"))
	require.NotContains(t, page, `class="waiting"`)
	require.NotContains(t, page, "Waiting for a person")
	s.Memory.Break() // no count, but a page
	require.Contains(t, body(t, s.get("/turns")), "a message")
}
