package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"intenthint/internal/access"
	"intenthint/internal/events"
	"intenthint/internal/text"
)

const lettersPath = "/deadletters"

// A page lists shownLetters dead letters, and shows shownBody bytes of the body of
// one.
const (
	shownLetters = 100
	shownBody    = 64 << 10
)

// letterRow is a dead letter in a list.
type letterRow struct {
	events.DeadLetter
	// Problem is why the letter cannot be replayed, "" if it can.
	Problem string
}

// URL returns the page of the letter.
func (l letterRow) URL() string { return lettersPath + "/" + strconv.FormatUint(l.Sequence, 10) }

// HookName returns the hook, "_" if it is unknown.
func (l letterRow) HookName() string { return cmp.Or(l.Hook, "_") }

// Text returns the part of the body that is shown.
func (l letterRow) Text() string {
	body := text.CutBytes(strings.ToValidUTF8(string(l.Body), "\uFFFD"), shownBody)
	if len(l.Body) > shownBody {
		return body
	}
	return indented([]byte(body))
}

// Cut reports whether the body is longer than Text.
func (l letterRow) Cut() bool { return len(l.Body) > shownBody }

// lettersView is what the page of dead letters shows.
type lettersView struct {
	Rows []letterRow // oldest first
	// Total is the number of all dead letters.
	Total int
	// More is the page with newer letters, "" for none.
	More string
	// Sorts are the orders; Cut is set if not all letters were sorted.
	Sort  string
	Sorts []sortLink
	Cut   bool
}

// sortedLetters bounds the dead letters that are sorted.
const sortedLetters = 10_000

// letterSorts are the orders of dead letters.
var letterSorts = []option{{"", "oldest"}, {"newest", "newest"}, {"reason", "reason"}, {"hook", "hook"}, {"subject", "subject"}}

// letterBy compares dead letters by each key.
var letterBy = map[string]func(a, b letterRow) int{
	"newest": byNumber(func(l letterRow) int64 { return -int64(l.Sequence) }), "reason": byText(func(l letterRow) string { return l.Reason }),
	"hook": byText(func(l letterRow) string { return l.Hook }), "subject": byText(func(l letterRow) string { return l.Subject }),
}

// lettersURL returns a page of dead letters.
func lettersURL(name string, value uint64, sort string) string {
	v := url.Values{}
	if sort != "" {
		v.Set("sort", sort)
	}
	if value > 0 {
		v.Set(name, strconv.FormatUint(value, 10))
	}
	return strings.TrimSuffix(lettersPath+"?"+v.Encode(), "?")
}

// list lists the letters after one, oldest first.
func (v *lettersView) list(ctx context.Context, queue *events.DeadLetters, after uint64) error {
	return queue.Each(ctx, events.Selection{After: after}, func(l events.DeadLetter) bool {
		if len(v.Rows) == shownLetters {
			v.More = lettersURL("after", v.Rows[shownLetters-1].Sequence, "")
			return false
		}
		v.Rows = append(v.Rows, letterRowOf(queue, l))
		return true
	})
}

// sort lists letters in another order, after some of them.
func (v *lettersView) sort(ctx context.Context, queue *events.DeadLetters, skip int) error {
	var all []letterRow
	err := queue.Each(ctx, events.Selection{}, func(l events.DeadLetter) bool {
		if v.Cut = len(all) == sortedLetters; v.Cut {
			return false
		}
		row := letterRowOf(queue, l)
		row.Body = nil // not listed
		all = append(all, row)
		return true
	})
	sortBy(all, v.Sort, letterBy)
	rows, more := section(all, skip, shownLetters)
	if v.Rows = rows; more {
		v.More = lettersURL("skip", uint64(max(skip, 0)+shownLetters), v.Sort)
	}
	return err
}

// letterAction is what can be done with a dead letter.
type letterAction string

const (
	replay letterAction = "replay"
	remove letterAction = "delete"
)

// letters returns the dead letters, or answers the request with an error page.
func (c *Console) letters(w http.ResponseWriter, r *http.Request) *events.DeadLetters {
	source := c.shown(w)
	if source == nil {
		return nil
	}
	queue, err := source.DeadLetters(r.Context())
	if err != nil {
		c.failLetters(w, err)
		return nil
	}
	return queue
}

func (c *Console) failLetters(w http.ResponseWriter, err error) {
	c.log.Error("page failed", "reason", "dead letters not read", "error", err)
	c.message(w, http.StatusBadGateway, "Dead letters", "The dead letters cannot be reached: "+err.Error())
}

func (c *Console) listLetters(w http.ResponseWriter, r *http.Request) {
	queue := c.letters(w, r)
	if queue == nil {
		return
	}
	view := lettersView{Sort: sortOf(r.URL.Query().Get("sort"), letterSorts)}
	view.Sorts = sortLinks(letterSorts, view.Sort, func(sort string) string { return lettersURL("", 0, sort) })
	var err error
	if view.Total, err = queue.Count(r.Context(), events.Selection{}); err == nil {
		if view.Sort == "" {
			after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64) // wrong is 0
			err = view.list(r.Context(), queue, after)
		} else {
			skip, _ := strconv.Atoi(r.URL.Query().Get("skip")) // wrong is 0
			err = view.sort(r.Context(), queue, skip)
		}
	}
	if err != nil {
		c.failLetters(w, err)
		return
	}
	p := c.page(r.Context(), "Dead letters", lettersPath, view)
	p.Wide = true
	p.Notice = c.notices.get(r.URL.Query().Get("did"))
	c.render(w, http.StatusOK, "deadletters.html", p)
}

