package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/payload"
	"intenthint/store"
)

func TestSessionsAreListed(t *testing.T) {
	s := emptySite(t)
	require.Contains(t, body(t, s.get("/sessions")), "No sessions yet.")
	for i, id := range []string{"tour", "garden/1", "other"} {
		s.System.Keep(consoletest.Begin(id, "r", "Water the ＰＬＡＮＴＳ "+id, time.Now().Add(time.Duration(i)*time.Minute), consoletest.Result("CHAT", 0.9)))
	}
	for _, row := range []struct {
		name, query string
		want        []string
	}{
		{"all", "", []string{"other", "garden=2F1", "tour"}},
		{"words, whatever their case and width", "q=plants+GARDEN", []string{"garden=2F1"}},
		{"key", "q=agent:main:direct:tour", []string{"tour"}},
		{"intent", "q=chat", []string{"other", "garden=2F1", "tour"}},
		{"none", "q=nowhere", nil},
		{"beyond the end", "skip=9", nil},
		{"wrong", "skip=-1", []string{"other", "garden=2F1", "tour"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			page := body(t, s.get("/sessions?"+row.query))
			var got []string
			for _, part := range strings.Split(page, `class="open" href="/sessions/`)[1:] {
				got = append(got, part[:strings.IndexByte(part, '"')])
			}
			require.Equal(t, row.want, got)
		})
	}
	for _, name := range []string{"garden=2F1", "garden%2F1", "agent:main:direct:garden%2F1"} {
		r := s.get("/sessions/" + name)
		require.Equal(t, http.StatusOK, r.StatusCode, name)
		require.Contains(t, body(t, r), "garden/1</h1>")
	}
	require.Equal(t, http.StatusNotFound, s.get("/sessions/nobody").StatusCode)
}

func TestManySessionsArePaged(t *testing.T) {
	s := emptySite(t)
	for i := range 101 {
		s.System.Keep(consoletest.Begin(fmt.Sprint("s", i), "r", "text", time.Now(), nil))
	}
	page := body(t, s.get("/sessions?q=text"))
	require.Contains(t, page, "101 sessions")
	require.Equal(t, 100, strings.Count(page, `class="open"`))
	next := nextOf.FindStringSubmatch(page)
	require.NotNil(t, next)
	require.Equal(t, 1, strings.Count(body(t, s.get(strings.ReplaceAll(next[1], "&amp;", "&"))), `class="open"`))
}

