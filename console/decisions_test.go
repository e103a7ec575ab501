package console_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/decide"
)

// Rubrics of these tests.
const (
	aboutCards = "aaaaaaaaaaaa"
	cardsOnce  = "bbbbbbbbbbbb"
	topics     = "cccccccccccc"
)

// answersSite is a site where three questions are answered.
func answersSite(t *testing.T) (*site, *consoletest.Answers) {
	t.Helper()
	s := newSite(t, nil)
	a := new(consoletest.Answers)
	a.Ask(aboutCards, "card-aaaa", `{"type":"noul","instructions":"Is it about a <bank> card?"}`)
	a.Ask(cardsOnce, "card-bbbb", `{"type":"noul","instructions":"About cards?"}`)
	a.Ask(topics, "topic-cccc", `{"type":"choice","criteria":{"refund":"wants money back","lost_card":null,"rates":null}}`)
	s.System.Answers = a
	s.System.Show(s.Console)
	return s, a
}

var space = regexp.MustCompile(`\s+`)

// words returns a page without its tags.
func words(page string) string {
	return space.ReplaceAllString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "), " ")
}

func TestDecisionsAreOff(t *testing.T) {
	c, err := console.New(console.Options{Configured: "127.0.0.1:8377", Listening: "127.0.0.1:8377", Pages: consoletest.Pages, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s := newSite(t, nil)
	s.System.Answers, s.mux = nil, http.NewServeMux()
	s.System.Show(c)
	c.Mount(func(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) })
	r := s.get("/decisions")
	require.Equal(t, http.StatusNotFound, r.StatusCode)
	require.Contains(t, body(t, r), "HINT_DECIDE=")
}

func TestRubrics(t *testing.T) {
	s, a := answersSite(t)
	for i := range 4 {
		id := a.Decide(aboutCards, i, decide.Model, "where is my card?", "true", "false", 0.9, time.Duration(i+1)*time.Hour)
		a.Change(id, func(e *decide.Entry) {
			if i < 3 {
				e.Mark = &decide.Mark{ID: id, Label: []string{"true", "true", "false"}[i]}
			}
		})
	}
	a.Decide(aboutCards, 9, decide.Local, "a song", "false", "true", 0.99, time.Minute)
	a.Decide(cardsOnce, 1, decide.Model, "old", "false", "true", 0.99, 20*24*time.Hour)
	a.Stand(aboutCards, decide.Standing{Threshold: 0.934})
	a.Stand(cardsOnce, decide.Standing{Back: 1})
	for _, row := range []struct {
		query string
		want  string
	}{
		{"", "card-aaaa boolean aaaaaaaaaaaa 5 1 4 0 alone from 0.93 2 of 3 0 1 minute ago card-bbbb bbbbbbbbbbbb 0 0 0 0 taken back – 0 – topic-cccc cccccccccccc 0 0 0 0 learns – 0 –"},
		{"?since=30d", "alone from 0.93 2 of 3 0 1 minute ago card-bbbb boolean bbbbbbbbbbbb 1 0 1 0 taken back – 0 20 days ago"},
		{"?since=1h", "card-aaaa boolean aaaaaaaaaaaa 1 1 0 0 alone"},
		{"?since=what", "card-aaaa boolean aaaaaaaaaaaa 5 "},
	} {
		require.Contains(t, words(body(t, s.get("/decisions"+row.query))), row.want, row.query)
	}
	a.Cut = time.Now().Add(-90 * time.Minute)
	page := words(body(t, s.get("/decisions")))
	require.Contains(t, page, "Only the decisions since ")
	require.Contains(t, page, "aaaaaaaaaaaa 2 1 1 0 ")
	a.Refused = errors.New("no stream")
	require.Equal(t, http.StatusInternalServerError, s.get("/decisions").StatusCode)
}

func TestARubric(t *testing.T) {
	s, a := answersSite(t)
	for i := range 60 {
		a.Decide(aboutCards, i, decide.Model, fmt.Sprintf("message %d.", i), "true", "false", 0.9, time.Duration(i+1)*time.Minute)
		a.Learn(aboutCards, decide.Record{ID: fmt.Sprintf("%s-%d", aboutCards, i), Teacher: "true", Silent: &decide.Silent{Answer: "true", Probability: 0.97}, At: int64(i + 1)})
	}
	a.Learn(aboutCards, decide.Record{ID: cardsOnce + "-x", Teacher: "true", At: 1})
	late := a.Decide(aboutCards, 100, decide.Model, "late one", "true", "false", 0.9, time.Second)
	a.Change(late, func(e *decide.Entry) { e.Late = true })
	a.Decide(aboutCards, 101, decide.Local, "sure one", "false", "true", 0.98, 2*time.Second)
	hidden := a.Decide(aboutCards, 102, decide.Model, "secret", "true", "false", 0.9, 30*time.Second)
	a.Change(hidden, func(e *decide.Entry) { e.Record, e.Text = "", "" })
	a.Stand(aboutCards, decide.Standing{Threshold: 0.95, Since: 1})
	page := body(t, s.get("/decisions/"+aboutCards))
	text := words(page)
	for _, want := range []string{
		"Is it about a &lt;bank&gt; card? true false", "Right not known: no random decision is marked",
		"Teacher 62 answers, 1000 for 1,000 decisions; 0 tokens in, 0 out; 420ms (median), 420ms (p95)",
		"Student answers alone from a probability of 0.95 on; learns from 61 answers, 1 of them about rubrics that it continues",
		"Agreement 60 of 60 that it is sure of: at least 0.95 (95 %); 0.95 is needed",
		"Answers 62: 1 by the student, 61 by the teacher, 0 from labels alone; 1 late, 0 checks",
		"text not recorded", "student 1, teacher 61", "card-bbbb (bbbbbbbbbbbb)",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "topic-cccc (", "another type")
	require.NotContains(t, text, "late one")
	require.Less(t, strings.Index(text, "sure one"), strings.Index(text, "message 0."), "newest first")
	require.Equal(t, 50, strings.Count(page, `<li class="card turn"`))

	random := body(t, s.get("/decisions/"+aboutCards+"?list=random"))
	now := time.Now()
	today := min(10, int(now.Sub(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local))/time.Minute))
	require.GreaterOrEqual(t, strings.Count(random, `<li class="card turn"`), today-1, "random ones of today, of which one has no text")
	require.LessOrEqual(t, strings.Count(random, `<li class="card turn"`), 10)
	require.Equal(t, http.StatusNotFound, s.get("/decisions/dddddddddddd").StatusCode)
	require.Equal(t, http.StatusOK, s.get("/decisions/"+topics).StatusCode, "known, and not asked lately")
}