func letterRowOf(queue *events.DeadLetters, l events.DeadLetter) letterRow {
	out := letterRow{DeadLetter: l}
	if err := queue.Replayable(l); err != nil {
		out.Problem = err.Error()
	}
	return out
}

func (c *Console) showLetter(w http.ResponseWriter, r *http.Request) {
	queue := c.letters(w, r)
	if queue == nil {
		return
	}
	sequence, err := strconv.ParseUint(r.PathValue("sequence"), 10, 64)
	if err != nil || sequence == 0 {
		c.message(w, http.StatusNotFound, "Dead letter", "There is no dead letter with this number any more.")
		return
	}
	rows, err := read(r.Context(), queue, []uint64{sequence})
	switch {
	case err != nil:
		c.failLetters(w, err)
	case len(rows) == 0:
		c.message(w, http.StatusNotFound, "Dead letter", "There is no dead letter with this number any more.")
	default:
		c.render(w, http.StatusOK, "deadletter.html", c.page(r.Context(), "Dead letter", lettersPath, rows[0]))
	}
}

// read returns the existing letters among these sequences.
func read(ctx context.Context, queue *events.DeadLetters, sequences []uint64) (rows []letterRow, err error) {
	err = queue.Each(ctx, events.Selection{Sequences: sequences}, func(l events.DeadLetter) bool {
		rows = append(rows, letterRowOf(queue, l))
		return true
	})
	if errors.Is(err, events.ErrNoDeadLetter) {
		err = nil
	}
	return rows, err
}

// letterOrder is one submitted form.
type letterOrder struct {
	Action    letterAction
	Sequences []uint64
	// Sure means that the person has confirmed the action.
	Sure bool
}

// errLetterOrder reports a form without a valid action.
var errLetterOrder = errors.New("no action on dead letters")

func letterOrderOf(form url.Values) (letterOrder, error) {
	o := letterOrder{Action: letterAction(form.Get("action")), Sure: form.Get("sure") != ""}
	for _, value := range form["sequence"] {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n == 0 {
			return o, errLetterOrder
		}
		o.Sequences = append(o.Sequences, n)
	}
	slices.Sort(o.Sequences)
	o.Sequences = slices.Compact(o.Sequences)
	if o.Action != replay && o.Action != remove || len(o.Sequences) > shownLetters {
		return o, errLetterOrder
	}
	return o, nil
}

// confirmView is what the confirmation page for dead letters shows.
type confirmView struct {
	Action letterAction
	Rows   []letterRow
	// Left are the letters that cannot be replayed.
	Left []letterRow
}

// Question returns the question to confirm.
func (v confirmView) Question() string {
	if v.Action == remove {
		return "Delete " + plural(len(v.Rows), "dead letter") + " for good?"
	}
	return "Replay " + plural(len(v.Rows), "dead letter") + "?"
}

// changeLetters asks to confirm the action of a form, and performs it once
// confirmed.
func (c *Console) changeLetters(w http.ResponseWriter, r *http.Request) {
	if !c.parseForm(w, r) {
		return
	}
	o, err := letterOrderOf(r.PostForm)
	if err != nil {
		c.message(w, http.StatusBadRequest, "Not understood", "The form has no valid action.")
		return
	}
	queue := c.letters(w, r)
	if queue == nil {
		return
	}
	var rows []letterRow
	if len(o.Sequences) > 0 { // none would be all
		if rows, err = read(r.Context(), queue, o.Sequences); err != nil {
			c.failLetters(w, err)
			return
		}
	}
	view := confirmView{Action: o.Action}
	for _, row := range rows {
		if o.Action == replay && row.Problem != "" {
			view.Left = append(view.Left, row)
			continue
		}
		view.Rows = append(view.Rows, row)
	}
	if !o.Sure {
		c.render(w, http.StatusOK, "confirm.html", c.page(r.Context(), "Dead letters", lettersPath, view))
		return
	}
	done, err := c.carryOutLetters(r, queue, view)
	if err != nil {
		c.message(w, http.StatusBadGateway, "Dead letters", fmt.Sprintf("%s of %d; then: %s", o.Action.pastTense(done), len(view.Rows), err))
		return
	}
	did := c.notices.add(notice{Text: o.Action.pastTense(done) + "."})
	http.Redirect(w, r, lettersPath+"?"+url.Values{"did": {did}}.Encode(), http.StatusSeeOther)
}

// carryOutLetters performs a confirmed action, as consumer dlq does.
func (c *Console) carryOutLetters(r *http.Request, queue *events.DeadLetters, view confirmView) (done int, err error) {
	for _, row := range view.Rows {
		if view.Action == replay {
			err = queue.Replay(r.Context(), row.DeadLetter)
		} else {
			err = queue.Remove(r.Context(), row.Sequence)
		}
		if err != nil {
			c.log.Error("dead letter not changed", "action", string(view.Action), "sequence", row.Sequence, "error", err)
			return done, fmt.Errorf("dead letter %d: %w", row.Sequence, err)
		}
		c.log.Info("dead letter changed", "action", string(view.Action), "sequence", row.Sequence, "client", access.Client(r.RemoteAddr))
		done++
	}
	return done, nil
}

// pastTense returns the action in the past tense, with the number of letters.
func (a letterAction) pastTense(n int) string {
	past := "Replayed "
	if a == remove {
		past = "Deleted "
	}
	return past + plural(n, "dead letter")
}