func TestASessionIsShownAsAPersonReadsIt(t *testing.T) {
	s := emptySite(t)
	at := time.Now().Add(-time.Hour)
	result := consoletest.Result("CODE_REVIEW", 0.87)
	result.RunnerUp, result.RunnerUpConfidence = "CODE_GIT", 0.12
	result.Suggestion, result.Model, result.Source = "read the diff first", "openai/small", payload.SourceLLM
	f := consoletest.Begin("s", "run-1", "[metadata] is it safe? and more", at, result)
	f.Begin.ModelUse = &payload.ModelUse{Calls: 3, Failed: 1, Tokens: payload.Tokens{In: 1200, Out: 85}}
	f.Begin.Message = "is it safe?"
	f.Begin.Conversation = []payload.Turn{{Role: payload.RoleUser, Text: "before"}, {Role: payload.RoleAssistant, Text: "yes"}}
	f.Begin.Skills = []store.Skill{{Name: "reviewing", Path: "/skills/reviewing/SKILL.md"}, {Name: "unread", Path: "/skills/unread/SKILL.md"}}
	call := func(id, name, failure string) store.Fact {
		return store.Fact{ID: id, TS: f.TS + 10, RunID: "run-1", SessionID: "s", Call: &store.Call{
			ToolCallID: id, Name: name, Params: json.RawMessage(`{"path":"/a","n":9007199254740993}`), Result: "content of " + name, Error: failure, DurationMs: 1500,
			Skill: map[string]*store.Skill{"read": {Name: "reviewing", Path: "/skills/reviewing/SKILL.md"}}[name],
		}}
	}
	long := strings.Repeat("a long answer ", 100)
	known := consoletest.Begin("s", "run-0", "the same again", at.Add(-time.Minute), consoletest.Result("CHAT", 0.9))
	known.Begin.Skip = "unchanged"
	s.System.Keep(
		f, call("a", "read", ""), call("b", "exec", "command not found"),
		store.Fact{ID: "e", TS: f.TS + 65_000, RunID: "run-1", SessionID: "s", End: &store.End{Result: long, Error: "model overloaded"}},
		store.Fact{ID: "f", TS: f.TS + 70_000, RunID: "run-1", SessionID: "s", Feedback: &store.Feedback{Verdict: payload.VerdictWrong, Intent: "CHAT", By: "ada"}},
		consoletest.Begin("s", "run-2", "hm", at.Add(time.Minute), consoletest.Result("CHAT", 0.3)),
		consoletest.Begin("s", "run-3", "lost", at.Add(2*time.Minute), nil), known,
		store.Fact{ID: "z", TS: time.Now().UnixMilli(), SessionID: "s", Close: &store.Close{Reason: "idle"}},
	)
	page := body(t, s.get("/sessions/s"))
	for _, want := range []string{
		"agent:main:direct:s", "ended: idle", "consumer sessions show s",
		">is it safe?</div>", "The whole prompt", "[metadata] is it safe? and more",
		"the classifier read it: 2 messages", "before",
		"CODE_REVIEW", "Name of CODE_REVIEW", "0.87", "close to the example “is it so”", "read the diff first", "llm, openai/small, 250µs; complexity low</dd>",
		"<dt>Runner-up</dt><dd>CODE_GIT 0.12</dd>", "3 model calls, 1 failed; 1200 tokens in, 85 out",
		"reviewing (read), unread", "/skills/reviewing/SKILL.md",
		"2 tool calls", "<code>read</code> 1.5s", "content of read", `&#34;n&#34;: 9007199254740993`,
		`class="failed"`, `<span class="problem">command not found</span>`,
		"took 1m5s", "model overloaded", "wrong, right is CHAT, said ada",
		"too unsure: no hint", "no hint: unchanged", "No answer of the classifier is recorded.",
	} {
		require.Contains(t, page, want)
	}
	require.Equal(t, []string{"run-3", "run-2", "run-1", "run-0"}, runsOf(page))
	require.Contains(t, page, `<details class="fold">`)
	require.Contains(t, page, strings.TrimSpace(long), "the whole text is there")
}

func TestALongSessionIsPagedWithTurnsThatLeftItsDocument(t *testing.T) {
	s := emptySite(t)
	const turns = 120 // the document keeps four
	var facts []store.Fact
	var want []string
	for i := range turns {
		run := fmt.Sprint("r", turns-1-i)
		want = append(want, run)
		facts = append(facts, consoletest.Begin("s", run, "text", time.Now().Add(-time.Duration(i)*time.Minute), consoletest.Result("CHAT", 0.9)))
	}
	require.NoError(t, s.System.Sessions.Apply(t.Context(), facts))
	var got []string
	for path := "/sessions/s"; path != ""; {
		page := body(t, s.get(path))
		require.Equal(t, path != "/sessions/s", strings.Contains(page, "Newest turns"))
		got = append(got, runsOf(page)...)
		path = ""
		if next := nextOf.FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Equal(t, want, got)
}

func TestLengths(t *testing.T) {
	s := emptySite(t)
	at := time.Now().Add(-time.Hour)
	for want, took := range map[string]time.Duration{"0s": 0, "7ms": 7 * time.Millisecond, "1.2s": 1234 * time.Millisecond, "2m3s": 123_400 * time.Millisecond} {
		f := consoletest.Begin(want, "r", "text", at, nil)
		s.System.Keep(f, store.Fact{ID: "e", TS: f.TS + took.Milliseconds(), RunID: "r", SessionID: want, End: &store.End{Result: "done"}})
		require.Contains(t, body(t, s.get("/sessions/"+want)), "took "+want+"<")
	}
}
