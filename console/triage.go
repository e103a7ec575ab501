package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/internal/access"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/triage/state"
)

const triagePath = "/triage"

// shownDecisions is how many decisions a page lists.
const shownDecisions = 100

// Decided are the decisions of the gates of all consumers (contract §11); [state.Store]
// implements it.
type Decided interface {
	Decisions(ctx context.Context, since time.Time, yield func(state.Decision) error) error
	Decision(ctx context.Context, group, messageID string) (d state.Decision, ok bool, err error)
	Marks(ctx context.Context) ([]state.Mark, error)
}

// triagePage is the page of the triage gate.
type triagePage struct {
	*http.ServeMux
	shared   Decided
	mark     func(ctx context.Context, said payload.Feedback) error
	opinions opinions
}

// Triage returns the page of the triage gate. mark publishes a person's mark on a
// message, and returns once it is stored.
func Triage(shared Decided, mark func(ctx context.Context, said payload.Feedback) error) http.Handler {
	t := &triagePage{http.NewServeMux(), shared, mark, newOpinions()}
	t.HandleFunc("GET "+triagePath, t.list)
	t.HandleFunc("POST "+triagePath, t.judge)
	return t
}

// opinions are the marks of the last minute, by row id: normally the shared
// state has them within a second, but events may lag.
type opinions struct{ byRow *lru.Cache[string, opinion] }

// opinion is the verdict that a person gave on a page.
type opinion struct {
	right string
	at    time.Time
}

func newOpinions() opinions { return opinions{newCache[string, opinion](maxMarks)} }

func (o opinions) add(d state.Decision, right string) {
	o.byRow.Add(decided{Decision: d}.ID(), opinion{right, time.Now()})
}

// amend returns a person's verdict on a decision; stored is the one in the
// shared state.
func (o opinions) amend(d state.Decision, stored string) string {
	if found, ok := o.byRow.Get(decided{Decision: d}.ID()); ok && time.Since(found.at) < markLife {
		return found.right
	}
	return stored
}

// Values of the mark in a [triageQuery] other than a verdict.
const (
	unmarked    = "none"
	markedRight = payload.VerdictRight
	markedWrong = payload.VerdictWrong
)

var (
	decisions = []option{{"", "any"}, {state.Respond, "answered"}, {state.Skip, "skipped"}}
	judged    = []option{{"", "any or none"}, {unmarked, "none"}, {markedRight, "right"}, {markedWrong, "wrong"}}
)

// triageQuery selects the decisions that a page lists.
type triageQuery struct {
	// Group is a session key; Verdict and Mark are keys of decisions and judged,
	// Since one of periods. "" is any.
	Group, Verdict, Mark, Since string
	// Before is the decision after which the page continues, "" on the first page.
	Before string
	// Sort is the order, "" for the newest first; Skip is where the page begins in another
	// one.
	Sort string
	Skip int
}

// triageSorts are the orders of decisions.
var triageSorts = []option{{"", "time"}, {"text", "message"}, {"group", "group"}, {"decision", "decision"}, {"reason", "reason"}, {"took", "time taken"}}

// triageOrder compares decisions by each key.
var triageOrder = map[string]func(a, b decided) int{
	"text": byText(func(d decided) string { return d.Text }), "group": byText(func(d decided) string { return d.Group }),
	"decision": byText(func(d decided) string { return d.Verdict }), "reason": byText(func(d decided) string { return d.Reason }),
	"took": byNumber(func(d decided) float64 { return d.ElapsedMs }),
}

// Sorted returns the first page of q in an order.
func (q triageQuery) Sorted(sort string) string {
	q.Before, q.Sort, q.Skip = "", sort, 0
	return q.URL()
}

func triageQueryOf(v url.Values) triageQuery {
	q := triageQuery{
		Group: strings.TrimSpace(v.Get("group")), Verdict: known(v.Get("decision"), decisions), Mark: known(v.Get("mark"), judged),
		Since: periodOf(v.Get("since")).Value,
	}
	if q.Sort = sortOf(v.Get("sort"), triageSorts); q.Sort != "" {
		q.Skip, _ = strconv.Atoi(v.Get("skip")) // wrong is 0
		q.Skip = max(q.Skip, 0)
		return q // other pages of an order are no pages of time
	}
	if _, ok := keyOf(v.Get("before")); ok {
		q.Before = v.Get("before")
	}
	return q
}

// URL returns the page that lists q.
func (q triageQuery) URL() string {
	v := url.Values{}
	for name, value := range map[string]string{"group": q.Group, "decision": q.Verdict, "mark": q.Mark, "since": q.Since, "before": q.Before, "sort": q.Sort} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Skip > 0 {
		v.Set("skip", strconv.Itoa(q.Skip))
	}
	return strings.TrimSuffix(triagePath+"?"+v.Encode(), "?")
}

