package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/knowhub/experience"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

func TestTheOverviewShowsTurnsOverTime(t *testing.T) {
	s := emptySite(t)
	now := time.Now()
	for i := range 4 {
		result := consoletest.Result("CHAT", 0.9)
		result.ElapsedMs = []float64{1, 2, 3, 40}[i]
		f := consoletest.Begin("s", fmt.Sprint("r", i), "text", now.Add(-time.Duration(i)*time.Second), result)
		f.Begin.ModelUse = &payload.ModelUse{Calls: 2, Failed: 1, Tokens: payload.Tokens{In: 1000, Out: 500}}
		if i == 3 {
			f.Begin.Skip = "unchanged"
		}
		s.System.Keep(f)
	}
	s.System.Keep(
		store.Fact{ID: "e", TS: now.UnixMilli(), RunID: "r0", SessionID: "s", End: &store.End{Error: "model overloaded"}},
		store.Fact{ID: "c", TS: now.UnixMilli(), RunID: "r0", SessionID: "s", Call: &store.Call{ToolCallID: "c", Name: "exec", Error: "not found"}},
		store.Fact{ID: "u", TS: now.UnixMilli(), RunID: "r0", SessionID: "s", Use: &payload.AgentUse{Calls: 1, Tokens: &payload.AgentTokens{Input: 20_000, Output: 1000}}},
	)
	for _, since := range []string{"", "1h", "24h", "7d", "30d", "what"} {
		page := body(t, s.get("/?since="+since))
		require.Equal(t, 5, strings.Count(page, `class="chart plot"`), since)
		for _, want := range []string{": hint 3, no hint 1<", ": share 75%<", ": p50 3ms, p99 40ms<", ": turns 1, models 4, tools 1<", ": hints 6k, agents 21k<"} {
			require.Equal(t, 1, strings.Count(page, want+"/title>"), "%s %s", since, want)
		}
	}
	require.NotContains(t, body(t, s.get("/?parts")), "chart plot", "what the script polls counts nothing")
	hours := body(t, s.get("/intents?since=24h"))
	require.Equal(t, 24, strings.Count(hours, `class="whole"`))
	require.NotContains(t, hours, "Turns per day")
	require.Contains(t, body(t, s.get("/intents?since=7d")), "Turns per day")
}

func TestSessionsByHint(t *testing.T) {
	s := emptySite(t)
	held := consoletest.Begin("known", "r", "text", time.Now(), consoletest.Result("CHAT", 0.9))
	held.Begin.Skip = "unchanged"
	s.System.Keep(consoletest.Begin("hinted", "r", "text", time.Now(), consoletest.Result("CHAT", 0.9)), held, consoletest.Begin("lost", "r", "text", time.Now(), nil))
	for hint, want := range map[string]string{"": "hinted known lost", "yes": "hinted", "no": "known lost", "unchanged": "known", "sampled": "", "what": "hinted known lost"} {
		page := body(t, s.get("/sessions?"+url.Values{"hint": {hint}}.Encode()))
		var got []string
		for _, name := range []string{"hinted", "known", "lost"} {
			if strings.Contains(page, `href="/sessions/`+name+`"`) {
				got = append(got, name)
			}
		}
		if hint != "sampled" { // whatever reasons there are
			require.Equal(t, want, strings.Join(got, " "), hint)
		}
	}
	page := body(t, s.get("/sessions"))
	require.Contains(t, page, "no hint: unchanged")
	require.Contains(t, page, `<span class="hinted">hint</span>`)
}

// The page of a session leads to what other pages have about it.
func TestASessionLeadsToItsExperiencesAndDeadLetters(t *testing.T) {
	s := emptySite(t)
	s.System.Keep(consoletest.Begin("s", "run-1", "text", time.Now(), nil))
	require.NotContains(t, body(t, s.get("/sessions/s")), "dead letter")
	s.Memory.Add(experience.Experience{Task: "t", Resource: "r", Result: "x", SessionKey: "agent:main:direct:s", Status: experience.Approved})
	s.Memory.Add(experience.Experience{Task: "other", Resource: "r", Result: "x", SessionKey: "agent:main:direct:t"})
	js, layout := s.System.Letters()
	for i, data := range []string{`{"event":{"runId":"run-1"}}`, `{"event":{}}`, `{"event":{}}`} {
		m := nats.NewMsg(layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		m.Data = []byte(data)
		m.Header.Set(subjects.HeaderDLQSubject, "openclaw.event.agent_end.main."+[]string{"s", "s", "t"}[i])
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	page := body(t, s.get("/sessions/s"))
	require.Contains(t, page, `<a href="/experiences?session=agent%3Amain%3Adirect%3As&amp;status=approved">1 approved experience</a>`)
	head, turn, _ := strings.Cut(page, `<ol class="review whole"`)
	require.Contains(t, turn, `<a href="/deadletters/1">dead letter 1</a>`)
	require.Contains(t, head, `<a href="/deadletters/2">dead letter 2</a>`)
	require.NotContains(t, page, "/deadletters/3")
}
