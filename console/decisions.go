package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"intenthint/decide"
	"intenthint/internal/access"
	"intenthint/payload"
)

const decisionsPath = "/decisions"

// shownAnswers is how many decisions the page of a rubric lists.
const shownAnswers = 50

// Answers is what the pages of decisions read and change (contract §15); [decide.Desk]
// implements it.
type Answers interface {
	Rubrics(ctx context.Context) ([]decide.Rubric, error)
	// Entries returns the decisions about a rubric, "" for all, since a time, oldest
	// first. Of too many only the later ones are read: from is where they begin.
	Entries(ctx context.Context, rubric string, since time.Time) (entries []decide.Entry, from time.Time, err error)
	// Lessons returns what the student of a rubric learns from.
	Lessons(ctx context.Context, rubric string) ([]decide.Record, error)
	// Rule returns the settings of a rubric, Sample how many random decisions a day are
	// offered for marking.
	Rule(r *decide.Rubric) decide.Rule
	Sample() int
	// Mark says what the right answer of a decision is, and returns the decision.
	Mark(ctx context.Context, id, label, by string) (*decide.Decided, error)
	// Continue says that a rubric continues an earlier one, "" for none.
	Continue(ctx context.Context, rubric, earlier string) error
}

// decisionsPage are the pages of decisions.
type decisionsPage struct {
	*http.ServeMux
	of Answers
}

// Decisions returns the pages on which people look at decisions and mark them.
func Decisions(of Answers) http.Handler {
	p := &decisionsPage{http.NewServeMux(), of}
	p.HandleFunc("GET "+decisionsPath, p.list)
	p.HandleFunc("POST "+decisionsPath, p.judge)
	p.HandleFunc("GET "+decisionsPath+"/{rubric}", p.show)
	p.HandleFunc("POST "+decisionsPath+"/{rubric}", p.join)
	return p
}

// rubricURL returns the page of a rubric.
func rubricURL(rubric string) string { return decisionsPath + "/" + rubric }

// rubricsView is what the page of all rubrics shows.
type rubricsView struct {
	Period  period
	Periods []period
	Rows    []rubricRow
	// Cut is when the decisions begin that were read, zero if all were.
	Cut time.Time
}

// rubricRow is a rubric in the list.
type rubricRow struct {
	decide.Tally
	Standing decide.Standing
	Sample   sampleView
	since    string
}

// URL returns the page of the rubric, for the same period.
func (r rubricRow) URL() string {
	return rubricURL(r.Rubric) + "?" + url.Values{"since": {r.since}}.Encode()
}

// By returns how many decisions are of a source.
func (r rubricRow) By(source string) int { return r.Sources[decide.Source(source)] }

// AllTokens returns the tokens of teachers.
func (r rubricRow) AllTokens() string { return short(float64(r.Tokens.In + r.Tokens.Out)) }

// Student reports whether the student answers alone.
func (r rubricRow) Student() string {
	switch {
	case r.Standing.Threshold > 0:
		return "alone from " + strconv.FormatFloat(r.Standing.Threshold, 'f', 2, 64)
	case r.Standing.Back > 0:
		return "taken back"
	}
	return "learns"
}

// sampleView is how right the answers are, judging by random decisions.
type sampleView struct {
	Right, Marked int
	Interval      [2]float64
}

func sampleViewOf(right, marked int) sampleView {
	return sampleView{right, marked, decide.Interval(right, marked)}
}

// Accuracy returns the share of right answers.
func (s sampleView) Accuracy() float64 { return float64(s.Right) / float64(max(s.Marked, 1)) }

// lastPeriod returns the period of an address, seven days without one.
func lastPeriod(r *http.Request) period {
	return periodOf(cmp.Or(known(r.URL.Query().Get("since"), periodOptions), "7d"))
}

var periodOptions = func() (out []option) {
	for _, p := range periods {
		out = append(out, option{p.Value, p.Name})
	}
	return out
}()

