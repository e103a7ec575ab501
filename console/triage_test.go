package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/triage/state"
)

const (
	roof  = "agent:main:telegram:group:-1001"
	tools = "agent:main:slack:channel:C7"
)

// gateSite is a site whose triage gate is on.
func gateSite(t *testing.T, decided ...state.Decision) *site {
	t.Helper()
	s := newSite(t, nil)
	for _, d := range decided {
		s.System.Gate.Decide(d)
	}
	return s
}

// judged sends a form of the page, and returns the page that follows.
func (s *site) judged(form url.Values) string {
	s.t.Helper()
	if !form.Has("back") {
		form.Set("back", "/triage")
	}
	r := s.post("/triage", form)
	require.Equal(s.t, http.StatusSeeOther, r.StatusCode)
	next := s.get(r.Header.Get("Location"))
	require.Equal(s.t, http.StatusOK, next.StatusCode)
	return body(s.t, next)
}

func TestDecisionsOfTheGate(t *testing.T) {
	s := gateSite(t,
		consoletest.Message(roof, 1, state.Skip, "lunch?", 3*time.Hour),
		consoletest.Message(roof, 2, state.Respond, "who can deploy?", 2*time.Hour),
		consoletest.Message(tools, 3, state.Skip, "nice", 48*time.Hour),
	)
	page := s.judged(url.Values{"group": {roof}, "message": {"1"}, "wrong": {"1"}})
	require.Contains(t, page, "Marked: skipped was wrong.")
	page = s.judged(url.Values{"group": {roof}, "message": {"2"}, "right": {"1"}})
	require.Contains(t, page, "Marked: answered was right.")
	marks, _ := s.System.Gate.Marks(t.Context())
	require.Equal(t, []state.Mark{
		{Group: roof, MessageID: "1", Verdict: state.Respond, By: "console"}, {Group: roof, MessageID: "2", Verdict: state.Respond, By: "console"},
	}, marks)
	for _, row := range []struct {
		name, query string
		said        []string // newest first
		lead        string
	}{
		{"all", "", []string{"who can deploy?", "lunch?", "nice"}, "3 messages: 1 answered, 2 skipped. 2 marked: 1 missed (skipped, but deserved an answer), 0 wasted"},
		{"a group", "?group=" + url.QueryEscape(tools), []string{"nice"}, "3 messages"},
		{"skipped", "?decision=skip", []string{"lunch?", "nice"}, ""},
		{"marked wrong", "?mark=wrong", []string{"lunch?"}, ""},
		{"marked right", "?mark=right", []string{"who can deploy?"}, ""},
		{"not marked", "?mark=none", []string{"nice"}, ""},
		{"lately", "?since=24h", []string{"who can deploy?", "lunch?"}, "2 messages"},
		{"an unknown filter", "?decision=maybe&mark=x&since=y&before=z", []string{"who can deploy?", "lunch?", "nice"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			page := body(t, s.get("/triage"+row.query))
			require.Contains(t, page, row.lead)
			at := 0
			for _, said := range row.said {
				next := strings.Index(page[at:], "Ada: "+said)
				require.Positive(t, next, said)
				at += next
			}
			require.Equal(t, len(row.said), strings.Count(page, "Ada: "))
		})
	}
}

func TestDecisionsByPages(t *testing.T) {
	s := gateSite(t)
	for i := range 1000 {
		s.System.Gate.Decide(consoletest.Message(roof, i, state.Skip, fmt.Sprintf("m%03d.", i), time.Duration(i/3)*time.Minute)) // some at one moment
	}
	var seen []string
	path, pages := "/triage", 0
	for path != "" {
		page := body(t, s.get(path))
		for _, card := range strings.Split(page, "Ada: ")[1:] {
			seen = append(seen, card[:5])
		}
		_, rest, more := strings.Cut(page, `<a href="/triage?before=`)
		if path = ""; more {
			before, _, _ := strings.Cut(rest, `"`)
			path = "/triage?before=" + before
		}
		pages++
	}
	require.Equal(t, 10, pages)
	require.Len(t, seen, 1000)
	once := map[string]bool{}
	for _, m := range seen {
		once[m] = true
	}
	require.Len(t, once, 1000)
	require.Less(t, seen[0], "m003.")
	require.Equal(t, "m999.", seen[999])
}

