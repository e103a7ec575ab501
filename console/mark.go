package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/intents"
	"intenthint/internal/access"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// markLife is how long pages show a mark that is not in the store yet: normally
// the store has it within a second, but events may lag. maxMarks bounds their
// number.
const (
	markLife = time.Minute
	maxMarks = 256
)

// mark is feedback that was given on a page.
type mark struct {
	store.Judgement
	at time.Time
}

// marks are those of the last minute, by row id.
type marks struct{ byRow *lru.Cache[string, mark] }

func newMarks() marks { return marks{newCache[string, mark](maxMarks)} }

func (m marks) get(id string) (mark, bool) {
	found, ok := m.byRow.Get(id)
	return found, ok && time.Since(found.at) < markLife
}

// amend adds a mark to a turn that the store has without it.
func (m marks) amend(token string, turn *store.Turn) {
	if found, ok := m.get(rowID(token, turn.RunID)); ok && (turn.Feedback == nil || turn.Feedback.TS < found.TS) {
		turn.Feedback = &found.Judgement
	}
}

// notices are short-lived messages, looked up by a random name in the URL, so a made-up
// name shows nothing.
type notices struct {
	byName *lru.Cache[string, sentNotice]
}

type sentNotice struct {
	notice
	at time.Time
}

func newNotices() notices { return notices{newCache[string, sentNotice](maxMarks)} }

func (n notices) add(what notice) (name string) {
	name = rand.Text()
	n.byName.Add(name, sentNotice{what, time.Now()})
	return name
}

// get returns a notice of the last minute, nil for none.
func (n notices) get(name string) *notice {
	found, ok := n.byName.Get(name)
	if !ok || time.Since(found.at) > markLife {
		return nil
	}
	return &found.notice
}

// judgement is one submitted form.
type judgement struct {
	token, run string
	verdict    string
	intent     string // "" for none
	back, next string
}

// errJudgement reports a form without a verdict, or with two.
var errJudgement = errors.New("no verdict")

// judgementOf reads a form: a button is named like its verdict. The right intent
// counts only for the verdict wrong.
func judgementOf(form url.Values, catalog *intents.Catalog) (judgement, error) {
	j := judgement{
		token: form.Get("session"), run: form.Get("run"), intent: strings.TrimSpace(form.Get("intent")),
		back: localPath(form.Get("back")), next: form.Get("next"),
	}
	right, wrong := form.Has(payload.VerdictRight), form.Has(payload.VerdictWrong)
	if right == wrong || j.token == "" || j.run == "" {
		return j, errJudgement
	}
	j.verdict = payload.VerdictWrong
	if right {
		j.verdict, j.intent = payload.VerdictRight, ""
	}
	if j.intent != "" {
		known, ok := catalog.Lookup(j.intent)
		if !ok {
			return j, errJudgement
		}
		j.intent = known.ID
	}
	return j, nil
}

// pastTense returns the verdict in the past tense.
func (j judgement) pastTense() string {
	if j.intent == "" {
		return "Marked " + j.verdict + ":"
	}
	return "Marked " + j.verdict + ", right is " + j.intent + ":"
}

// goBack returns the page to show when a turn is judged.
func (j judgement) goBack(did string) string {
	to, err := url.Parse(j.back)
	if err != nil {
		to = &url.URL{Path: turnsPath}
	}
	v := to.Query()
	v.Set("did", did)
	if j.next != "" {
		v.Set("at", j.next)
		to.Fragment = "e-" + j.next
	}
	to.RawQuery = v.Encode()
	return to.String()
}

// judge publishes the verdict of a form on a turn, and redirects back.
func (c *Console) judge(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil || !c.parseForm(w, r) {
		return
	}
	j, err := judgementOf(r.PostForm, source.Catalog())
	if err != nil {
		c.message(w, http.StatusBadRequest, "Not understood", "The form has no verdict on a turn, or names an intent that is not in the catalogue.")
		return
	}
	session, turn, err := findTurn(r.Context(), source.Sessions, j)
	switch {
	case err != nil:
		c.fail(w, "turn not read", err)
		return
	case turn == nil:
		c.message(w, http.StatusNotFound, "Turn", "This turn is not in the store any more.")
		return
	}
	said := payload.Feedback{Kind: payload.FeedbackHint, RunID: j.run, Verdict: j.verdict, Intent: j.intent, By: reviewer}
	if err := source.Mark(r.Context(), session, said); err != nil {
		c.log.Error("turn not marked", "run", j.run, "error", err)
		c.message(w, http.StatusBadGateway, "Not marked", "The stream did not take the mark: "+err.Error())
		return
	}
	c.log.Info("turn marked", "verdict", j.verdict, "intent", j.intent, "run", j.run, "client", access.Client(r.RemoteAddr))
	now := time.Now()
	c.marks.byRow.Add(rowID(session.Token, j.run), mark{
		Judgement: store.Judgement{
			Feedback: store.Feedback{Verdict: j.verdict, Intent: j.intent, By: reviewer},
			At:       store.Timestamp(now.UnixMilli()), Key: store.Key{TS: now.UnixMilli()},
		},
		at: now,
	})
	did := c.notices.add(notice{Text: j.pastTense(), Task: line(turn.UserMessage())})
	http.Redirect(w, r, j.goBack(did), http.StatusSeeOther) //nolint:gosec // of localPath
}

// findTurn returns the turn that a form names, nil if it does not exist.
func findTurn(ctx context.Context, sessions store.Reader, j judgement) (session store.Summary, turn *store.Turn, err error) {
	session, err = summaryOf(ctx, sessions, j.token)
	if errors.Is(err, store.ErrNotFound) {
		return session, nil, nil
	}
	if err != nil {
		return session, nil, err
	}
	err = record.Each(ctx, sessions, j.token, func(t *store.Turn) {
		if t.RunID == j.run {
			turn = t
		}
	})
	return session, turn, err
}

// summaryOf reads the summary of one session, by its token.
func summaryOf(ctx context.Context, sessions store.Reader, token string) (store.Summary, error) {
	document, err := sessions.Get(ctx, token)
	if err != nil {
		return store.Summary{}, err
	}
	s, err := store.Summarize(document)
	s.Token = cmp.Or(s.Token, token)
	return s, err
}
