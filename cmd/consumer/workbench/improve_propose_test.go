package workbench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/improve/propose"
	"intenthint/record"
)

func TestEveryKindOfFindingIsExplainedToTheModel(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{record.FoundCorrected, record.FoundUnsure, record.FoundFailedTools, record.FoundUnused} {
		require.NotEmpty(t, aboutFinding[kind], kind)
	}
}

func TestAnEditNamesItsPlace(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		edit propose.Edit
		want string
	}{
		{propose.Edit{Edit: propose.AddExample, Intent: "A", Text: "one"}, "add example A: “one”"},
		{propose.Edit{Edit: propose.RemoveExample, Intent: "A", Text: "one", File: "a.examples.txt", Line: 7}, "remove example A (a.examples.txt:7): “one”"},
		{propose.Edit{Edit: propose.ChangeTrigger, Intent: "A", From: "one", Text: "two", File: "a.md", Line: 4}, "change trigger A (a.md:4): “one” → “two”"},
		{propose.Edit{Edit: propose.NewIntent, Intent: "A", Problem: "no\nprompt"}, "new intent A: not made: no prompt"},
	} {
		require.Equal(t, row.want, editLine(row.edit))
	}
}