// First returns the first page of q.
func (q triageQuery) First() string {
	q.Before, q.Skip = "", 0
	return q.URL()
}

// Narrow reports whether q filters anything out.
func (q triageQuery) Narrow() bool {
	q.Before, q.Sort, q.Skip = "", "", 0
	return q != triageQuery{}
}

// has reports whether q lists a decision.
func (q triageQuery) has(d decided) bool {
	before, paged := keyOf(q.Before)
	return (q.Group == "" || q.Group == d.Group) && (q.Verdict == "" || q.Verdict == d.Verdict) &&
		(q.Mark == "" || q.Mark == cmp.Or(d.Opinion(), unmarked)) &&
		(!paged || d.key().Before(before))
}

// decided is a decision about a message, with a person's verdict on it.
type decided struct {
	state.Decision
	// Right is the verdict of a person, "" for none.
	Right string
}

// ID returns a unique id that is valid as an attribute.
func (d decided) ID() string { return rowID(d.Group, d.MessageID) }

// Opinion returns whether a person marked the decision right or wrong; "" if
// nobody did.
func (d decided) Opinion() string {
	switch d.Right {
	case "":
		return ""
	case d.Verdict:
		return markedRight
	}
	return markedWrong
}

// PastTense returns the decision in the past tense.
func (d decided) PastTense() string {
	if d.Verdict == state.Skip {
		return "skipped"
	}
	return "answered"
}

// GroupURL returns the page of the decisions of the same group.
func (d decided) GroupURL() string { return triageQuery{Group: d.Group}.URL() }

// key orders decisions. Its time is in nanoseconds: a busy group has several in one
// millisecond.
func (d decided) key() store.Key { return store.Key{TS: d.Decided.UnixNano(), ID: d.ID()} }

// triageCard is a decision that a person may judge.
type triageCard struct {
	decided
	// Back is the page to return to; Next is the id of the message to show then.
	Back, Next string
}

// groupRow is the tally of a group.
type groupRow struct{ state.Tally }

// dayRow counts the decisions of a day, named like 2026-11-22.
type dayRow struct {
	Day string
	state.Tally
}

// URL returns the page of the group's decisions.
func (g groupRow) URL() string { return triageQuery{Group: g.Group}.URL() }

// MissedURL returns the page of messages that were wrongly skipped.
func (g groupRow) MissedURL() string {
	return triageQuery{Group: g.Group, Verdict: state.Skip, Mark: markedWrong}.URL()
}

// WastedURL returns the page of messages that were wrongly answered.
func (g groupRow) WastedURL() string {
	return triageQuery{Group: g.Group, Verdict: state.Respond, Mark: markedWrong}.URL()
}

// triageView is what the page of the triage gate shows.
type triageView struct {
	Query     triageQuery
	Decisions []option
	Judged    []option
	Periods   []period
	// Total and Groups count the decisions in the period, in all groups.
	Total  state.Tally
	Groups []groupRow
	// Days are the last ones, the newest first.
	Days  []dayRow
	Cards []triageCard
	// Older is the page of older decisions, "" for none.
	Older string
	At    string
	Sorts []sortLink
	Saved []link
}

// savedDecisions are filters that people often want.
var savedDecisions = []struct {
	name string
	q    triageQuery
}{
	{"not marked", triageQuery{Mark: unmarked}},
	{"missed", triageQuery{Verdict: state.Skip, Mark: markedWrong}},
	{"wasted", triageQuery{Verdict: state.Respond, Mark: markedWrong}},
}

func (t *triagePage) list(w http.ResponseWriter, r *http.Request) {
	c := of(r)
	view := triageView{
		Query: triageQueryOf(r.URL.Query()), Decisions: decisions, Judged: judged, Periods: periods, At: r.URL.Query().Get("at"),
	}
	if err := t.read(r.Context(), &view); err != nil {
		c.fail(w, "decisions not listed", err)
		return
	}
	for i := range view.Cards {
		view.Cards[i].Back, view.Cards[i].Next = view.Query.URL(), view.Cards[min(i+1, len(view.Cards)-1)].ID()
	}
	for _, s := range savedDecisions {
		view.Saved = append(view.Saved, link{Path: s.q.URL(), Name: s.name})
	}
	p := c.page(r.Context(), "Triage", triagePath, view)
	p.Wide = true
	p.Notice = c.notices.get(r.URL.Query().Get("did"))
	c.render(w, http.StatusOK, "triage.html", p)
}

