package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/payload"
	"intenthint/store"
)

// emptySite has no turns.
func emptySite(t *testing.T) *site {
	t.Helper()
	s := newSite(t, nil)
	_, err := s.System.Sessions.Remove(t.Context(), "s")
	require.NoError(t, err)
	return s
}

// hostile is markup in every field of a turn, its session and what was said of it.
func hostile(s *consoletest.System, text string) (token string) {
	at := time.Now().Add(-time.Minute)
	f := consoletest.Begin(text, text, text, at, &payload.Classification{
		Intent: text, Name: text, Reason: text, Goal: text, Suggestion: text, Source: text, Model: text, Complexity: text, Confidence: 0.9,
	})
	f.SessionKey, f.AgentID = text, text
	f.Begin.Message = text + " said"
	f.Begin.Conversation = []payload.Turn{{Role: text, Text: text}}
	f.Begin.Skip = text
	f.Begin.Skills = []store.Skill{{Name: text, Path: text}}
	params, _ := json.Marshal(map[string]string{text: text})
	s.Keep(
		f,
		store.Fact{ID: "c", TS: f.TS + 1, RunID: text, SessionID: text, Call: &store.Call{ToolCallID: text, Name: text, Params: params, Result: text, Skill: &store.Skill{Name: text + "2", Path: text}}},
		store.Fact{ID: "d", TS: f.TS + 2, RunID: text, SessionID: text, Call: &store.Call{ToolCallID: text, Name: text, Params: params, Error: text}},
		store.Fact{ID: "e", TS: f.TS + 3, RunID: text, SessionID: text, End: &store.End{Result: text, Error: text}},
		store.Fact{ID: "f", TS: f.TS + 4, RunID: text, SessionID: text, Feedback: &store.Feedback{Verdict: payload.VerdictWrong, Intent: text, By: text}},
		store.Fact{ID: "g", TS: f.TS + 5, SessionID: text, Close: &store.Close{Reason: text}},
	)
	return store.Tokens(text)[0]
}

func TestMarkupInEveryFieldOfATurnStaysText(t *testing.T) {
	const markup = `</li></ol>"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	s := emptySite(t)
	token := hostile(s.System, markup)
	query := url.Values{}
	for _, name := range []string{"intent", "session", "source", "below", "feedback", "hint", "since", "before", "changed", "at", "did", "q", "skip"} {
		query.Set(name, markup)
	}
	for _, row := range []struct {
		path string
		rows int // how often the markup must be seen
	}{
		{"/", 4},
		{"/turns", 4},
		{"/turns?" + query.Encode(), 2},
		{"/sessions", 4},
		{"/sessions?" + query.Encode(), 2},
		{"/sessions/" + token, 20},
		{"/sessions/" + token + "?" + query.Encode(), 20},
	} {
		r := s.get(row.path)
		require.Equal(t, http.StatusOK, r.StatusCode, row.path)
		page := body(t, r)
		require.Equal(t, 1, strings.Count(page, "<script"), row.path)
		require.NotContains(t, page, "<img", row.path)
		require.NotContains(t, page, `"'>`, row.path)
		require.GreaterOrEqual(t, strings.Count(page, "&lt;img src=x onerror=alert(1)&gt;"), row.rows, row.path)
	}
	r := s.post("/turns", url.Values{"session": {token}, "run": {markup}, "wrong": {"1"}, "back": {"/turns?" + query.Encode()}, "next": {markup}})
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	page := body(t, s.get(r.Header.Get("Location")))
	require.Contains(t, page, "Marked wrong")
	require.Equal(t, 1, strings.Count(page, "<script"))
	require.NotContains(t, page, "<img")
}

func TestCharactersThatAreNotVisibleAreNamedInTurns(t *testing.T) {
	s := emptySite(t)
	token := hostile(s.System, "name \u202egnp.exe\u202c \U000E0041 zero\u200bwidth")
	for _, path := range []string{"/", "/turns", "/sessions", "/sessions/" + token} {
		page := body(t, s.get(path))
		for _, r := range []string{"\u202e", "\U000E0041", "\u200b"} {
			shown := regexp.MustCompile(`(value|href)="[^"]*"`).ReplaceAllString(page, "")
			require.False(t, strings.Contains(shown, r), "%q at %s", r, path)
		}
	}
	require.Contains(t, body(t, s.get("/sessions/"+token)), ">U&#43;202E<")
}

var runOf = regexp.MustCompile(`name="run" value="([^"]*)"`)