func (p *decisionsPage) list(w http.ResponseWriter, r *http.Request) {
	c := of(r)
	view := rubricsView{Period: lastPeriod(r), Periods: periods[1:]}
	since := time.Now().Add(-view.Period.Length)
	entries, from, err := p.of.Entries(r.Context(), "", since)
	var stored []decide.Rubric
	if err == nil {
		stored, err = p.of.Rubrics(r.Context())
	}
	if err != nil {
		c.fail(w, "decisions not read", err)
		return
	}
	if from.After(since) {
		view.Cut = from
	}
	view.Rows = p.rows(entries, stored, view.Period, c.zone())
	page := c.page(r.Context(), "Decisions", decisionsPath, view)
	page.Wide = true
	c.render(w, http.StatusOK, "decisions.html", page)
}

// rows returns the rubrics that were decided about, the latest first, and then those that
// are stored without a decision in the period.
func (p *decisionsPage) rows(entries []decide.Entry, stored []decide.Rubric, in period, zone *time.Location) (out []rubricRow) {
	of := map[string][]decide.Entry{}
	for _, e := range entries {
		of[e.Rubric] = append(of[e.Rubric], e)
	}
	standing := map[string]decide.Standing{}
	for _, r := range stored {
		standing[r.ID] = r.Standing
		if of[r.ID] == nil {
			out = append(out, rubricRow{Tally: decide.Tally{Rubric: r.ID, Name: r.Name}})
		}
	}
	slices.SortFunc(out, func(a, b rubricRow) int { return strings.Compare(a.Name, b.Name) })
	var decided []rubricRow
	for _, t := range decide.Tallies(entries) {
		decided = append(decided, rubricRow{Tally: t, Sample: sampleViewOf(decide.Accuracy(of[t.Rubric], p.of.Sample(), zone))})
	}
	out = append(decided, out...)
	for i := range out {
		out[i].Standing, out[i].since = standing[out[i].Rubric], in.Value
	}
	return out
}

// rubricView is what the page of a rubric shows.
type rubricView struct {
	Rubric, Name, Type string
	Period             period
	Periods            []period
	// Instructions are those of the question, "" for none; Labels are its labels.
	Instructions string
	Labels       []labelView
	Tally        decide.Tally
	Student      decide.Student
	Target       float64
	Cost         decide.Cost
	Sample       sampleView
	PerDay       int
	Chart        plot
	// Continues is the rubric that it continues, "" for none; Earlier are those that it
	// may continue.
	Continues string
	Earlier   []option
	// Random is set where the rows are the random decisions of today that wait for a mark.
	Random  bool
	Waiting int
	Rows    []answerRow
	Cut     time.Time
	At      string
}

// labelView is a label of a question; Text describes it.
type labelView struct{ Label, Text string }

// URL returns the page of the rubric for another period or list.
func (v rubricView) URL(since string, random bool) string {
	values := url.Values{"since": {since}}
	if random {
		values.Set("list", "random")
	}
	return rubricURL(v.Rubric) + "?" + values.Encode()
}

// By returns how many decisions are of a source.
func (v rubricView) By(source string) int { return v.Tally.Sources[decide.Source(source)] }

// PerThousand returns how many calls of the teacher 1,000 decisions take.
func (v rubricView) PerThousand() int {
	if v.Tally.Decisions == 0 {
		return 0
	}
	return int(float64(v.Cost.Calls)*1000/float64(v.Tally.Decisions) + 0.5)
}

// answerRow is a decision that a person may mark.
type answerRow struct {
	decide.Entry
	Back, Next string
}

// RowID returns an id that is valid as an attribute.
func (r answerRow) RowID() string { return rowID(r.Rubric, r.ID) }

// Two reports whether the question has two labels, so that the other one is right where
// the answer is wrong.
func (r answerRow) Two() bool { return len(r.Probabilities) == 2 }

// Probability returns that of the answer.
func (r answerRow) Probability() float64 { return r.Probabilities[r.Answer] }

