package decide

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTargetOfARule(t *testing.T) {
	for _, row := range []struct {
		name  string
		value any
		ok    bool
	}{
		{"the least", 0.5, true},
		{"the most", 0.999, true},
		{"less", 0.4999, false},
		{"more", 0.9991, false},
		{"text", "0.9", false},
		{"none", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, wrong := parseRule(map[string]any{"target": row.value})
			require.Equal(t, row.ok, wrong == "", wrong)
			if row.ok {
				require.Equal(t, row.value, r.Target)
			} else {
				require.Contains(t, wrong, "target must be ")
			}
		})
	}
	_, wrong := parseRule("target")
	require.NotEmpty(t, wrong)
}
