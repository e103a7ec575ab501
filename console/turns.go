package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

const turnsPath = "/turns"

// shownTurns is how many turns a page lists: a screen, and a few more.
const shownTurns = 30

// turnQuery selects what the page of turns lists, as it appears in an address.
type turnQuery struct {
	Intent, Source, Session, Feedback string
	// Hint is "yes", "no", or why there was no hint; "" for any.
	Hint string
	// Below is a confidence, "" for any.
	Below string
	// Since is a key of periods, "" for any time.
	Since string
	// Sample is set for the random sample of the turns that the rest selects.
	Sample string
	// Before and Changed identify the next page: the beginning of the last turn,
	// and the last change of the session to continue with; "" on the first page.
	Before, Changed string
	// Sort is the order, "" for the newest first; Skip is where the page begins in another
	// one.
	Sort string
	Skip int
}

// turnSorts are the orders of turns.
var turnSorts = []option{{"", "time"}, {"text", "message"}, {"intent", "intent"}, {"confidence", "confidence"}, {"hint", "hint"}, {"session", "session"}}

// turnOrder compares turns by each key.
var turnOrder = map[string]func(a, b row) int{
	"text": byText(func(r row) string { return r.Text }), "intent": byText(func(r row) string { return r.Intent }),
	"confidence": byNumber(func(r row) float64 {
		if r.Confidence == nil {
			return -1
		}
		return *r.Confidence
	}),
	"hint": byText(func(r row) string { return r.Skip }), "session": byText(func(r row) string { return r.Session }),
}

// period is a time range up to now.
type period struct {
	Value, Name string
	Length      time.Duration
}

var periods = []period{
	{"", "any time", 0},
	{"1h", "the last hour", time.Hour},
	{"24h", "the last 24 hours", 24 * time.Hour},
	{"7d", "the last 7 days", 7 * 24 * time.Hour},
	{"30d", "the last 30 days", 30 * 24 * time.Hour},
}

// periodOf returns the time range of a value, any time for an unknown one.
func periodOf(value string) period {
	for _, p := range periods {
		if p.Value == value {
			return p
		}
	}
	return periods[0]
}

// option is an entry of a list to choose from.
type option struct{ Value, Name string }

var (
	sources = []option{
		{"", "any"},
		{payload.SourceLocal, "local"},
		{payload.SourceEmbedding, "embedding"},
		{payload.SourceLLM, "llm"},
		{payload.SourceSystemOne, "systemone"},
		{payload.SourceFastpath, "fastpath"},
	}
	feedbacks = []option{
		{"", "any or none"},
		{record.FeedbackNone, "none"},
		{record.FeedbackAny, "some"},
		{payload.VerdictRight, "right"},
		{payload.VerdictWrong, "wrong"},
	}
)

// hints are whether a turn got a hint, and the reasons of those that are recorded
// (contract §3, Hint-Skip).
var hints = func() []option {
	out := []option{{"", "any or none"}, {record.HintGiven, "given"}, {record.HintNone, "none"}}
	for _, skip := range record.Skips {
		out = append(out, option{skip, "none: " + skip})
	}
	return out
}()

// known returns a value if it is one of the options, else "".
func known(value string, of []option) string {
	for _, o := range of {
		if o.Value == value {
			return value
		}
	}
	return ""
}

// turnQueryOf reads a query; invalid values are ignored.
func turnQueryOf(v url.Values) turnQuery {
	q := turnQuery{
		Intent: strings.TrimSpace(v.Get("intent")), Session: strings.TrimSpace(v.Get("session")),
		Source: known(v.Get("source"), sources), Feedback: known(v.Get("feedback"), feedbacks), Hint: known(v.Get("hint"), hints), Since: periodOf(v.Get("since")).Value,
	}
	if below, err := strconv.ParseFloat(v.Get("below"), 64); err == nil && below >= 0 && below <= 1 {
		q.Below = strconv.FormatFloat(below, 'f', -1, 64)
	}
	if v.Get("sample") != "" {
		q.Sample = "1"
	}
	if q.Sort = sortOf(v.Get("sort"), turnSorts); q.Sort != "" {
		q.Skip, _ = strconv.Atoi(v.Get("skip")) // wrong is 0
		q.Skip = max(q.Skip, 0)
		return q // other pages of an order are no pages of time
	}
	if _, ok := keyOf(v.Get("before")); ok {
		q.Before = v.Get("before")
	}
	if _, err := strconv.ParseInt(v.Get("changed"), 10, 64); err == nil {
		q.Changed = v.Get("changed")
	}
	return q
}

// keyOf reads the beginning of a turn from an address.
func keyOf(text string) (store.Key, bool) {
	ts, id, ok := strings.Cut(text, "~")
	n, err := strconv.ParseInt(ts, 10, 64)
	return store.Key{TS: n, ID: id}, ok && err == nil
}

// keyText formats the beginning of a turn for an address.
func keyText(k store.Key) string { return strconv.FormatInt(k.TS, 10) + "~" + k.ID }

