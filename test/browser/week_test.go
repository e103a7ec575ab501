//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// aWeek is a system with the turns of a week, of several kinds.
func aWeek(t *testing.T) *consoletest.System {
	t.Helper()
	s := consoletest.NewSystem(t)
	now := time.Now()
	n := 0
	turn := func(session, text, intent, name, reason string, confidence float64, ago time.Duration) store.Fact {
		n++
		var result *payload.Classification
		if intent != "" {
			result = &payload.Classification{
				Intent: intent, Name: name, Reason: reason, Goal: text, Confidence: confidence, Complexity: payload.ComplexityLow, Source: payload.SourceLocal, ElapsedMs: 0.274,
			}
		}
		return consoletest.Begin(session, fmt.Sprint("run-", n), text, now.Add(-ago), result)
	}
	review := "close to the example “is this commit safe to ship”"
	calendar := "close to the example “remind me to call the dentist”"
	for i := range 40 {
		ago := time.Duration(i*i) * 6 * time.Minute
		switch i % 4 {
		case 0:
			s.Keep(turn("review", fmt.Sprintf("is pull request %d safe to merge? The tests are green, but I changed the migration by hand.", 200+i), "CODE_REVIEW", "Code Review", review, 0.97-float64(i)*0.01, ago))
		case 1:
			s.Keep(turn("agent:main:telegram:direct:1204", "明天早上九點提醒我澆花", "PRODUCTIVITY_CALENDAR", "Calendar", calendar, 0.99-float64(i)*0.012, ago))
		case 2:
			s.Keep(turn("garden", "what did I tell you about the dentist?", "MEMORY_LOOKUP", "Memory Lookup", "close to the example “which dentist did I tell you I go to”", 0.9-float64(i)*0.015, ago))
		case 3:
			s.Keep(turn("garden", "hm, "+strings.Repeat("and then ", i%5)+"no idea", "OTHER", "Other", "nothing in the message is typical of one intent", 0.62-float64(i)*0.01, ago))
		}
	}
	const group = "agent:main:telegram:group:-1001847"
	for i, said := range []string{"lunch at noon?", "who can look at the deployment? the second server answers 502", "haha", "@Claw what changed since yesterday?"} {
		verdict := "skip"
		if i%2 == 1 {
			verdict = "respond"
		}
		s.Gate.Decide(consoletest.Message(group, i, verdict, said, time.Duration(i)*time.Hour))
	}
	last := turn("garden", "read the notes on the beds, and write down which ones need water before the weekend", "DOCUMENT_WORK", "Document Work", "“notes”, “write” spoke for it", 0.71, 2*time.Minute)
	last.Begin.Conversation = []payload.Turn{{Role: payload.RoleUser, Text: "what did I tell you about the dentist?"}, {Role: payload.RoleAssistant, Text: "You go to Dr. Weiss, on Tuesdays."}}
	last.Begin.Result.Suggestion = "Read the file before you answer."
	last.Begin.Skills = []store.Skill{{Name: "notes", Path: "/home/ada/skills/notes/SKILL.md"}}
	call := func(id, name, params, result, failure string) store.Fact {
		return store.Fact{ID: id, TS: last.TS + 1000, RunID: last.RunID, SessionID: "garden", Call: &store.Call{
			ToolCallID: id, Name: name, Params: json.RawMessage(params), Result: result, Error: failure, DurationMs: 42,
		}}
	}
	s.Keep(
		last, call("c1", "read", `{"path":"notes/beds.md","limit":200}`, "# Beds\nTomatoes: Mon, Thu\nBeans: daily", ""),
		call("c2", "exec", `{"command":"rg --files-with-matches water notes"}`, "", "rg: command not found"),
		store.Fact{ID: "end", TS: last.TS + 8200, RunID: last.RunID, SessionID: "garden", End: &store.End{Result: "The tomatoes and the beans need water. " + strings.Repeat("The others were watered on Thursday and hold out until Monday. ", 15)}},
		store.Fact{ID: "fb1", TS: last.TS + 9000, RunID: last.RunID, SessionID: "garden", Feedback: &store.Feedback{Verdict: payload.VerdictWrong, Intent: "PRODUCTIVITY_TASKS", By: "ada"}},
		store.Fact{ID: "fb2", TS: now.UnixMilli(), RunID: "run-1", SessionID: "review", Feedback: &store.Feedback{Verdict: payload.VerdictRight, By: "console"}},
		turn("agent:main:main", markup, "", "", "", 0, 5*time.Minute),
	)
	s.Answers = answers()
	js, layout := s.Letters()
	for i, reason := range []string{"invalid message: ts is missing", "write data/sessions/garden.json: no space left on device", markup} {
		m := nats.NewMsg(layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		m.Data = []byte(`{"hook":"agent_end","event":{"messages":[{"role":"user","content":"is this safe to merge?"}]},"ctx":{"sessionId":"garden"},"id":"a1b2"}`)
		m.Header.Set(subjects.HeaderDLQReason, reason)
		m.Header.Set(subjects.HeaderDLQSubject, []string{"openclaw.event.agent_end.main.garden", "openclaw.event.agent_end.main.garden", "elsewhere"}[i])
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	return s
}
