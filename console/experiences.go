package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"intenthint/internal/text/fold"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
)

const reviewPath = "/experiences"

// A page shows defaultLimit experiences, and on request up to maxLimit: each is up
// to 14,000 characters long. A search that needs more than the index of approved
// experiences reads readAtOnce at a time.
const (
	defaultLimit = 50
	maxLimit     = knowhub.MaxShown - 1 // one more says that there are more
	readAtOnce   = 1000
)

// query is what the review page lists.
type query struct {
	Status experience.Status
	Words  string // "" for all
	Agent  string // "" for all
	// Session is a session key, "" for all.
	Session string
	Limit   int
	// Sort is the order, "" for the newest first, or of a search the best.
	Sort string
}

// experienceSorts are the orders of experiences.
var experienceSorts = []option{{"", "newest"}, {"task", "task"}, {"confidence", "confidence"}, {"seen", "times seen"}, {"agent", "agent"}, {"oldest", "oldest"}}

// experienceOrder compares experiences by each key.
var experienceOrder = map[string]func(a, b experience.Experience) int{
	"task":       byText(func(e experience.Experience) string { return e.Task }),
	"confidence": byNumber(func(e experience.Experience) float64 { return e.Confidence }),
	"seen":       byNumber(func(e experience.Experience) int { return e.Seen }),
	"agent":      byText(func(e experience.Experience) string { return e.AgentID }),
	"oldest":     byNumber(func(e experience.Experience) int64 { return e.CreatedAt.UnixNano() }),
}

// sortedExperiences bounds the experiences that are sorted: the newest.
const sortedExperiences = 5000

// Sorted returns the page of q in an order.
func (q query) Sorted(sort string) string {
	q.Sort, q.Limit = sort, defaultLimit
	return q.URL()
}

// queryOf reads a query; invalid values get their defaults.
func queryOf(v url.Values) query {
	q := query{
		Status:  experience.Status(v.Get("status")),
		Words:   strings.TrimSpace(v.Get("q")),
		Agent:   strings.TrimSpace(v.Get("agent")),
		Session: strings.TrimSpace(v.Get("session")),
		Sort:    sortOf(v.Get("sort"), experienceSorts),
	}
	if !q.Status.Valid() {
		q.Status = experience.Pending
	}
	q.Limit, _ = strconv.Atoi(v.Get("limit")) // wrong is 0
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, maxLimit)
	return q
}

