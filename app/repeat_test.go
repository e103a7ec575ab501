package app_test

import (
	"encoding/json"
	"fmt"
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
}