// read counts the decisions of a period, and finds the newest ones that a
// query lists.
func (t *triagePage) read(ctx context.Context, view *triageView) error {
	marks, err := t.shared.Marks(ctx)
	if err != nil {
		return err
	}
	verdicts := state.Verdicts(marks)
	var since time.Time
	if length := periodOf(view.Query.Since).Length; length > 0 {
		since = time.Now().Add(-length)
	}
	groups, days := map[string]*groupRow{}, map[string]*dayRow{}
	var found []decided
	err = t.shared.Decisions(ctx, since, func(d state.Decision) error {
		one := decided{d, t.opinions.amend(d, verdicts[state.Message{Group: d.Group, ID: d.MessageID}])}
		if groups[d.Group] == nil {
			groups[d.Group] = &groupRow{state.Tally{Group: d.Group}}
		}
		day := d.Decided.Local().Format(time.DateOnly)
		if days[day] == nil {
			days[day] = &dayRow{Day: day}
		}
		groups[d.Group].Add(d, one.Right)
		days[day].Add(d, one.Right)
		view.Total.Add(d, one.Right)
		if view.Query.has(one) {
			// They come in no order. Only those of this page and before it are kept.
			if found = append(found, one); len(found) > 4*(shownDecisions+view.Query.Skip) {
				found = view.Query.first(found)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		view.Groups = append(view.Groups, *g)
	}
	slices.SortFunc(view.Groups, func(a, b groupRow) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), strings.Compare(a.Group, b.Group))
	})
	view.Total.Price(0)
	for _, d := range days {
		d.Price(0)
		view.Days = append(view.Days, *d)
	}
	slices.SortFunc(view.Days, func(a, b dayRow) int { return strings.Compare(b.Day, a.Day) })
	view.Days = view.Days[:min(len(view.Days), shownDays)]
	found, more := section(view.Query.first(found), view.Query.Skip, shownDecisions)
	if more {
		older := view.Query
		if older.Sort != "" {
			older.Skip += shownDecisions
		} else {
			older.Before = keyText(found[shownDecisions-1].key())
		}
		view.Older = older.URL()
	}
	view.Sorts = sortLinks(triageSorts, view.Query.Sort, view.Query.Sorted)
	for _, d := range found {
		view.Cards = append(view.Cards, triageCard{decided: d})
	}
	return nil
}

// first sorts decisions, and returns those up to the end of the page and one more.
func (q triageQuery) first(found []decided) []decided {
	slices.SortFunc(found, func(a, b decided) int { return b.key().Compare(a.key()) })
	sortBy(found, q.Sort, triageOrder)
	return found[:min(len(found), q.Skip+shownDecisions+1)]
}

// judge publishes the verdict of a form on a decision, and redirects
// back.
func (t *triagePage) judge(w http.ResponseWriter, r *http.Request) {
	c := of(r)
	if !c.parseForm(w, r) {
		return
	}
	j := judgement{back: localPath(r.PostForm.Get("back")), next: r.PostForm.Get("next")}
	group, id := r.PostForm.Get("group"), r.PostForm.Get("message")
	wrong := r.PostForm.Has(payload.VerdictWrong)
	if group == "" || id == "" || !wrong && !r.PostForm.Has(payload.VerdictRight) {
		c.message(w, http.StatusBadRequest, "Not understood", "The form has no verdict on a message.")
		return
	}
	d, ok, err := t.shared.Decision(r.Context(), group, id)
	switch {
	case err != nil:
		c.fail(w, "decision not read", err)
		return
	case !ok:
		c.message(w, http.StatusNotFound, "Message", "The decision about this message is not stored any more.")
		return
	}
	// The right decision is this one, or the opposite.
	right := d.Verdict
	if wrong {
		right = other(d.Verdict)
	}
	if err := t.mark(r.Context(), payload.Feedback{Group: group, MessageID: id, Verdict: right, By: reviewer}); err != nil {
		c.log.Error("message not marked", "group", group, "message", id, "error", err)
		c.message(w, http.StatusBadGateway, "Not marked", "The stream did not take the mark: "+err.Error())
		return
	}
	c.log.Info("message marked", "verdict", right, "group", group, "message", id, "client", access.Client(r.RemoteAddr))
	t.opinions.add(d, right)
	did := c.notices.add(notice{Text: fmt.Sprintf("Marked: %s was %s.", decided{Decision: d}.PastTense(), decided{d, right}.Opinion()), Task: line(d.Text)})
	http.Redirect(w, r, j.goBack(did), http.StatusSeeOther) //nolint:gosec // of localPath
}

func other(verdict string) string {
	if verdict == state.Skip {
		return state.Respond
	}
	return state.Skip
}