func TestAMarkShowsBeforeItIsApplied(t *testing.T) {
	s := gateSite(t, consoletest.Message(roof, 1, state.Respond, "lunch?", time.Minute))
	s.System.Gate.Behind = true
	page := s.judged(url.Values{"group": {roof}, "message": {"1"}, "wrong": {"1"}, "back": {"/triage?decision=respond"}})
	require.Contains(t, page, `<span class="mark no">wrong</span>`)
	require.Contains(t, page, "1 wasted (answered, but deserved none)")
}

func TestMessagesThatCannotBeMarked(t *testing.T) {
	s := gateSite(t, consoletest.Message(roof, 1, state.Respond, "lunch?", time.Minute))
	for _, row := range []struct {
		name   string
		form   url.Values
		status int
	}{
		{"no verdict", url.Values{"group": {roof}, "message": {"1"}}, http.StatusBadRequest},
		{"no message", url.Values{"group": {roof}, "right": {"1"}}, http.StatusBadRequest},
		{"unknown", url.Values{"group": {roof}, "message": {"2"}, "right": {"1"}}, http.StatusNotFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.status, s.post("/triage", row.form).StatusCode)
		})
	}
	t.Run("from elsewhere", func(t *testing.T) {
		r := s.post("/triage", url.Values{"group": {roof}, "message": {"1"}, "right": {"1"}}, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site")
		require.Equal(t, http.StatusForbidden, r.StatusCode)
	})
	t.Run("refused", func(t *testing.T) {
		s.System.Gate.Refused = errors.New("stream full")
		r := s.post("/triage", url.Values{"group": {roof}, "message": {"1"}, "right": {"1"}})
		require.Equal(t, http.StatusBadGateway, r.StatusCode)
		require.Contains(t, body(t, r), "stream full")
	})
	marks, _ := s.System.Gate.Marks(t.Context())
	require.Empty(t, marks)
}

func TestTheGateIsOff(t *testing.T) {
	s := newSite(t, nil)
	c, err := console.New(console.Options{Configured: "127.0.0.1:8377", Listening: "127.0.0.1:8377", Pages: consoletest.Pages})
	require.NoError(t, err)
	s.mux = http.NewServeMux()
	s.mux.Handle("/", c)
	c.Show(s.System.Source())
	for _, r := range []*http.Response{s.get("/triage"), s.post("/triage", url.Values{"group": {roof}, "message": {"1"}, "right": {"1"}})} {
		require.Equal(t, http.StatusNotFound, r.StatusCode)
		require.Contains(t, body(t, r), "HINT_TRIAGE")
	}
}

func TestMarkupInADecisionStaysText(t *testing.T) {
	const markup = `</li></ol>"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	d := consoletest.Message(markup, 1, state.Respond, markup, time.Minute)
	d.MessageID, d.Sender, d.Reason, d.Model, d.Agent = markup, markup, markup, markup, markup
	s := gateSite(t, d)
	for _, path := range []string{"/triage", "/triage?" + url.Values{"group": {markup}, "at": {markup}, "did": {markup}}.Encode()} {
		page := body(t, s.get(path))
		require.Equal(t, 1, strings.Count(page, "<script"))
		require.NotContains(t, page, "<img")
		require.NotContains(t, page, `"'>`)
		require.GreaterOrEqual(t, strings.Count(page, "&lt;img src=x onerror=alert(1)&gt;"), 6)
	}
	require.Equal(t, http.StatusSeeOther, s.post("/triage", url.Values{"group": {markup}, "message": {markup}, "wrong": {"1"}}).StatusCode)
}

func TestTriageByDay(t *testing.T) {
	s := gateSite(t,
		consoletest.Message(roof, 1, state.Skip, "lunch?", time.Minute),
		consoletest.Message(roof, 2, state.Respond, "who can deploy?", 72*time.Hour),
	)
	page := body(t, s.get("/triage"))
	require.Contains(t, page, "Decided in 210ms (median), 210ms (p95).")
	rows := regexp.MustCompile(`<th scope="row">(\d{4}-\d{2}-\d{2})</th><td>1</td>`).FindAllStringSubmatch(page, -1)
	require.Len(t, rows, 2)
	require.Greater(t, rows[0][1], rows[1][1], "the newest first")
}