// runsOf are the runs of a page of turns, in order.
func runsOf(page string) []string {
	out := []string{}
	for _, m := range runOf.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestTurnsAreFiltered(t *testing.T) {
	s := emptySite(t)
	now := time.Now()
	llm := consoletest.Result("CODE_REVIEW", 0.7)
	llm.Source, llm.RunnerUp, llm.RunnerUpConfidence = payload.SourceLLM, "CODE_GIT", 0.21
	s.System.Keep(
		consoletest.Begin("one", "old", "from last week", now.Add(-8*24*time.Hour), consoletest.Result("CHAT", 0.95)),
		consoletest.Begin("one", "review", "is it safe?", now.Add(-3*time.Hour), llm),
		consoletest.Begin("two", "unsure", "hm", now.Add(-2*time.Hour), consoletest.Result("CHAT", 0.3)),
		consoletest.Begin("two", "none", "nobody answered", now.Add(-time.Minute), nil),
		store.Fact{ID: "f1", TS: now.UnixMilli(), RunID: "review", SessionID: "one", Feedback: &store.Feedback{Verdict: payload.VerdictWrong, Intent: "CHAT"}},
		store.Fact{ID: "f2", TS: now.UnixMilli(), RunID: "old", SessionID: "one", Feedback: &store.Feedback{Verdict: payload.VerdictRight}},
	)
	for _, row := range []struct {
		name, query string
		want        []string
	}{
		{"all", "", []string{"none", "unsure", "review", "old"}},
		{"wrong values", "source=x&feedback=x&since=x&below=2&before=x&changed=x", []string{"none", "unsure", "review", "old"}},
		{"intent, as chosen or as corrected", "intent=chat", []string{"unsure", "review", "old"}},
		{"confidence", "below=0.75", []string{"none", "unsure", "review"}},
		{"source", "source=llm", []string{"review"}},
		{"session id", "session=two", []string{"none", "unsure"}},
		{"session key", "session=agent:main:direct:one", []string{"review", "old"}},
		{"marked wrong", "feedback=wrong", []string{"review"}},
		{"marked", "feedback=any", []string{"review", "old"}},
		{"not marked", "feedback=none", []string{"none", "unsure"}},
		{"the last hour", "since=1h", []string{"none"}},
		{"the last week", "since=7d", []string{"none", "unsure", "review"}},
		{"several", "since=24h&intent=CHAT&below=0.5", []string{"unsure"}},
		{"nothing", "intent=NOWHERE", []string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			page := body(t, s.get("/turns?"+row.query))
			require.Equal(t, row.want, runsOf(page))
			if len(row.want) == 0 {
				require.Contains(t, page, "No such turns.")
			}
		})
	}
	page := body(t, s.get("/turns"))
	for _, want := range []string{"no answer", `class="confidence unsaid"`, "wrong: CHAT", ">CODE_REVIEW</a>", "0.70", "is it safe?", ">then CODE_GIT 0.21</span>"} {
		require.Contains(t, page, want)
	}
}

var nextOf = regexp.MustCompile(`<a href="([^"]*)" rel="next">`)

func TestTurnsAreFilteredByTheirHint(t *testing.T) {
	s := emptySite(t)
	now := time.Now()
	turn := func(run, skip string, result *payload.Classification, ago time.Duration) store.Fact {
		f := consoletest.Begin("one", run, "text", now.Add(-ago), result)
		f.Begin.Skip = skip
		return f
	}
	s.System.Keep(
		turn("given", "", consoletest.Result("CHAT", 0.9), 6*time.Minute),
		turn("known", "unchanged", consoletest.Result("CHAT", 0.9), 5*time.Minute),
		turn("unsure", "low_confidence", consoletest.Result("CHAT", 0.3), 4*time.Minute),
		turn("unsure before reasons were recorded", "", consoletest.Result("CHAT", 0.3), 3*time.Minute),
		turn("failed", "classify_failed", nil, 2*time.Minute),
		turn("not asked", "", nil, time.Minute),
	)
	all := []string{"not asked", "failed", "unsure before reasons were recorded", "unsure", "known", "given"}
	for _, row := range []struct {
		hint string
		want []string
	}{
		{"", all},
		{"yes", []string{"given"}},
		{"no", all[:5]},
		{"unchanged", []string{"known"}},
		{"low_confidence", all[2:4]},
		{"classify_failed", []string{"failed"}},
		{"late", []string{}},
		{"of no such reason", all},
	} {
		t.Run(row.hint, func(t *testing.T) {
			require.Equal(t, row.want, runsOf(body(t, s.get("/turns?"+url.Values{"hint": {row.hint}}.Encode()))))
		})
	}
	for _, path := range []string{"/", "/turns"} {
		page := body(t, s.get(path))
		require.Equal(t, 1, strings.Count(page, `<span class="hinted">hint</span>`), path)
		require.Equal(t, 2, strings.Count(page, `href="/turns?hint=low_confidence">no hint: low_confidence</a>`), path)
		for _, want := range []string{">no hint: unchanged</a>", ">no hint: classify_failed</a>", `<span class="unsaid">no hint</span>`} {
			require.Contains(t, page, want, path)
		}
	}
	require.Contains(t, body(t, s.get("/turns?hint=no&since=24h")), `<option value="no" selected>none</option>`)
}

