package app_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/payload"
	"intenthint/store"
)

// begunAt reads the turns that a system tells of, by the messages, until it stops.
func begunAt(t *testing.T, s *apptest.System) <-chan string {
	t.Helper()
	return eventsAt(t, s, "/live", `<p class="said" dir="auto">(.*)</p>`)
}

// marksAt reads the marks of the last hour and those to come.
func marksAt(t *testing.T, s *apptest.System) <-chan string {
	t.Helper()
	return eventsAt(t, s, fmt.Sprint("/live?since=", time.Now().Add(-time.Hour).UnixMilli()), `(<p data-row="e-.*</p>)`)
}

// eventsAt reads what matches in a stream of events of a system, until it stops.
func eventsAt(t *testing.T, s *apptest.System, path, match string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.HTTPAddresses(s.Config)[0]+path, nil)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer response.Body.Close() //nolint:errcheck // only read
		said := regexp.MustCompile(match)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if m := said.FindStringSubmatch(lines.Text()); m != nil {
				out <- m[1]
			}
		}
	}()
	return out
}

func take(t *testing.T, from <-chan string, n int) (out []string) {
	t.Helper()
	for range n {
		select {
		case text, ok := <-from:
			require.True(t, ok, "the stream ended after %v", out)
			out = append(out, text)
		case <-time.After(time.Minute):
			require.Fail(t, "a turn is missing", "after %v", out)
		}
	}
	return out
}

func TestEveryConsumerShowsTheTurnsOfAll(t *testing.T) {
	t.Parallel()
	first := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	more := *first.Config
	more.Bus.URLs = []string{first.Bus.URL()}
	second := apptest.Launch(t, &more)
	// The file http.url names the process that started last.
	atSecond := begunAt(t, second)

	var want []string
	for i := range 20 { // the queue group gives some to each
		want = append(want, fmt.Sprintf("is commit %d safe to merge?", i))
		first.Ask(first.Prompt("s", fmt.Sprint("r", i), want[i]), time.Minute)
	}
	require.Equal(t, want, take(t, atSecond, len(want)))

	// A mark on a page of one stands in the session.
	base := app.HTTPAddresses(second.Config)[0]
	first.Eventually("the turn", func() bool { return first.Document("s") != nil })
	form := url.Values{"session": {"s"}, "run": {"r0"}, "wrong": {"1"}, "intent": {"code_git"}, "back": {"/turns"}}
	first.Eventually("the mark is taken, once the turn is stored", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/turns", strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // not read
		return response.StatusCode == http.StatusSeeOther
	})
	first.Eventually("the session has the mark", func() bool {
		history, _ := first.Document("s")["history"].([]any)
		if len(history) == 0 {
			return false
		}
		turn, _ := history[0].(map[string]any)
		feedback, _ := turn["feedback"].(map[string]any)
		return feedback["verdict"] == "wrong" && feedback["intent"] == "CODE_GIT" && feedback["by"] == "console"
	})

	// An open page of the other consumer shows it, without a reload, and what is said
	// elsewhere too.
	marks := marksAt(t, first.System)
	seen := take(t, marks, 1)[0]
	require.Contains(t, seen, ">wrong: CODE_GIT</span>")
	session := store.Summary{Token: "s", SessionID: "s"}
	said := payload.Feedback{Kind: payload.FeedbackHint, RunID: "r1", Verdict: payload.VerdictRight, By: "ada"}
	require.NoError(t, app.PublishFeedback(t.Context(), first.Bus.JS, app.Layout(first.Config), app.FeedbackContext(session, "r1", ""), said))
	require.Contains(t, take(t, marks, 1)[0], ">right</span>")

	// An open page does not hold up a stop.
	began := time.Now()
	require.NoError(t, second.Stop())
	require.Less(t, time.Since(began), 15*time.Second, "the time that a stop has")
	_, open := <-atSecond
	require.False(t, open)
}

func TestPagesOfASystem(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pagesOfASystem(t, kind)
		})
	}
}

func pagesOfASystem(t *testing.T, kind string) {
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_STORE": kind, "HINT_HISTORY_LIMIT": "1"})
	for i, text := range []string{"is this safe to merge?", "is the second one safe to merge?", "and is the third one safe to merge?"} {
		request := s.Prompt("garden", fmt.Sprint("r", i), text)
		request.TS = time.Now().UnixMilli()
		s.Ask(request, time.Minute)
	}
	_, err := s.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("not an event"))
	require.NoError(t, err)
	for _, row := range []struct {
		path string
		want []string
	}{
		{"/", []string{"is this safe to merge?", "Everything that is on works."}},
		{"/turns", []string{"CODE_REVIEW", "is this safe to merge?", "is the second one", "and is the third one"}},
		{"/turns?session=garden", []string{"is this safe to merge?"}},
		{"/sessions", []string{"garden", "1 session", "and is the third one"}},
		{"/sessions?q=third", []string{"garden"}},
		{"/sessions/garden", []string{"is this safe to merge?", "is the second one", "and is the third one", "consumer sessions show garden"}},
		{"/intents", []string{"CODE_REVIEW", "3 turns of 1 session"}}, // counted once a minute, so after the others
		{"/deadletters", []string{"openclaw.event.agent_end.main.s"}},
		{"/deadletters/1", []string{"not an event"}},
	} {
		s.Eventually(row.path, func() bool {
			status, body := page(t, s, row.path)
			return status == http.StatusOK && !slices.ContainsFunc(row.want, func(text string) bool { return !strings.Contains(body, text) })
		})
	}
	status, _ := page(t, s, "/turns", "Host", "evil.example")
	require.Equal(t, http.StatusForbidden, status)
	status, _ = page(t, s, "/sessions/nobody")
	require.Equal(t, http.StatusNotFound, status)

	// A mark of a turn that has left the document is taken, and shown.
	form := url.Values{"session": {"garden"}, "run": {"r0"}, "wrong": {"1"}, "intent": {"code_git"}, "back": {"/turns"}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.HTTPAddresses(s.Config)[0]+"/turns", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSeeOther, response.StatusCode)
	s.Eventually("the turns marked wrong", func() bool {
		_, body := page(t, s, "/turns?feedback=wrong")
		return strings.Contains(body, "is this safe to merge?") && strings.Contains(body, ">wrong: CODE_GIT</span>")
	})
	s.Eventually("the mark is stored", func() bool {
		_, body := page(t, s, "/sessions/garden")
		return strings.Contains(body, "wrong, right is CODE_GIT, said console")
	})
}
