package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"intenthint/internal/access"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
	"intenthint/payload"
)

// reviewer is the name under which decisions are made: the pages do not know
// users.
const reviewer = payload.ByConsole

// action is an action of the review page's form.
type action string

const (
	approve  action = "approve"
	reject   action = "reject"
	withdraw action = "withdraw"
	undo     action = "undo"
	// destroy deletes for good; its form is the page that asks.
	destroy action = "destroy"
)

// actions are all of them.
var actions = []action{approve, reject, withdraw, undo, destroy}

// status returns the status of an experience after the action.
func (a action) status() experience.Status {
	switch a {
	case approve:
		return experience.Approved
	case reject, withdraw:
		return experience.Rejected
	}
	return experience.Pending
}

// order is one submitted form.
type order struct {
	action action
	ids    []string
	back   query
	// alone means that the form is on the page of a single experience.
	alone bool
}

// errOrder reports a form without a valid action.
var errOrder = errors.New("no action")

// orderOf reads a form. A button of one experience has its id as value; the
// buttons for the selected ones are named "selected" and have the action as value.
func orderOf(form url.Values) (order, error) {
	back, _ := url.ParseQuery(form.Get("back")) // wrong is the default
	o := order{back: queryOf(back), alone: form.Get("alone") != ""}
	for _, a := range actions {
		if ids := form[string(a)]; len(ids) > 0 {
			o.action, o.ids = a, ids
		}
	}
	if a := action(form.Get("selected")); a == approve || a == reject {
		o.action, o.ids = a, form["id"]
	}
	o.ids = slices.Clone(o.ids)
	slices.Sort(o.ids)
	o.ids = slices.Compact(o.ids)
	switch {
	case o.action == "" || len(o.ids) > maxLimit:
		return o, errOrder
	case slices.ContainsFunc(o.ids, func(id string) bool { return !experience.ValidID(id) }):
		return o, errOrder
	}
	return o, nil
}

// decide performs the action of a form, and redirects to the page that shows
// the result.
func (x *experiencesPage) decide(w http.ResponseWriter, r *http.Request) {
	c, experiences := of(r), x.of
	if !c.parseForm(w, r) {
		return
	}
	o, err := orderOf(r.PostForm)
	if err != nil {
		c.message(w, http.StatusBadRequest, "Not understood", "The form has no valid action.")
		return
	}
	var at string
	if !o.alone {
		listed, err := find(r.Context(), experiences, o.back, o.back.Limit)
		if err != nil {
			c.fail(w, "experiences not listed", err)
			return
		}
		at = after(listed, o)
	}
	var done, not []string
	for _, id := range o.ids {
		if err := c.carryOut(r.Context(), experiences, o.action, id); err != nil {
			c.log.Warn("experience not decided", "action", o.action, "id", id, "error", err)
			not = append(not, id)
			continue
		}
		c.log.Info("experience decided", "action", o.action, "id", id, "client", access.Client(r.RemoteAddr))
		done = append(done, id)
	}
	http.Redirect(w, r, o.next(done, not, at), http.StatusSeeOther) //nolint:gosec // a path of this server with a query of known fields
}

// carryOut performs an action on one experience.
func (c *Console) carryOut(ctx context.Context, experiences Reviewed, a action, id string) (err error) {
	switch a {
	case approve:
		_, err = experiences.Approve(ctx, id, reviewer)
	case reject:
		_, err = experiences.Reject(ctx, id, reviewer)
	case withdraw:
		_, err = experiences.Withdraw(ctx, id, reviewer)
	case undo:
		_, err = experiences.Undo(ctx, id, reviewer)
	case destroy:
		_, err = experiences.Delete(ctx, id)
	}
	return err
}

// after returns the id of the experience to show first when an order is done:
// the next one that stays in the list, or at the end the one before. An
// experience that returns to the list is shown again.
func after(listed []experience.Experience, o order) string {
	if len(o.ids) > 0 && o.action.status() == o.back.Status {
		return o.ids[0]
	}
	decided := func(e experience.Experience) bool { return slices.Contains(o.ids, e.ID) }
	last := -1
	for i, e := range listed {
		if decided(e) {
			last = i
		}
	}
	if last+1 < len(listed) {
		return listed[last+1].ID
	}
	for _, e := range slices.Backward(listed[:max(last, 0)]) {
		if !decided(e) {
			return e.ID
		}
	}
	return ""
}