// Recorded reports whether the row has the text of the state.
func (r answerRow) Recorded() bool { return r.Record == decide.RecordText }

func (p *decisionsPage) show(w http.ResponseWriter, r *http.Request) {
	c, rubric := of(r), r.PathValue("rubric")
	view := rubricView{
		Rubric: rubric, Name: rubric, Period: lastPeriod(r), Periods: periods[1:], PerDay: p.of.Sample(),
		Random: r.URL.Query().Get("list") == "random", At: r.URL.Query().Get("at"),
	}
	known, err := p.read(r.Context(), &view, c.zone())
	switch {
	case err != nil:
		c.fail(w, "decisions not read", err)
		return
	case !known:
		c.message(w, http.StatusNotFound, "Decisions", "No decision about this rubric is known.")
		return
	}
	page := c.page(r.Context(), "Decisions", decisionsPath, view)
	page.Notice = c.notices.get(r.URL.Query().Get("did"))
	c.render(w, http.StatusOK, "decision.html", page)
}

// read fills in the view of a rubric; known is false for one without a trace.
func (p *decisionsPage) read(ctx context.Context, view *rubricView, zone *time.Location) (known bool, err error) {
	stored, err := p.of.Rubrics(ctx)
	if err != nil {
		return false, err
	}
	now := time.Now()
	over := columnsOf(view.Period, now, zone)
	entries, from, err := p.of.Entries(ctx, view.Rubric, over.starts[0])
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(stored, func(r decide.Rubric) bool { return r.ID == view.Rubric })
	if at < 0 && len(entries) == 0 {
		return false, nil
	}
	if from.After(over.starts[0]) {
		view.Cut = from
	}
	if len(entries) > 0 {
		view.Tally = decide.Tallies(entries)[0]
		view.Name, view.Type = view.Tally.Name, view.Tally.Type
	}
	if at >= 0 {
		lessons, err := p.of.Lessons(ctx, view.Rubric)
		if err != nil {
			return false, err
		}
		view.question(stored, at)
		view.Student, view.Target = decide.StudentOf(view.Rubric, stored[at].Standing, lessons), p.of.Rule(&stored[at]).Target
	}
	view.Cost, view.Sample = decide.CostOf(entries), sampleViewOf(decide.Accuracy(entries, view.PerDay, zone))
	view.Chart = answersOver(over, entries)
	view.rows(entries, now.In(zone))
	return true, nil
}

// question shows a stored question, and which ones it may continue.
func (v *rubricView) question(stored []decide.Rubric, at int) {
	r := &stored[at]
	v.Name, v.Continues = r.Name, r.Continues
	q, err := r.Parsed()
	if err != nil {
		return // of another version
	}
	v.Type, v.Instructions = q.Type, plain(q.Instructions)
	for i, label := range q.Labels {
		v.Labels = append(v.Labels, labelView{label, plain(q.Criteria[i])})
	}
	for i := range stored {
		other, err := stored[i].Parsed()
		if i != at && err == nil && stored[i].Continues != r.ID && decide.Similar(&q, &other) {
			v.Earlier = append(v.Earlier, option{stored[i].ID, stored[i].Name})
		}
	}
}

