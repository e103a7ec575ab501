package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"intenthint/conversation"
	"intenthint/internal/text"
	"intenthint/internal/text/fold"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

const sessionsPath = "/sessions"

// A page lists shownSessions sessions, or shownOfSession turns of one: a turn may
// have a hundred tool calls.
const (
	shownSessions  = 100
	shownOfSession = 50
)

// sessionURL returns the page of a session. A token needs no escaping in an
// address.
func sessionURL(token string) string { return sessionsPath + "/" + token }

// sessionsView is what the page of all sessions shows.
type sessionsView struct {
	// Words are the search words, "" for all sessions.
	Words string
	// Hint is as in [turnQuery], of the last turn.
	Hint  string
	Hints []option
	Rows  []sessionRow
	// Sort is the order, "" for the one that changed last first.
	Sort  string
	Sorts []sortLink
	// Total is the number of sessions that match.
	Total int
	// Older is the page of sessions that changed before these, "" for none.
	Older string
}

// sessionSorts are the orders of sessions.
var sessionSorts = []option{{"", "last change"}, {"name", "name"}, {"turns", "turns"}, {"intent", "intent"}, {"hint", "hint"}, {"agent", "agent"}}

// sessionOrder compares sessions by each key.
var sessionOrder = map[string]func(a, b store.Summary) int{
	"name": byText(sessionName), "turns": byNumber(func(s store.Summary) int { return s.Turns }),
	"intent": byText(func(s store.Summary) string { return s.Intent }), "hint": byText(func(s store.Summary) string { return s.Skip }),
	"agent": byText(func(s store.Summary) string { return s.AgentID }),
}

// url returns the page in an order, from a session on.
func (v sessionsView) url(sort string, skip int) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": v.Words, "hint": v.Hint, "sort": sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if skip > 0 {
		values.Set("skip", strconv.Itoa(skip))
	}
	return strings.TrimSuffix(sessionsPath+"?"+values.Encode(), "?")
}

// sessionRow is a session in a list.
type sessionRow struct {
	store.Summary
	// Name is for people.
	Name, Text string
}

// URL returns the page of the session.
func (r sessionRow) URL() string { return sessionURL(r.Token) }

func (c *Console) listSessions(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil {
		return
	}
	list, err := source.Sessions.List(r.Context())
	if err != nil {
		c.fail(w, "sessions not listed", err)
		return
	}
	view := sessionsView{Words: strings.TrimSpace(r.URL.Query().Get("q")), Hint: known(r.URL.Query().Get("hint"), hints), Hints: hints}
	list = slices.DeleteFunc(list, func(s store.Summary) bool { return !sessionFits(s, view.Words) || !hintFits(s, view.Hint) })
	view.Total = len(list)
	view.Sort = sortOf(r.URL.Query().Get("sort"), sessionSorts)
	view.Sorts = sortLinks(sessionSorts, view.Sort, func(sort string) string { return view.url(sort, 0) })
	sortBy(list, view.Sort, sessionOrder)
	skip, _ := strconv.Atoi(r.URL.Query().Get("skip")) // wrong is 0
	list, more := section(list, skip, shownSessions)
	if more {
		view.Older = view.url(view.Sort, max(skip, 0)+shownSessions)
	}
	for _, s := range list {
		view.Rows = append(view.Rows, sessionRow{s, sessionName(s), line(conversation.Latest(s.Input))})
	}
	p := c.page(r.Context(), "Sessions", sessionsPath, view)
	p.Wide = true
	c.render(w, http.StatusOK, "sessions.html", p)
}

func sessionName(s store.Summary) string {
	return line(cmp.Or(s.SessionID, s.SessionKey, s.Token))
}