// Values returns the query as it appears in an address.
func (q turnQuery) Values() string {
	v := url.Values{}
	for name, value := range map[string]string{
		"intent": q.Intent, "source": q.Source, "session": q.Session, "feedback": q.Feedback, "hint": q.Hint,
		"below": q.Below, "since": q.Since, "sample": q.Sample, "before": q.Before, "changed": q.Changed, "sort": q.Sort,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Skip > 0 {
		v.Set("skip", strconv.Itoa(q.Skip))
	}
	return v.Encode()
}

// Sorted returns the first page of q in an order.
func (q turnQuery) Sorted(sort string) string {
	q.Before, q.Changed, q.Sort, q.Skip = "", "", sort, 0
	return q.URL()
}

// URL returns the page that lists q.
func (q turnQuery) URL() string { return strings.TrimSuffix(turnsPath+"?"+q.Values(), "?") }

// First returns the first page of q.
func (q turnQuery) First() string {
	q.Before, q.Changed, q.Skip = "", "", 0
	return q.URL()
}

// Narrow reports whether q filters anything out.
func (q turnQuery) Narrow() bool {
	q.Before, q.Changed, q.Sort, q.Skip = "", "", "", 0
	return q != turnQuery{}
}

// record returns the query to the store.
func (q turnQuery) record(now time.Time) record.Query {
	out := record.Query{
		Filter: record.Filter{Intent: q.Intent, Source: q.Source, Session: q.Session, Feedback: q.Feedback, Hint: q.Hint},
		Limit:  shownTurns,
	}
	if below, err := strconv.ParseFloat(q.Below, 64); err == nil {
		out.Filter.Below = &below
	}
	if q.Sample != "" || q.Sort != "" {
		out.Limit = record.MaxTurns
	}
	if length := periodOf(q.Since).Length; length > 0 {
		out.Filter.Since = now.Add(-length)
	}
	if before, ok := keyOf(q.Before); ok {
		out.Before = &before
	}
	if changed, err := strconv.ParseInt(q.Changed, 10, 64); err == nil {
		out.Changed = time.Unix(0, changed)
	}
	return out
}

// turnsView is what the page of turns shows.
type turnsView struct {
	Query     turnQuery
	Sources   []option
	Feedbacks []option
	Hints     []option
	Periods   []period
	Choices   []choice
	Cards     []turnCard
	// Older is the page of older turns, Further the page of sessions that were not
	// read; "" for none. Sessions and Turns are how many were read.
	Older, Further  string
	Sessions, Turns int
	At              string
	Sorts           []sortLink
	Saved           []link
}

// savedTurns are filters that people often want.
var savedTurns = []struct {
	name string
	q    turnQuery
}{
	{"unsure, not marked", turnQuery{Below: "0.7", Feedback: record.FeedbackNone}},
	{"marked wrong", turnQuery{Feedback: payload.VerdictWrong}},
	{"without a hint", turnQuery{Hint: record.HintNone}},
	{"ten random ones of 24 hours", turnQuery{Since: "24h", Sample: "1"}},
}

// turnCard is a turn that a person may judge.
type turnCard struct {
	row
	// Back is the page to return to; Next is the id of the turn to show then.
	Back, Next string
}

func (c *Console) listTurns(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil {
		return
	}
	q := turnQueryOf(r.URL.Query())
	found, err := c.recent(r.Context(), source, q.record(time.Now()))
	if err != nil {
		c.fail(w, "turns not listed", err)
		return
	}
	view := turnsView{
		Query: q, Sources: sources, Feedbacks: feedbacks, Hints: hints, Periods: periods, Choices: choicesOf(source.Catalog()),
		Sessions: found.Sessions, Turns: found.Turns, At: r.URL.Query().Get("at"),
	}
	if q.Sample != "" {
		found.Entries = record.Draw(found.Entries, record.SampleSize)
		slices.Reverse(found.Entries) // newest first
		found.More, found.Rest = false, time.Time{}
	}
	rows := make([]row, len(found.Entries))
	for i, e := range found.Entries {
		rows[i] = rowOf(e, source.MinConfidence())
	}
	if sortBy(rows, q.Sort, turnOrder); q.Sort != "" && q.Sample == "" {
		rows, found.More = section(rows, q.Skip, shownTurns)
	}
	for _, one := range rows {
		view.Cards = append(view.Cards, turnCard{row: one, Back: q.URL()})
	}
	view.Sorts = sortLinks(turnSorts, q.Sort, q.Sorted)
	for _, s := range savedTurns {
		view.Saved = append(view.Saved, link{Path: s.q.URL(), Name: s.name})
	}
	for i := range view.Cards {
		view.Cards[i].Next = view.Cards[min(i+1, len(view.Cards)-1)].ID
	}
	if found.More {
		older := q
		if q.Sort != "" {
			older.Skip += shownTurns
		} else {
			older.Before = keyText(found.Entries[len(found.Entries)-1].Began())
		}
		view.Older = older.URL()
	}
	if !found.Rest.IsZero() {
		further := q
		further.Before, further.Changed = "", strconv.FormatInt(found.Rest.UnixNano(), 10)
		view.Further = further.URL()
	}
	p := c.page(r.Context(), "Turns", turnsPath, view)
	p.Wide = true
	p.Notice = c.notices.get(r.URL.Query().Get("did"))
	c.render(w, http.StatusOK, "turns.html", p)
}

// recent reads turns, with the marks that the store may not have yet.
func (c *Console) recent(ctx context.Context, source *Source, q record.Query) (record.Page, error) {
	q.MinConfidence = source.MinConfidence()
	q.Amend = func(s store.Summary, turn *store.Turn) { c.marks.amend(s.Token, turn) }
	return record.Recent(ctx, source.Sessions, q)
}
