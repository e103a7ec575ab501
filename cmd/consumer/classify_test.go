package main

import (
	"encoding/json"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"intenthint/internal/app/apptest"
)

func TestClassifyJSONHasCamelCaseNames(t *testing.T) {
	t.Parallel()
	env := settle(t, map[string]string{"HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	var stdout, stderr apptest.Buffer
	require.Zero(t, env.run(t.Context(), []string{"classify", "--json", "will it rain tomorrow"}, &stdout, &stderr), stderr.String())
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &got))
	var names func(any)
	names = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, element := range v {
				names(element)
			}
		case map[string]any:
			for name, value := range v {
				require.True(t, unicode.IsLower(rune(name[0])), name)
				names(value)
			}
		}
	}
	names(got)
	runnersUp := got["runnersUp"].([]any)
	require.NotEmpty(t, runnersUp)
	for _, name := range []string{"intent", "name", "probability"} {
		require.Contains(t, runnersUp[0], name)
	}
}
