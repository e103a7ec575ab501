package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/subjects"
)

// deadSite has dead letters with these subjects; their sequences are 1, 2 and so on.
func deadSite(t *testing.T, of ...string) (s *site, events, letters func() uint64) {
	t.Helper()
	s = newSite(t, nil)
	js, layout := s.System.Letters()
	for i, subject := range of {
		m := nats.NewMsg(layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		m.Data = fmt.Appendf(nil, `{"number": %d}`, i+1)
		m.Header.Set(subjects.HeaderDLQReason, fmt.Sprint("reason ", i+1))
		m.Header.Set(subjects.HeaderDLQSubject, subject)
		m.Header.Set(subjects.HeaderDLQMsgID, "id")
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	count := func(stream string) func() uint64 {
		return func() uint64 {
			found, err := js.Stream(t.Context(), stream)
			require.NoError(t, err)
			return found.CachedInfo().State.Msgs
		}
	}
	return s, count(layout.Stream), count(layout.DeadLetterStream())
}

const anEvent = "openclaw.event.agent_end.main.s"

func sequences(values ...string) url.Values { return url.Values{"sequence": values} }

func with(v url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

func TestDeadLettersAreShown(t *testing.T) {
	s, _, _ := deadSite(t, anEvent, "elsewhere")
	page := body(t, s.get("/deadletters"))
	for _, want := range []string{"2 dead letters", "reason 1", "reason 2", anEvent, "cannot be replayed"} {
		require.Contains(t, page, want)
	}
	page = body(t, s.get("/deadletters/1"))
	for _, want := range []string{"reason 1", "&#34;number&#34;: 1", anEvent, `value="replay"`} {
		require.Contains(t, page, want)
	}
	page = body(t, s.get("/deadletters/2"))
	require.Contains(t, page, "not an event subject")
	require.NotContains(t, page, `value="replay"`)
	for _, path := range []string{"/deadletters/3", "/deadletters/0", "/deadletters/x"} {
		require.Equal(t, http.StatusNotFound, s.get(path).StatusCode, path)
	}
	require.Contains(t, body(t, newSite(t, nil).get("/deadletters")), "No dead letters.")
}

func TestManyDeadLettersArePaged(t *testing.T) {
	s, _, _ := deadSite(t, strings.Split(strings.Repeat(anEvent+",", 101), ",")[:101]...)
	page := body(t, s.get("/deadletters"))
	require.Equal(t, 100, strings.Count(page, `name="sequence"`))
	next := nextOf.FindStringSubmatch(page)
	require.NotNil(t, next)
	require.Equal(t, 1, strings.Count(body(t, s.get(next[1])), `name="sequence"`))
}

func TestDeadLettersAreReplayedAndDeletedOnceConfirmed(t *testing.T) {
	s, events, letters := deadSite(t, anEvent, anEvent, anEvent, "elsewhere")

	page := body(t, s.post("/deadletters", with(sequences("1", "2", "4"), "action", "replay")))
	require.Contains(t, page, "Replay 2 dead letters?")
	require.Contains(t, page, "Left, as they cannot be replayed")
	require.Zero(t, events())
	require.EqualValues(t, 4, letters())

	r := s.post("/deadletters", with(sequences("1", "2", "4"), "action", "replay", "sure", "1"))
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Contains(t, body(t, s.get(r.Header.Get("Location"))), "Replayed 2 dead letters.")
	require.EqualValues(t, 2, events())
	require.EqualValues(t, 2, letters())

	page = body(t, s.post("/deadletters", with(sequences("4"), "action", "delete")))
	require.Contains(t, page, "Delete 1 dead letter for good?")
	require.EqualValues(t, 2, letters())
	r = s.post("/deadletters", with(sequences("4", "4"), "action", "delete", "sure", "1"))
	require.Contains(t, body(t, s.get(r.Header.Get("Location"))), "Deleted 1 dead letter.")
	require.EqualValues(t, 1, letters())
	require.EqualValues(t, 2, events())
}

func TestNothingIsDoneWithDeadLettersThatAreNotNamed(t *testing.T) {
	s, events, letters := deadSite(t, anEvent)
	for _, row := range []struct {
		name   string
		form   url.Values
		status int
	}{
		{"none selected", url.Values{"action": {"replay"}}, 200},
		{"none, confirmed", url.Values{"action": {"delete"}, "sure": {"1"}}, 303},
		{"one that is gone", with(sequences("9"), "action", "delete", "sure", "1"), 303},
		{"no action", sequences("1"), 400},
		{"unknown action", with(sequences("1"), "action", "purge", "sure", "1"), 400},
		{"no number", with(sequences("x"), "action", "delete", "sure", "1"), 400},
		{"all", with(sequences("0"), "action", "delete", "sure", "1"), 400},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.status, s.post("/deadletters", row.form).StatusCode)
			require.Zero(t, events())
			require.EqualValues(t, 1, letters())
		})
	}
}

func TestMarkupInADeadLetterStaysText(t *testing.T) {
	const markup = `</pre>"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	s := newSite(t, nil)
	js, layout := s.System.Letters()
	m := nats.NewMsg(layout.Prefix.DeadLetter(markup))
	m.Data = []byte(markup + strings.Repeat(" ", 70_000))
	for _, header := range []string{subjects.HeaderDLQReason, subjects.HeaderDLQSubject, subjects.HeaderDLQMsgID, subjects.HeaderDLQDurable} {
		m.Header.Set(header, markup)
	}
	_, err := js.PublishMsg(t.Context(), m)
	require.NoError(t, err)
	for _, page := range []string{
		body(t, s.get("/deadletters")), body(t, s.get("/deadletters/1")),
		body(t, s.post("/deadletters", with(sequences("1"), "action", "delete"))), body(t, s.post("/deadletters", with(sequences("1"), "action", "replay"))),
	} {
		require.Equal(t, 1, strings.Count(page, "<script"))
		require.NotContains(t, page, "<img")
		require.Contains(t, page, "&lt;img src=x onerror=alert(1)&gt;")
	}
	require.Contains(t, body(t, s.get("/deadletters/1")), "The body is longer")
}

func TestDeadLettersThatTheUserMayNotReadAreSaidToBe(t *testing.T) {
	may := func(subjects ...string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Allow: subjects}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}
	}
	ns := natstest.Start(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "operator", Password: "operator", Permissions: may(">")},
		{Username: "consumer", Password: "consumer", Permissions: may("$JS.API.INFO", "$JS.API.STREAM.INFO.>")},
	}})
	s := newSite(t, nil)
	s.System.LettersOf(natstest.JetStream(t, ns, nats.UserInfo("operator", "operator")), natstest.JetStream(t, ns, nats.UserInfo("consumer", "consumer")))
	js := natstest.JetStream(t, ns, nats.UserInfo("operator", "operator"))
	_, err := js.Publish(t.Context(), "openclaw.dlq.agent_end", []byte("{}"))
	require.NoError(t, err)
	for _, path := range []string{"/deadletters", "/deadletters/1"} {
		r := s.get(path)
		require.Equal(t, http.StatusBadGateway, r.StatusCode)
		page := body(t, r)
		require.Contains(t, page, "NATS permission denied")
		require.Contains(t, page, "OPENCLAW_EVENTS_DLQ")
	}
}
