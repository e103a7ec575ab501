package conversation

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func TestTextsAreStoredCut(t *testing.T) {
	t.Parallel()
	megabytes := "/home/annika/x " + strings.Repeat("/home/", 300_000) + " mail me at annika@example.com"
	for _, row := range []struct {
		name, text string
		strict     bool
		begin, end string
	}{
		{"a text of usual length", strings.Repeat("語", MaxStored), false, "語", "語"},
		{"one that is redacted", "/home/annika/x", true, "/home/[REDACTED]/x", "/x"},
		{"a prompt of megabytes", megabytes, false, "/home/annika/x /home/home/"[:15], " annika@example.com"},
		{"one that is redacted, of megabytes", megabytes, true, "/home/[REDACTED]/x ", " mail me at [EMAIL]"},
		{"many characters of three bytes", strings.Repeat("語", MaxStored+1), false, "語", "語"},
		{"no text at all", strings.Repeat("\xff", 2*MaxStored), false, "\xff", "\xff"},
		{"secrets alone", strings.Repeat("annika@example.com ", MaxStored), true, "[EMAIL] ", " [EMAIL] "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := Stored(row.text, row.strict)
			require.True(t, strings.HasPrefix(got, row.begin), got[:min(len(got), 100)])
			require.True(t, strings.HasSuffix(got, row.end), got[max(0, len(got)-100):])
			require.LessOrEqual(t, utf8.RuneCountInString(got), MaxStored)
			require.Equal(t, got, Stored(got, row.strict), "again")
			if !row.strict && utf8.RuneCountInString(row.text) <= MaxStored {
				require.Equal(t, row.text, got)
			}
		})
	}
	note := fmt.Sprintf("… (truncated..., %d characters) …", len(megabytes))
	require.True(t, strings.Contains(Stored(megabytes, false), note))
	require.True(t, strings.Contains(Stored(megabytes, true), note))
}

// Redaction comes before the cut: a name that the cut goes through is no longer known.
func TestNothingIsLeftOfASecretAtTheCut(t *testing.T) {
	t.Parallel()
	for shift := range 40 {
		s := strings.Repeat("x", MaxStored/2-60+shift) + " annika@example.com " + strings.Repeat("y", 2*MaxStored)
		require.False(t, strings.Contains(Stored(s, true), "annika"))
	}
}

func TestOldTurnsOfALongConversationAreNotStored(t *testing.T) {
	t.Parallel()
	var turns []payload.Turn
	for range 20 {
		turns = append(turns, payload.Turn{Role: payload.RoleUser, Text: strings.Repeat("x", 1<<20)})
	}
	turns = append(turns, payload.Turn{Role: payload.RoleUser, Text: "/home/annika"})
	got := StoredTurns(turns, true)
	require.Len(t, got, 8)
	require.Equal(t, "/home/[REDACTED]", got[7].Text)
	require.Equal(t, "/home/annika", turns[20].Text, "the classifier's stay")
	require.Len(t, turns[0].Text, 1<<20)
}
