package app_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/app"
	"intenthint/internal/app/apptest"
)

// begunAt reads the turns that a system tells of, by the messages, until it stops.
func begunAt(t *testing.T, s *apptest.System) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.HTTPAddresses(s.Config)[0]+"/live", nil)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer response.Body.Close() //nolint:errcheck // only read
		said := regexp.MustCompile(`<p class="said" dir="auto">(.*)</p>`)
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

	// An open page does not hold up a stop.
	began := time.Now()
	require.NoError(t, second.Stop())
	require.Less(t, time.Since(began), 15*time.Second, "the time that a stop has")
	_, open := <-atSecond
	require.False(t, open)
}

func TestPagesOfASystem(t *testing.T) {
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	s.Ask(s.Prompt("garden", "r", "is this safe to merge?"), time.Minute)
	_, err := s.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("not an event"))
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/":                "is this safe to merge?",
		"/turns":           "CODE_REVIEW",
		"/sessions":        "garden",
		"/sessions/garden": "is this safe to merge?",
		"/deadletters":     "openclaw.event.agent_end.main.s",
		"/deadletters/1":   "not an event",
	} {
		s.Eventually(path, func() bool {
			status, body := page(t, s, path)
			return status == http.StatusOK && strings.Contains(body, want)
		})
	}
	status, _ := page(t, s, "/turns", "Host", "evil.example")
	require.Equal(t, http.StatusForbidden, status)
}