func TestDecisionsAreMarked(t *testing.T) {
	s, a := answersSite(t)
	id := a.Decide(aboutCards, 1, decide.Model, "where is my card?", "true", "false", 0.9, time.Minute)
	back := "/decisions/" + aboutCards + "?since=7d"
	mark := func(form url.Values) *http.Response {
		form.Set("id", id)
		form.Set("answer", "true")
		form.Set("back", back)
		return s.post("/decisions", form)
	}
	follow := func(r *http.Response) string {
		require.Equal(t, http.StatusSeeOther, r.StatusCode)
		return words(body(t, s.get(r.Header.Get("Location"))))
	}
	require.Contains(t, follow(mark(url.Values{"wrong": {"1"}, "label": {"false"}})), "Marked wrong, right is false: where is my card?")
	require.Equal(t, &decide.Mark{ID: id, Label: "false", By: "console"}, a.Entry(id).Mark)
	page := follow(mark(url.Values{"right": {"1"}, "label": {"false"}}))
	require.Contains(t, page, "Marked right: where is my card?")
	require.Contains(t, page, "Right 100% of 1 random decisions that were marked; 2% to 100% with 95 % confidence")
	require.Equal(t, "true", a.Entry(id).Mark.Label)
	for _, row := range []struct {
		name string
		form url.Values
		code int
	}{
		{"no verdict", url.Values{"label": {"true"}}, http.StatusBadRequest},
		{"both", url.Values{"right": {"1"}, "wrong": {"1"}}, http.StatusBadRequest},
		{"wrong without a label", url.Values{"wrong": {"1"}}, http.StatusBadRequest},
		{"another label", url.Values{"wrong": {"1"}, "label": {"perhaps"}}, http.StatusBadRequest},
	} {
		require.Equal(t, row.code, mark(row.form).StatusCode, row.name)
	}
	require.Equal(t, http.StatusNotFound, s.post("/decisions", url.Values{"id": {aboutCards + "-no"}, "answer": {"true"}, "right": {"1"}}).StatusCode)
	a.Refused = errors.New("no stream")
	require.Equal(t, http.StatusBadGateway, mark(url.Values{"right": {"1"}}).StatusCode)
}

// A choice has a field for the right label, a question with two labels needs none.
func TestTheRightLabel(t *testing.T) {
	s, a := answersSite(t)
	a.Decide(aboutCards, 1, decide.Model, "x", "true", "false", 0.9, time.Minute)
	require.Contains(t, body(t, s.get("/decisions/"+aboutCards)), `<input type="hidden" name="label" value="false">`)
	id := a.Decide(topics, 1, decide.Model, "x", "refund", "rates", 0.9, time.Minute)
	a.Change(id, func(e *decide.Entry) { e.Probabilities["lost_card"] = 0 })
	page := body(t, s.get("/decisions/"+topics))
	require.Contains(t, page, `name="label" list="labels" required`)
	require.Contains(t, page, `<option value="lost_card">`)
	require.NotContains(t, page, `<input type="hidden" name="label"`)
}

func TestARubricContinuesAnother(t *testing.T) {
	s, a := answersSite(t)
	join := func(rubric, earlier string) *http.Response {
		return s.post("/decisions/"+rubric, url.Values{"earlier": {earlier}})
	}
	r := join(aboutCards, cardsOnce)
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	page := body(t, s.get(r.Header.Get("Location")))
	require.Contains(t, page, "Its student now also learns from "+cardsOnce)
	require.Contains(t, page, `continues <a href="/decisions/`+cardsOnce)
	require.Contains(t, page, `<option value="`+cardsOnce+`" selected>`)
	require.NotContains(t, body(t, s.get("/decisions/"+cardsOnce)), `name="earlier"`, "no circle is offered")
	r = join(aboutCards, "")
	require.Contains(t, body(t, s.get(r.Header.Get("Location"))), "It continues no rubric.")
	require.Equal(t, http.StatusBadRequest, join(aboutCards, "x").StatusCode)
	require.Equal(t, http.StatusConflict, join("dddddddddddd", "").StatusCode)
	a.Refused = decide.ErrOtherQuestion
	require.Contains(t, body(t, join(aboutCards, cardsOnce)), "The two questions have another type")
}