func (q query) values() url.Values {
	v := url.Values{"status": {string(q.Status)}}
	if q.Words != "" {
		v.Set("q", q.Words)
	}
	if q.Agent != "" {
		v.Set("agent", q.Agent)
	}
	if q.Session != "" {
		v.Set("session", q.Session)
	}
	if q.Sort != "" {
		v.Set("sort", q.Sort)
	}
	if q.Limit != defaultLimit {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Values returns the query as it appears in an address.
func (q query) Values() string { return q.values().Encode() }

// URL returns the page that lists q.
func (q query) URL() string { return reviewPath + "?" + q.values().Encode() }

// Tab returns the page of another status.
func (q query) Tab(s experience.Status) string {
	q.Status, q.Limit = s, defaultLimit
	return q.URL()
}

// Statuses returns the statuses that have a page.
func (query) Statuses() []experience.Status {
	return []experience.Status{experience.Pending, experience.Approved, experience.Rejected}
}

// Narrow reports whether q filters anything out.
func (q query) Narrow() bool { return q.Words != "" || q.Agent != "" || q.Session != "" }

// All returns the page of the same status without a search.
func (q query) All() string {
	return query{Status: q.Status, Limit: defaultLimit}.URL()
}

// card is what a page shows of an experience.
type card struct {
	experience.Experience
	// Undoable means that its decision can still be undone.
	Undoable bool
	// Alone means that the page shows nothing else.
	Alone bool
}

// SameAgent returns the page of experiences of the same agent.
func (c card) SameAgent() string {
	return query{Status: c.Status, Agent: c.AgentID, Limit: defaultLimit}.URL()
}

// SameSession returns the page of experiences of the same session.
func (c card) SameSession() string {
	return query{Status: c.Status, Session: c.SessionKey, Limit: defaultLimit}.URL()
}

// harmless matches texts that a shell takes literally.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:_.@/+-]*$`)

// Command returns the command that shows the session of the experience; ""
// without a session, or if its key is unsafe to paste into a shell.
func (c card) Command() string {
	if !harmless.MatchString(c.SessionKey) {
		return ""
	}
	return "consumer sessions show " + c.SessionKey
}

// Waiting reports whether the experience waits for a decision.
func (c card) Waiting() bool { return c.Status == experience.Pending }

// Rejectable reports whether the experience was approved without a person, who may
// still reject it.
func (c card) Rejectable() bool { return c.Status == experience.Approved && c.DecidedAt.IsZero() }

// Withdrawable reports whether a person approved the experience, which can be taken
// back.
func (c card) Withdrawable() bool { return c.Status == experience.Approved && !c.DecidedAt.IsZero() }

// Times returns how often the experience was seen; 0 if only once.
func (c card) Times() int {
	if c.Seen < 2 {
		return 0
	}
	return c.Seen
}

func cardOf(e experience.Experience, now time.Time) card {
	return card{Experience: e, Undoable: undoable(e, now)}
}

// undoable reports whether a decision about e can be undone.
func undoable(e experience.Experience, now time.Time) bool {
	return e.Status != experience.Pending && !e.DecidedAt.IsZero() && now.Sub(e.DecidedAt) < knowhub.UndoTime
}

// listView is what the review page shows.
type listView struct {
	Query query
	Cards []card
	// More is the page that shows more results, "" for none; Full means that there
	// are more than a page can show.
	More string
	Full bool
	// At is the id of the experience to show first, "" for none.
	At string
	// Sorts are the orders.
	Sorts []sortLink
}

// Reviewed is what the review page reads and changes (contract §12);
// [knowhub.Service] implements it.
type Reviewed interface {
	// List returns at most limit experiences of a status, newest first: those that
	// come after one, or with its zero value from the newest on.
	List(ctx context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error)
	// Find returns at most limit approved experiences that fit the words, but no more
	// than [knowhub.MaxShown], best first; of one agent, unless agent is "".
	Find(ctx context.Context, words, agent string, limit int) ([]experience.Experience, error)
	// Waiting returns how many experiences wait for a person.
	Waiting(ctx context.Context) (int, error)
	// Content returns one experience. The error for an unknown id is
	// [knowhub.ErrUnknown].
	Content(ctx context.Context, id string) (experience.Experience, error)
	// Approve and Reject decide in the name of by. They are idempotent; if a
	// person already decided differently, they return an error.
	Approve(ctx context.Context, id, by string) (experience.Experience, error)
	Reject(ctx context.Context, id, by string) (experience.Experience, error)
	// Withdraw rejects an approved experience, however long ago it was approved.
	Withdraw(ctx context.Context, id, by string) (experience.Experience, error)
	// Delete deletes an experience for good.
	Delete(ctx context.Context, id string) (experience.Experience, error)
	// Undo makes an experience pending again that a person decided about within
	// [knowhub.UndoTime].
	Undo(ctx context.Context, id, by string) (experience.Experience, error)
}

// experiencesPage is the review page.
type experiencesPage struct {
	*http.ServeMux
	of Reviewed
}

// Experiences returns the page on which people review experiences.
func Experiences(of Reviewed) http.Handler {
	p := &experiencesPage{http.NewServeMux(), of}
	p.HandleFunc("GET "+reviewPath, p.list)
	p.HandleFunc("POST "+reviewPath, p.decide)
	p.HandleFunc("GET "+reviewPath+"/{id}", p.show("Experience", "experience.html"))
	p.HandleFunc("GET "+reviewPath+"/{id}/delete", p.show("Delete this experience?", "experiencedelete.html"))
	return p
}

// Waiting implements [waiter].
func (x *experiencesPage) Waiting(ctx context.Context) (int, error) { return x.of.Waiting(ctx) }

func (x *experiencesPage) list(w http.ResponseWriter, r *http.Request) {
	c, experiences := of(r), x.of
	q := queryOf(r.URL.Query())
	found, err := find(r.Context(), experiences, q, q.Limit+1)
	if err != nil {
		c.fail(w, "experiences not listed", err)
		return
	}
	view := listView{Query: q, At: r.URL.Query().Get("at"), Sorts: sortLinks(experienceSorts, q.Sort, q.Sorted)}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		more := q
		more.Limit = min(q.Limit*2, maxLimit)
		if view.Full = q.Limit == maxLimit; !view.Full {
			view.More = more.URL()
		}
	}
	now := time.Now()
	for _, e := range found {
		view.Cards = append(view.Cards, cardOf(e, now))
	}
	p := c.page(r.Context(), "Experiences", reviewPath, view)
	p.Wide = true
	p.Notice = c.notice(r.Context(), experiences, r.URL.Query())
	c.render(w, http.StatusOK, "experiences.html", p)
}

// show returns a page about one experience.
func (x *experiencesPage) show(title, template string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := of(r)
		e, err := x.of.Content(r.Context(), r.PathValue("id"))
		switch {
		case errors.Is(err, knowhub.ErrUnknown):
			c.message(w, http.StatusNotFound, "Experience", "There is no experience with this id.")
			return
		case err != nil:
			c.fail(w, "experience not read", err)
			return
		}
		one := cardOf(e, time.Now())
		one.Alone = true
		p := c.page(r.Context(), title, reviewPath, one)
		p.Notice = c.notice(r.Context(), x.of, r.URL.Query())
		c.render(w, http.StatusOK, template, p)
	}
}