func TestTurnsArePaged(t *testing.T) {
	s := emptySite(t)
	const turns = 70
	var facts []store.Fact
	var want []string
	for i := range turns {
		run := fmt.Sprint("r", turns-1-i)
		want = append(want, run)
		facts = append(facts, consoletest.Begin("s", run, "text", time.Now().Add(-time.Duration(i)*time.Minute), consoletest.Result("CHAT", 0.9)))
	}
	require.NoError(t, s.System.Sessions.Apply(t.Context(), facts))
	var got []string
	pages := 0
	for path := "/turns?intent=CHAT"; path != ""; pages++ {
		page := body(t, s.get(path))
		got = append(got, runsOf(page)...)
		path = ""
		if next := nextOf.FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
			require.Contains(t, path, "intent=CHAT")
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, 3, pages)

	page := body(t, s.get("/"))
	require.Equal(t, 50, strings.Count(page, `<li class="turn"`))
}

func TestTheNumberOfTurnsReadIsStated(t *testing.T) {
	s := emptySite(t)
	for i := range 6 {
		var facts []store.Fact
		for j := range 1001 {
			facts = append(facts, consoletest.Begin(fmt.Sprint("s", i), fmt.Sprint("r", j), "text", time.Now(), consoletest.Result("CHAT", 0.9)))
		}
		if i == 0 {
			facts[0].Begin.Result = consoletest.Result("RARE", 0.9)
		}
		require.NoError(t, s.System.Sessions.Apply(t.Context(), facts))
	}
	page := body(t, s.get("/turns?intent=RARE"))
	require.Contains(t, page, "Only the 5 sessions that changed last were searched, with 5005 turns.")
	further := regexp.MustCompile(`<a href="([^"]*)">Search the ones before`).FindStringSubmatch(page)
	require.NotNil(t, further)
	require.Equal(t, []string{"r0"}, runsOf(body(t, s.get(strings.ReplaceAll(further[1], "&amp;", "&")))))
}

func TestATurnIsJudged(t *testing.T) {
	for _, row := range []struct {
		name   string
		form   url.Values
		status int
		want   payload.Feedback // without the kind, run and who
		shows  string
	}{
		{"right", url.Values{"right": {"1"}}, 303, payload.Feedback{Verdict: payload.VerdictRight}, "Marked right:"},
		{"right, whatever is chosen", url.Values{"right": {"1"}, "intent": {"CHAT"}}, 303, payload.Feedback{Verdict: payload.VerdictRight}, "Marked right:"},
		{"wrong", url.Values{"wrong": {"1"}, "intent": {""}}, 303, payload.Feedback{Verdict: payload.VerdictWrong}, "Marked wrong:"},
		{"wrong, with the right intent", url.Values{"wrong": {"1"}, "intent": {"code_review"}}, 303, payload.Feedback{Verdict: payload.VerdictWrong, Intent: "CODE_REVIEW"}, "Marked wrong, right is CODE_REVIEW:"},
		{"wrong, nothing is right", url.Values{"wrong": {"1"}, "intent": {"OTHER"}}, 303, payload.Feedback{Verdict: payload.VerdictWrong, Intent: "OTHER"}, "right is OTHER"},
		{"an intent that is not there", url.Values{"wrong": {"1"}, "intent": {"NOWHERE"}}, 400, payload.Feedback{}, "not in the catalogue"},
		{"two verdicts", url.Values{"right": {"1"}, "wrong": {"1"}}, 400, payload.Feedback{}, "has no verdict on a turn"},
		{"no verdict", url.Values{}, 400, payload.Feedback{}, "has no verdict on a turn"},
		{"another run", url.Values{"right": {"1"}, "run": {"x"}}, 404, payload.Feedback{}, "not in the store"},
		{"another session", url.Values{"right": {"1"}, "session": {"x"}}, 404, payload.Feedback{}, "not in the store"},
		{"no run", url.Values{"right": {"1"}, "run": {""}}, 400, payload.Feedback{}, "has no verdict on a turn"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t, nil)
			form := url.Values{"session": {"s"}, "run": {"r"}, "back": {"/turns?since=24h"}, "next": {"abc"}}
			maps.Copy(form, row.form)
			r := s.post("/turns", form)
			require.Equal(t, row.status, r.StatusCode)
			if row.status != http.StatusSeeOther {
				require.Contains(t, body(t, r), row.shows)
				require.Empty(t, s.System.Marks())
				return
			}
			row.want.Kind, row.want.RunID, row.want.By = payload.FeedbackHint, "r", "console"
			require.Equal(t, []payload.Feedback{row.want}, s.System.Marks())
			to, err := r.Location()
			require.NoError(t, err)
			require.Equal(t, "/turns", to.Path)
			require.Equal(t, "24h", to.Query().Get("since"))
			require.Equal(t, "e-abc", to.Fragment)
			page := body(t, s.get(to.RequestURI()))
			require.Contains(t, page, row.shows)
			require.Contains(t, page, `data-at="abc"`)
			// The mark is shown and filtered by before the store has it.
			for _, path := range []string{"/", "/turns", "/turns?feedback=" + row.want.Verdict, "/sessions/s"} {
				require.Contains(t, body(t, s.get(path)), `class="mark `, path)
			}
			require.Empty(t, runsOf(body(t, s.get("/turns?feedback=none"))))
		})
	}
}

