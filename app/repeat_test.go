package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/payload"
)

// A hint that a session knows is not given again by any process, also after a
// restart of all, until something may have taken it out of the conversation.
func TestProcessesKnowWhatWasSaid(t *testing.T) {
	t.Parallel()
	first := start(t, map[string]string{"HINT_REPEAT": "changed", "HINT_REPEAT_AFTER": "0"})
	turn := 0
	skip := func(s *system) string {
		turn++
		reply := s.Ask(s.Prompt("s1", fmt.Sprint("r", turn), "please write a unit test for the parser"), time.Minute)
		require.NotEmpty(t, reply.Header.Get("Hint-Intent"))
		return reply.Header.Get("Hint-Skip")
	}
	require.Empty(t, skip(first))

	more := *first.Config
	more.Bus.URLs = []string{first.Bus.URL()}
	second := apptest.Launch(t, &more)
	for range 20 {
		require.Equal(t, "unchanged", skip(first))
	}

	for _, hook := range []string{"after_compaction", "session_start", "session_end"} {
		event := first.Prompt("s1", "", "")
		event.Hook, event.Event = hook, json.RawMessage(`{}`)
		first.Tell(event)
		// Whichever process gets the event, both know.
		first.Eventually("after "+hook+" the hint is given", func() bool { return skip(first) == "" })
		for range 4 {
			require.Equal(t, "unchanged", skip(first))
		}
	}

	first.Eventually("turns are in the session", func() bool {
		doc := first.Document("s1")
		history, _ := doc["history"].([]any)
		return len(history) == turn-1
	})
	require.NoError(t, second.Stop())
	require.NoError(t, first.Stop())
	again := startWith(t, first.Config)
	again.Sequence = first.Sequence
	require.Equal(t, "unchanged", skip(again))
	ctx, err := json.Marshal(payload.Context{RunID: "x", AgentID: "main", SessionID: "s2", SessionKey: "agent:main:telegram:direct:s2", Trigger: "user"})
	require.NoError(t, err)
	other := again.Prompt("s2", "x", "please write a unit test for the parser")
	other.Ctx = ctx
	require.Empty(t, again.Ask(other, time.Minute).Header.Get("Hint-Skip"), "another session")
}

// A gateway tells of a request whose answer it did not get.
func TestAHintThatDidNotArriveIsSaidAgain(t *testing.T) {
	t.Parallel()
	first := start(t, map[string]string{"HINT_REPEAT": "changed", "HINT_REPEAT_AFTER": "0"})
	more := *first.Config
	more.Bus.URLs = []string{first.Bus.URL()}
	apptest.Launch(t, &more)
	turn := 0
	ask := func() (request payload.Envelope, skip string) {
		turn++
		request = first.Prompt("s1", fmt.Sprint("r", turn), "please write a unit test for the parser")
		return request, first.Ask(request, time.Minute).Header.Get("Hint-Skip")
	}
	lost, skip := ask()
	require.Empty(t, skip)
	_, skip = ask()
	require.Equal(t, "unchanged", skip)
	first.Tell(lost)
	first.Eventually("the hint is given again", func() bool {
		_, skip = ask()
		return skip == ""
	})
	for range 4 {
		_, skip = ask()
		require.Equal(t, "unchanged", skip, "each process knows")
	}
	first.Eventually("the turn is one without a hint", func() bool {
		history, _ := first.Document("s1")["history"].([]any)
		if len(history) == 0 {
			return false
		}
		told, _ := history[0].(map[string]any)["intent"].(map[string]any)
		return told["skip"] == "late" && told["result"] != nil
	})
}

func TestALateHintIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	request := s.Prompt("s1", "r1", "please write a unit test for the parser")
	require.NotEmpty(t, s.Ask(request, time.Minute).Header.Get("Hint-Intent"))
	silent := s.Prompt("s2", "r2", "")
	require.Equal(t, "empty_prompt", s.Ask(silent, time.Minute).Header.Get("Hint-Skip"))
	for range 3 {
		s.Tell(request)
	}
	s.Tell(silent)
	counted := func() string {
		_, body := page(t, s, "/metrics")
		_, rest, _ := strings.Cut(body, `intenthint_skips_total{kind="failure",reason="late"} `)
		n, _, _ := strings.Cut(rest, "\n")
		return n
	}
	s.Eventually("it is counted", func() bool { return counted() == "1" })
	require.Equal(t, "1", counted())
}