// fail answers with an error page, and logs the error.
func (c *Console) fail(w http.ResponseWriter, what string, err error) {
	c.log.Error("page failed", "reason", what, "error", err)
	c.message(w, http.StatusInternalServerError, "That did not work", "This page cannot be shown at present; see the log.")
}

// find returns at most limit experiences of a query, in its order.
func find(ctx context.Context, experiences Reviewed, q query, limit int) ([]experience.Experience, error) {
	if q.Sort != "" {
		order := q.Sort
		q.Sort = ""
		all, err := find(ctx, experiences, q, sortedExperiences)
		sortBy(all, order, experienceOrder)
		return all[:min(limit, len(all))], err
	}
	if q.Words != "" && q.Session == "" && q.Status == experience.Approved {
		return experiences.Find(ctx, q.Words, q.Agent, limit)
	}
	if !q.Narrow() && limit <= readAtOnce {
		return experiences.List(ctx, q.Status, experience.Experience{}, limit)
	}
	var found []experience.Experience
	for last := (experience.Experience{}); ; {
		some, err := experiences.List(ctx, q.Status, last, readAtOnce)
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			if last = e; !q.fits(e) {
				continue
			}
			if found = append(found, e); len(found) == limit {
				return found, nil
			}
		}
		if len(some) < readAtOnce {
			return found, nil
		}
	}
}

// fits reports whether an experience belongs to the query's agent and session,
// and contains all its words, ignoring case, or has the searched id.
func (q query) fits(e experience.Experience) bool {
	if q.Agent != "" && e.AgentID != q.Agent || q.Session != "" && e.SessionKey != q.Session {
		return false
	}
	if q.Words == e.ID {
		return true
	}
	in := fold.Lower(strings.Join([]string{e.Task, e.Resource, e.Result, e.SessionKey, e.SubmittedBy}, "\n"))
	for word := range strings.FieldsSeq(fold.Lower(q.Words)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}
