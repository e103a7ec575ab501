package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/payload"
	"intenthint/store"
)

func TestMarksThatNameNoIntent(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	mark := func(run, intent string) {
		said := payload.Feedback{Kind: payload.FeedbackHint, RunID: run, Verdict: payload.VerdictWrong, Intent: intent}
		about := app.FeedbackContext(store.Summary{Token: "s", SessionID: "s"}, run, "")
		require.NoError(t, app.PublishFeedback(t.Context(), s.JS, app.Layout(s.Config), about, said))
	}
	mark("r1", "code_review")
	mark("r2", "OTHER")
	mark("r3", "")
	mark("r4", "NO_SUCH_THING")
	s.Eventually("the log names it", func() bool { return strings.Contains(s.Log.String(), `"intent":"NO_SUCH_THING","run":"r4"`) })
	require.Equal(t, 1, strings.Count(s.Log.String(), "mark names unknown intent"))
}