// next returns the page to show when an order is done, with the data for the
// notice.
func (o order) next(done, not []string, at string) string {
	to, v := url.URL{Path: reviewPath}, o.back.values()
	if o.alone && len(o.ids) == 1 && o.action != destroy {
		to.Path, v = reviewPath+"/"+o.ids[0], url.Values{}
	}
	v.Set("did", string(o.action))
	if len(done) > 0 {
		v.Set("done", strings.Join(done, ","))
	}
	if len(not) > 0 {
		v.Set("not", strings.Join(not, ","))
	}
	if at != "" {
		v.Set("at", at)
		to.Fragment = "e-" + at
	}
	to.RawQuery = v.Encode()
	return to.String()
}

// notice reports the result of a form. It is made from the state of the
// experiences, so that a forged address cannot report anything that did not
// happen.
type notice struct {
	// Text is what was done, "" for nothing.
	Text string
	// Task is the task of the experience, if there was only one.
	Task string
	// Undo are the ids whose decision can be undone.
	Undo []string
	// Back is the query of the page.
	Back string
	// Alone is set on the page of one experience.
	Alone bool
	// Problems are those of the experiences that were not changed.
	Problems []problem
}

// problem is why an experience was not changed.
type problem struct{ Task, Why string }

// notice makes the notice of a page from an address made by [order.next]; nil
// for none.
func (c *Console) notice(ctx context.Context, experiences Reviewed, v url.Values) *notice {
	did := action(v.Get("did"))
	if !slices.Contains(actions, did) {
		return nil
	}
	n := &notice{Back: queryOf(v).values().Encode(), Alone: v.Get("status") == ""}
	now := time.Now()
	var tasks []string
	for _, id := range ids(v.Get("done")) {
		e, err := experiences.Content(ctx, id)
		switch {
		case did == destroy && errors.Is(err, knowhub.ErrUnknown):
			e.Task = "it is gone for good"
		case did == destroy || err != nil || e.Status != did.status():
			continue
		}
		tasks = append(tasks, e.Task)
		if did != undo && undoable(e, now) {
			n.Undo = append(n.Undo, id)
		}
	}
	if len(tasks) > 0 {
		n.Text = did.pastTense(len(tasks))
	}
	if len(tasks) == 1 {
		n.Task = tasks[0]
	}
	for _, id := range ids(v.Get("not")) {
		if e, err := experiences.Content(ctx, id); err == nil {
			n.Problems = append(n.Problems, problem{e.Task, did.refused(e, now)})
		} else {
			n.Problems = append(n.Problems, problem{id, "cannot be read, or no longer exists"})
		}
	}
	if did != undo && n.Text == "" && len(n.Problems) == 0 && v.Get("done") == "" {
		n.Text = "Nothing was selected."
	}
	return n
}

// ids returns the valid ids of a list, at most as many as a page shows.
func ids(list string) []string {
	var out []string
	for id := range strings.SplitSeq(list, ",") {
		if experience.ValidID(id) && len(out) < maxLimit {
			out = append(out, id)
		}
	}
	return out
}

// pastTense returns the action in the past tense.
func (a action) pastTense(n int) string {
	past := map[action]string{approve: "Approved", reject: "Rejected", withdraw: "Withdrawn", undo: "Pending again", destroy: "Deleted"}[a]
	if n == 1 {
		return past + ":"
	}
	return past + ": " + plural(n, "experience") + "."
}

// refused returns why an action was not possible, judging by the experience.
func (a action) refused(e experience.Experience, now time.Time) string {
	by := ""
	if e.DecidedBy != "" {
		by = " by " + e.DecidedBy
	}
	switch {
	case a == undo && e.Status != experience.Pending && !undoable(e, now):
		return "was decided more than a minute ago and stays " + string(e.Status)
	case a == withdraw && e.Status == experience.Pending:
		return "is pending: reject it"
	case a != undo && e.Status != experience.Pending:
		return "was already " + string(e.Status) + by
	}
	return "could not be changed; see the log"
}