// sessionFits reports whether a session has all words in its names, its intent or
// the message of its last turn.
func sessionFits(s store.Summary, words string) bool {
	in := fold.Lower(strings.Join([]string{s.Token, s.SessionID, s.SessionKey, s.AgentID, s.Intent, s.Input}, "\n"))
	for word := range strings.FieldsSeq(fold.Lower(words)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}

// hinted reports whether the last turn of a session got a hint.
func hinted(s store.Summary) bool { return s.Intent != "" && s.Skip == "" }

// Hinted is hinted.
func (r sessionRow) Hinted() bool { return hinted(r.Summary) }

// hintFits reports whether the last turn of a session got a hint, or none, or none for a
// reason; "" is any.
func hintFits(s store.Summary, hint string) bool {
	switch hint {
	case "":
		return true
	case record.HintGiven:
		return hinted(s)
	case record.HintNone:
		return !hinted(s)
	}
	return s.Skip == hint
}

// sessionView is what the page of one session shows.
type sessionView struct {
	store.Summary
	Name  string
	Turns []sessionTurn // newest first
	// Older is the page of older turns, Newest the page of the newest turns; ""
	// for none.
	Older, Newest string
	Choices       []choice
	// Command is the command that shows the session, "" if its name is unsafe to
	// paste into a shell.
	Command string
	// At is the turn to show first, "" for none.
	At string
	// Related are other pages about the session.
	Related []link
}

// sessionTurn is a whole turn.
type sessionTurn struct {
	row
	Turn *store.Turn
	// Message is the user's message; Prompt is the whole prompt, "" if it has
	// nothing more.
	Message, Prompt string
	Choices         []choice
	Back, Next      string
	// Letters are dead letters of the turn.
	Letters []letterRow
}

func (c *Console) showSession(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil {
		return
	}
	name, err := record.Find(r.Context(), source.Sessions, r.PathValue("id"))
	if err != nil {
		c.noSession(w, err)
		return
	}
	head, err := summaryOf(r.Context(), source.Sessions, name)
	if err != nil {
		c.noSession(w, err)
		return
	}
	head.Token = tokenOf(head, name)
	var before *store.Key
	if key, ok := keyOf(r.URL.Query().Get("before")); ok {
		before = &key
	}
	turns, more, err := record.Last(r.Context(), source.Sessions, name, before, shownOfSession)
	if err != nil {
		c.fail(w, "session not read", err)
		return
	}
	view := sessionView{Summary: head, Name: sessionName(head), Choices: choicesOf(source.Catalog()), At: r.URL.Query().Get("at")}
	here := sessionURL(head.Token)
	if before != nil {
		view.Newest = here
	}
	if more {
		view.Older = here + "?" + url.Values{"before": {keyText(turns[len(turns)-1].Begin)}}.Encode()
	}
	if name := cmp.Or(head.SessionID, head.SessionKey); harmless.MatchString(name) {
		view.Command = "consumer sessions show " + name
	}
	back := here
	if before != nil {
		back += "?" + url.Values{"before": {keyText(*before)}}.Encode()
	}
	for _, turn := range turns {
		c.marks.amend(head.Token, turn)
		t := sessionTurnOf(head, turn, source.MinConfidence())
		t.Choices, t.Back, t.Next = view.Choices, back, t.ID
		view.Turns = append(view.Turns, t)
	}
	view.relatedTo(c, r, source)
	p := c.page(r.Context(), "Session", sessionsPath, view)
	p.Notice = c.notices.get(r.URL.Query().Get("did"))
	c.render(w, http.StatusOK, "session.html", p)
}

// tokenOf returns the token of a session that was found by a name, which may be
// its id, its key or the token itself.
func tokenOf(s store.Summary, name string) string {
	tokens := store.Tokens(name)
	for _, of := range []string{s.SessionID, s.SessionKey} {
		if of != "" && slices.Contains(tokens, store.Tokens(of)[0]) {
			return store.Tokens(of)[0]
		}
	}
	return tokens[0]
}

// noSession answers that a session cannot be shown.
func (c *Console) noSession(w http.ResponseWriter, err error) {
	if errors.Is(err, store.ErrNotFound) {
		c.message(w, http.StatusNotFound, "Session", "This session is not in the store any more.")
		return
	}
	c.fail(w, "session not read", err)
}

func sessionTurnOf(s store.Summary, turn *store.Turn, minConfidence float64) sessionTurn {
	e := record.Entry{Session: s, Turn: record.NewTurn(s, turn, minConfidence)}
	t := sessionTurn{row: rowOf(e, minConfidence), Turn: turn, Message: strings.TrimSpace(turn.UserMessage())}
	if cleaned := conversation.Latest(turn.UserMessage()); cleaned != "" {
		t.Message = cleaned
	}
	if strings.TrimSpace(turn.Input) != t.Message {
		t.Prompt = turn.Input
	}
	return t
}

// Result returns the classification, nil for none.
func (t sessionTurn) Result() *payload.Classification { return t.Turn.Intent.Result }

// Before returns the conversation that the classifier read.
func (t sessionTurn) Before() []payload.Turn { return t.Turn.Intent.Input }

// Duration returns the time from start to end, "" while the turn has not ended.
func (t sessionTurn) Duration() string {
	start, err := time.Parse(time.RFC3339, t.Turn.Timestamps.Start)
	if err != nil {
		return ""
	}
	end, err := time.Parse(time.RFC3339, t.Turn.Timestamps.End)
	if err != nil {
		return ""
	}
	return length(end.Sub(start))
}

// Failed returns the number of failed tool calls.
func (t sessionTurn) Failed() int {
	n := 0
	for _, call := range t.Turn.ToolCalls {
		if call.Error != "" {
			n++
		}
	}
	return n
}

// length formats a duration for people.
func length(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// milliseconds is [length] for milliseconds.
func milliseconds(ms float64) string { return length(time.Duration(ms * float64(time.Millisecond))) }

// longText is the length in characters from which a text is folded; shortText
// is how much of it is then shown.
const (
	longText  = 700
	shortText = 240
)

// folded is a text of which a page may show only the beginning.
type folded struct {
	// Short is the whole text, or its beginning.
	Short string
	// Long is the whole text if Short is not.
	Long string
}

func foldText(s string) folded {
	if len(text.Cut(s, longText)) == len(s) {
		return folded{Short: s}
	}
	return folded{Short: text.Cut(s, shortText) + "…", Long: s}
}

// indented formats JSON for people; other text is unchanged.
func indented(raw []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