// plain returns the text of a JSON string, else the JSON itself; "" for nothing.
func plain(raw json.RawMessage) string {
	var text string
	if raw == nil || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// rows lists the newest decisions, or the random ones of today.
func (v *rubricView) rows(entries []decide.Entry, today time.Time) {
	offered := decide.Offered(entries, today, v.PerDay)
	v.Waiting = len(offered)
	shown := offered
	if !v.Random {
		shown = slices.DeleteFunc(slices.Clone(entries), func(e decide.Entry) bool { return !e.Given() })
		slices.Reverse(shown)
	}
	back := v.URL(v.Period.Value, v.Random)
	for _, e := range shown[:min(len(shown), shownAnswers)] {
		v.Rows = append(v.Rows, answerRow{Entry: e, Back: back})
	}
	for i := range v.Rows {
		v.Rows[i].Next = v.Rows[min(i+1, len(v.Rows)-1)].RowID()
	}
}

// answersOver shows the answers over time, by source.
func answersOver(over columns, entries []decide.Entry) plot {
	layers := []layer{{"student", "one", nil}, {"teacher", "two", nil}, {"labels alone", "three", nil}}
	for i, source := range decide.Sources { // in this order
		layers[i].Values = make([]float64, len(over.starts))
		for _, e := range entries {
			if column, ok := over.at(e.At); ok && e.Source == source && e.Given() {
				layers[i].Values[column]++
			}
		}
	}
	return stacked("answers", "Answers", over, short, layers...)
}

// judge publishes the mark of a form on a decision, and redirects back.
func (p *decisionsPage) judge(w http.ResponseWriter, r *http.Request) {
	c := of(r)
	if !c.parseForm(w, r) {
		return
	}
	j := judgement{back: localPath(r.PostForm.Get("back")), next: r.PostForm.Get("next")}
	id, label := r.PostForm.Get("id"), strings.TrimSpace(r.PostForm.Get("label"))
	right := r.PostForm.Has(payload.VerdictRight)
	if right {
		label = r.PostForm.Get("answer")
	}
	if id == "" || label == "" || right == r.PostForm.Has(payload.VerdictWrong) {
		c.message(w, http.StatusBadRequest, "Not understood", "The form does not say which answer is right.")
		return
	}
	d, err := p.of.Mark(r.Context(), id, label, reviewer)
	switch {
	case errors.Is(err, decide.ErrUnknownDecision):
		c.message(w, http.StatusNotFound, "Decision", "This decision is not in the event stream any more.")
		return
	case errors.Is(err, decide.ErrUnknownLabel):
		c.message(w, http.StatusBadRequest, "Not understood", "The question has no such label.")
		return
	case err != nil:
		c.log.Error("decision not marked", "id", id, "error", err)
		c.message(w, http.StatusBadGateway, "Not marked", "The stream did not take the mark: "+err.Error())
		return
	}
	c.log.Info("decision marked", "id", id, "client", access.Client(r.RemoteAddr))
	what := "Marked right:"
	if label != d.Answer {
		what = "Marked wrong, right is " + line(label) + ":"
	}
	said := ""
	if d.Record == decide.RecordText {
		said = line(d.Text)
	}
	http.Redirect(w, r, j.goBack(c.notices.add(notice{Text: what, Task: said})), http.StatusSeeOther) //nolint:gosec // of localPath
}

// join says which rubric a rubric continues.
func (p *decisionsPage) join(w http.ResponseWriter, r *http.Request) {
	c, rubric := of(r), r.PathValue("rubric")
	if !c.parseForm(w, r) {
		return
	}
	earlier := r.PostForm.Get("earlier")
	if !decide.ValidRubric(rubric) || earlier != "" && !decide.ValidRubric(earlier) {
		c.message(w, http.StatusBadRequest, "Not understood", "The form names no rubric.")
		return
	}
	err := p.of.Continue(r.Context(), rubric, earlier)
	switch {
	case errors.Is(err, decide.ErrUnknownRubric), errors.Is(err, decide.ErrOtherQuestion), errors.Is(err, decide.ErrCircle):
		c.message(w, http.StatusConflict, "Not joined", strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
		return
	case err != nil:
		c.fail(w, "rubric not changed", err)
		return
	}
	c.log.Info("rubric joined", "rubric", rubric, "continues", earlier, "client", access.Client(r.RemoteAddr))
	text := "It continues no rubric."
	if earlier != "" {
		text = "Its student now also learns from " + earlier + "."
	}
	j := judgement{back: rubricURL(rubric)}
	http.Redirect(w, r, j.goBack(c.notices.add(notice{Text: text})), http.StatusSeeOther) //nolint:gosec // a path of this server
}
