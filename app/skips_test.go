package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/hint/eligibility"
	"intenthint/record"
)

func TestPagesFilterByTheReasonsThatTurnsAreRecordedWith(t *testing.T) {
	t.Parallel()
	var want []string
	for _, skip := range eligibility.All() {
		// The other rules come before a turn is recorded (contract §4).
		if !skip.Policy() || skip == eligibility.Unchanged || skip == eligibility.Holdout {
			want = append(want, string(skip))
		}
	}
	require.ElementsMatch(t, want, record.Skips)
}
