package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

func TestNearest(t *testing.T) {
	m := Train(intents.NewCatalog([]intents.Intent{
		{ID: "MONEY", Triggers: []string{"payments"}, Examples: []string{"pay my bill", "send cash to anna"}},
		{ID: "WEATHER", Triggers: []string{"weather"}, Examples: []string{"will it rain tomorrow"}},
		{ID: "OTHER", Triggers: []string{"nothing"}, Examples: []string{"wrong window", "purple seventeen"}},
	}))
	for _, tc := range []struct{ row, intent, message, want string }{
		{"an example", "MONEY", "send some cash", "send cash to anna"},
		{"of the intent that is asked for", "WEATHER", "send cash, or will it rain", "will it rain tomorrow"},
		{"of the fallback", "OTHER", "purple rain", "purple seventeen"},
		{"nothing in common", "WEATHER", "zzqx", ""},
		{"an unknown intent", "GONE", "send cash", ""},
		{"no message", "MONEY", "", ""},
	} {
		t.Run(tc.row, func(t *testing.T) {
			got, similarity := m.Nearest(tc.intent, tc.message)
			require.Equal(t, tc.want, got)
			if tc.want == "" {
				require.Zero(t, similarity)
			} else {
				require.Greater(t, similarity, 0.1)
				require.LessOrEqual(t, similarity, 1.0001)
			}
		})
	}
}
