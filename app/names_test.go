package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
)

// The longest names that the configuration accepts leave room for all buckets and
// durables.
func TestTheLongestNames(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{
		"HINT_STREAM": strings.Repeat("S", 238), "HINT_QUEUE_GROUP": strings.Repeat("g", 247), "HINT_STORE": "kv", "HINT_LEARN": "auto",
		"HINT_TRIAGE": `{"enabled": true, "historyCount": 3}`, "HINT_KNOWHUB": `{"enabled": true, "listen": "127.0.0.1:0", "enableServerExtraction": true, "recall": 2}`,
	})
	s.Ask(s.Prompt("s", "r", "write some code for me please"), time.Minute)
	status, out := post(t, apiOf(t, s)+"/api/submit", experienceOf("wrangler cannot find the binding"))
	require.Equal(t, 201, status, "%v", out)
	require.NoError(t, s.Stop())
	for _, fault := range []string{"too long", "invalid", `"level":"ERROR"`} {
		require.NotContains(t, s.Log.String(), fault)
	}
}