func TestTheOppositeMarkUndoesAndLaterOnesOfOthersCount(t *testing.T) {
	s := newSite(t, nil)
	form := url.Values{"session": {"s"}, "run": {"r"}, "wrong": {"1"}}
	s.post("/turns", form)
	form.Del("wrong")
	form.Set("right", "1")
	s.post("/turns", form)
	require.Len(t, s.System.Marks(), 2)
	require.Equal(t, []string{"r"}, runsOf(body(t, s.get("/turns?feedback=right"))))
	s.System.Keep(store.Fact{ID: "f", TS: time.Now().Add(time.Second).UnixMilli(), RunID: "r", SessionID: "s", Feedback: &store.Feedback{Verdict: payload.VerdictWrong}})
	require.Equal(t, []string{"r"}, runsOf(body(t, s.get("/turns?feedback=wrong"))))
}

func TestAMarkThatTheStreamRefusesIsNoMark(t *testing.T) {
	s := newSite(t, nil)
	s.System.Refuse(errors.New("no stream takes it"))
	r := s.post("/turns", url.Values{"session": {"s"}, "run": {"r"}, "right": {"1"}})
	require.Equal(t, http.StatusBadGateway, r.StatusCode)
	require.Contains(t, body(t, r), "no stream takes it")
	require.NotContains(t, body(t, s.get("/turns")), `class="mark `)
}

func TestAnAddressTellsOfNothingThatDidNotHappen(t *testing.T) {
	s := newSite(t, nil)
	for _, path := range []string{"/turns?did=right", "/deadletters?did=replay&done=1", "/sessions/s?did=wrong"} {
		require.NotContains(t, body(t, s.get(path)), `class="notice"`, path)
	}
	r := s.post("/turns", url.Values{"session": {"s"}, "run": {"r"}, "right": {"1"}, "back": {"https://evil.example/"}})
	require.Regexp(t, `^/\?did=`, r.Header.Get("Location"))
}

func TestPagesOfASystemThatStarts(t *testing.T) {
	s := newSite(t, nil)
	c, err := console.New(console.Options{Configured: "127.0.0.1:8377", Listening: "127.0.0.1:8377", Pages: consoletest.Pages, Parts: func() []console.Part { return nil }})
	require.NoError(t, err)
	s.mux = http.NewServeMux()
	c.Mount(func(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) })
	require.Contains(t, body(t, s.get("/")), "This process is starting.")
	for _, path := range []string{"/turns", "/sessions", "/sessions/s", "/deadletters", "/deadletters/1", "/live", "/triage"} {
		r := s.get(path)
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, path)
		require.Contains(t, body(t, r), "starting", path)
	}
}

func TestARandomSampleIsForMarking(t *testing.T) {
	s := emptySite(t)
	began := time.Now().Add(-time.Hour)
	for i := range 40 {
		session := fmt.Sprint("s", i%7)
		s.System.Keep(consoletest.Begin(session, fmt.Sprint("r", i), fmt.Sprint("message ", i), began.Add(time.Duration(i)*time.Second), &payload.Classification{
			Intent: "MAIL", Name: "Mail", Confidence: 0.9, Source: payload.SourceLocal,
		}))
	}
	require.Contains(t, body(t, s.get("/turns")), `href="/turns?sample=1&amp;since=24h"`)
	page := body(t, s.get("/turns?since=24h&sample=1"))
	require.Equal(t, 10, strings.Count(page, `<li class="card turn"`))
	require.Contains(t, page, "Mark all of them")
	require.Equal(t, page, body(t, s.get("/turns?since=24h&sample=1")), "the same ones again")
}
