package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/record"
	"intenthint/store"
)

// asked is a turn of a message.
func asked(session string, after time.Duration, message, intent string, confidence float64, with ...func(*store.Turn)) sessionTurn {
	return turn(session, "main", after, 1000, func(t *store.Turn) {
		t.Input = message
		if intent != "" {
			t.Intent.Result = classified(intent, confidence, "local")
		}
		for _, f := range with {
			f(t)
		}
	})
}

func marked(verdict, intent string) func(*store.Turn) {
	return func(t *store.Turn) {
		t.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: verdict, Intent: intent}}
	}
}

// summed is a finding in short: its kind, intents, and the messages of its turns.
func summed(findings []record.Finding) (out []string) {
	for _, f := range findings {
		parts := []string{fmt.Sprint(f.Kind, " ", f.Intent, ">", f.Right)}
		for _, t := range f.Turns {
			said := t.Text
			if t.Next != "" {
				said += " THEN " + t.Next
			}
			parts = append(parts, said)
		}
		out = append(out, strings.Join(parts, " | "))
	}
	return out
}

func TestFindings(t *testing.T) {
	t.Parallel()
	catalog := []intents.Intent{{ID: "CODE"}, {ID: "MUSIC"}}
	hour := time.Hour
	many := func(n int, intent string) (out []sessionTurn) {
		for i := range n {
			out = append(out, asked(fmt.Sprint("s", i), hour, fmt.Sprint("go on ", i), intent, 0.9))
		}
		return out
	}
	for _, row := range []struct {
		name  string
		turns []sessionTurn
		want  []string
	}{
		{"no turns", nil, nil},
		{"a turn that went well", []sessionTurn{asked("a", hour, "fix the build", "CODE", 0.9)}, nil},
		{"marked wrong", []sessionTurn{asked("a", hour, "fix the chorus", "CODE", 0.9, marked("wrong", ""))}, []string{"corrected CODE> | fix the chorus"}},
		{"marked wrong with the right intent", []sessionTurn{
			asked("a", hour, "fix the chorus", "CODE", 0.9, marked("wrong", "MUSIC")), asked("b", 2*hour, "fix the bass line", "CODE", 0.8, marked("wrong", "MUSIC")),
		}, []string{"corrected CODE>MUSIC | fix the bass line | fix the chorus"}},
		{"corrected in the next message of the session", []sessionTurn{
			asked("a", hour, "fix the chorus", "CODE", 0.9), asked("b", 2*hour, "play it", "MUSIC", 0.9), asked("a", 3*hour, "no, I meant the song", "MUSIC", 0.9),
		}, []string{"corrected CODE> | fix the chorus THEN no, I meant the song"}},
		{"corrected, but marked right", []sessionTurn{
			asked("a", hour, "fix the chorus", "CODE", 0.9, marked("right", "")), asked("a", 3*hour, "no, I meant the song", "MUSIC", 0.9),
		}, nil},
		{"one failed tool call", []sessionTurn{asked("a", hour, "fix the build", "CODE", 0.9, calls(1, 5))}, nil},
		{"several failed tool calls", []sessionTurn{asked("a", hour, "fix the build", "CODE", 0.9, calls(2, 5))}, []string{"failed_tools CODE> | fix the build"}},
		{"unsure once", []sessionTurn{asked("a", hour, "water the tomatoes", "OTHER", 0.9)}, nil},
		{"unsure in like words", []sessionTurn{
			asked("a", hour, "when should I water the tomatoes", "OTHER", 0.9), asked("b", 2*hour, "print my boarding pass please", "OTHER", 0.9),
			asked("c", 3*hour, "should I water the tomatoes today", "OTHER", 0.7),
		}, []string{"unsure OTHER> | should I water the tomatoes today | when should I water the tomatoes"}},
		{"unsure of several intents", []sessionTurn{
			asked("a", hour, "water the tomatoes", "CODE", 0.2), asked("c", 3*hour, "water the tomatoes", "OTHER", 0.7),
		}, []string{"unsure > | water the tomatoes | water the tomatoes"}},
		{"sure in like words", []sessionTurn{asked("a", hour, "water the tomatoes", "CODE", 0.9), asked("c", 3*hour, "water the tomatoes", "CODE", 0.9)}, nil},
		{"unsure, and somebody said so", []sessionTurn{
			asked("a", hour, "water the tomatoes", "OTHER", 0.9, marked("right", "")), asked("c", 3*hour, "water the tomatoes", "OTHER", 0.9, marked("right", "")),
		}, nil},
		{"without an answer", []sessionTurn{asked("a", hour, "water the tomatoes", "", 0), asked("c", 3*hour, "water the tomatoes", "", 0)}, nil},
		{"an intent that was never chosen", many(20, "CODE"), []string{"unused MUSIC>"}},
		{"too few turns to say so", many(19, "CODE"), nil},
		{"ids in other letters", append(many(20, "CODE"), asked("m", hour, "play it", "music", 0.9)), nil},
		{
			"more turns come first", append([]sessionTurn{asked("x", hour, "go", "CODE", 0.9, calls(3, 0))}, asked("y", hour, "a", "MUSIC", 0.9, marked("wrong", "")), asked("z", 2*hour, "b", "MUSIC", 0.9, marked("wrong", ""))),
			[]string{"corrected MUSIC> | b | a", "failed_tools CODE> | go"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			find := func(turns []sessionTurn) []string {
				f := record.NewImprovements(0.5)
				for _, turn := range turns {
					f.Add(turn.session, turn.turn)
				}
				return summed(f.Findings(catalog))
			}
			require.Equal(t, row.want, find(row.turns))
			slices.Reverse(row.turns)
			require.Equal(t, row.want, find(row.turns), "in another order")
		})
	}
}
