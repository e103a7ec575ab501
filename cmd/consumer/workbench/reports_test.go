package workbench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/improve/propose"
	"intenthint/internal/golden"
	"intenthint/record"
)

// replayed is a replay of n changed turns, of every kind that the tables show.
func replayed(n int) record.Replayed {
	out := record.Replayed{Summary: record.Summary{
		Turns: n + 20, Compared: n + 5, Changed: n, Gained: n / 2, Lost: n / 4, Better: 3, Worse: 1,
		LeftOut: record.LeftOut{Model: 1, Unanswered: 2, Altered: 3, Failed: 4, Blank: 5},
	}}
	for i := range n {
		d := record.Difference{
			Session: fmt.Sprint("session-", i), RunID: fmt.Sprint("run-", i), Text: "pay the\trent\nnow " + strings.Repeat("please ", 20),
			From: "OTHER", To: "MONEY", FromConfidence: 0.3, ToConfidence: 0.875,
		}
		switch i % 3 {
		case 0:
			d.FromAnswered, d.FromRunnerUp, d.Right = "WEATHER", "MONEY", "money"
		case 1:
			d.From, d.To, d.ToAnswered, d.Right = "MONEY", "OTHER", "WEATHER", "MONEY"
		}
		out.Differences = append(out.Differences, d)
		out.Pairs = append(out.Pairs, record.Pair{From: d.From, To: fmt.Sprint("INTENT_", i), Turns: n - i})
	}
	return out
}

func TestReplayReport(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]replayReport{
		"replay.txt":      {Replayed: replayed(4), MinConfidence: 0.6},
		"replay_long.txt": {Replayed: replayed(52), Intents: "new", Model: "p/m", MinConfidence: 0.5},
		"replay_none.txt": {Replayed: record.Replayed{Summary: record.Summary{Turns: 3}}, MinConfidence: 0.6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, (&Replay{}).print(&cli.Invocation{Stdout: &out}, &r))
			golden.Equal(t, name, out.String())
		})
	}
}

func TestLearnReport(t *testing.T) {
	t.Parallel()
	out := Proposal{
		Intents: []proposedIntent{
			{addition: addition{Intent: "MONEY", Added: []string{"pay", "send"}}},
			{addition: addition{Intent: "WEATHER"}, Error: "no file\nof examples"},
		},
		Dropped: []record.Unused{
			{Lesson: record.Lesson{Intent: "MONEY", Text: "hm"}, Reason: expand.Similar, Of: "hmm"},
			{Lesson: record.Lesson{Intent: "GONE", Text: "go"}, Reason: record.Unknown},
		},
		Unfit:  map[record.Unfit]int{record.Long: 1, record.Unnamed: 2},
		Before: leftOut{Examples: 40, Accuracy: 0.9}, After: leftOut{Examples: 44, Accuracy: 0.925, OutOfScope: 0.5, outside: 4},
		Changed: replayed(23).Differences, Turns: 90,
	}
	var text bytes.Buffer
	require.NoError(t, out.printSummary(&text))
	out = Proposal{Turns: 1}
	require.NoError(t, out.printSummary(&text))
	golden.Equal(t, "learn.txt", text.String())
}

func TestImproveReport(t *testing.T) {
	t.Parallel()
	turn := func(i int, next string) record.FoundTurn {
		ts := time.Date(2026, 11, 20, 12, 0, i, 0, time.Local) //nolint:gosmopolitan // printed in local time
		return record.FoundTurn{Session: "s", RunID: fmt.Sprint("r", i), TS: ts.UnixMilli(), Text: "pay\nthe rent", Next: next}
	}
	before, after := leftOut{Examples: 40, Accuracy: 0.9}, leftOut{Examples: 41, Accuracy: 0.925}
	summary := replayed(2).Summary
	out := Improvements{
		Turns: 120,
		Findings: []record.Finding{
			{Kind: record.FoundCorrected, Intent: "MONEY", Right: "WEATHER", Turns: []record.FoundTurn{turn(1, "no, the weather"), turn(2, ""), turn(3, ""), turn(4, "")}},
			{Kind: record.FoundUnsure, Turns: []record.FoundTurn{turn(5, "")}},
			{Kind: record.FoundUnused, Intent: "MAIL"},
			{Kind: record.FoundUnused, Intent: "NEWS"},
		},
		Asked: &Asked{Before: &before, Calls: 3, Proposals: []ProposedEdit{
			{
				Model: "p/m", Why: "people ask so", Diff: "--- a\n+++ b\n+pay\n", After: &after, Replay: &summary, Changed: replayed(2).Differences,
				Edits: []propose.Edit{
					{Edit: "add_example", Intent: "MONEY", Text: "pay", File: "money.md", Line: 7, Dropped: []expand.Dropped{{Text: "hm", Reason: expand.Empty}}},
					{Edit: "change_trigger", Intent: "MONEY", From: "old", Text: "new"},
					{Edit: "new_intent", Intent: "RENT", Problem: "no\ntriggers"},
					{Edit: "remove_example", Intent: "MONEY"},
				},
			},
			{Model: "p/m", Why: "nothing to do"},
			{Error: "HTTP status 500"},
		}},
	}
	out.Tokens.Input, out.Tokens.Output = 900, 60
	for name, print := range map[string]func(io.Writer) error{
		"improve_propose.txt": func(w io.Writer) error { return (&Improve{Turns: 3}).print(w, &out, out.Findings[:3]) },
		"improve.txt": func(w io.Writer) error {
			return (&Improve{Turns: 1}).print(w, &Improvements{Turns: 120, Findings: out.Findings}, out.Findings)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			require.NoError(t, print(&text))
			golden.Equal(t, name, text.String())
		})
	}
}
