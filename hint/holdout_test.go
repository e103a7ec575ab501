package hint

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/hint/eligibility"
	"intenthint/hint/repetition"
	"intenthint/payload"
	"intenthint/subjects"
)

func TestTheShareOfSessionsHeldOut(t *testing.T) {
	const sessions = 20_000
	for _, row := range []struct {
		name  string
		id    func(i int) string
		share Holdout
	}{
		{"a twentieth of numbered ids", func(i int) string { return fmt.Sprint("s", i) }, 0.05},
		{"half of numbered ids", strconv.Itoa, 0.5},
		{"a tenth of session keys", func(i int) string { return fmt.Sprintf("agent:main:telegram:direct:%d", 900_000+i) }, 0.1},
		{"a hundredth of ids like UUIDs", func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", i) }, 0.01},
		{"none", strconv.Itoa, 0},
		{"all", strconv.Itoa, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			held := 0
			for i := range sessions {
				session := row.id(i)
				holds := row.share.Holds(session)
				require.Equal(t, holds, row.share.Holds(session))
				if holds {
					held++
					require.True(t, min(row.share*2, 1).Holds(session), "held out of a greater share too")
				}
			}
			// Four standard deviations of a fair draw are at most 0.0142.
			require.InDelta(t, float64(row.share), float64(held)/sessions, 0.0142)
			if row.share == 0 || row.share == 1 {
				require.Equal(t, int(row.share*sessions), held)
			}
		})
	}
}

// Sessions must not change sides with a new version.
func TestSessionsHeldOutStayTheSame(t *testing.T) {
	var held []string
	for i := range 60 {
		if session := fmt.Sprint("s", i); Holdout(0.1).Holds(session) {
			held = append(held, session)
		}
	}
	require.Equal(t, []string{"s5", "s13", "s15", "s23", "s24", "s36", "s42", "s51", "s54", "s55"}, held)
	require.False(t, Holdout(1).Holds(""), "what has no session is not tracked")
}

func heldOut(share Holdout) *Settings {
	return settingsWith(func(s *Settings) { s.Holdout = share })
}

func TestASessionHeldOutGetsNoHint(t *testing.T) {
	var r recorder
	h := hinter(&r, heldOut(1))
	for i, run := range []string{"r1", "r2", "r1"} { // the last is a retry
		res := handle(t, h, prompt(run, "code"))
		require.Nil(t, res.Decision)
		require.Equal(t, []string{"holdout", "CODE", "0.87"}, []string{head(res, subjects.HeaderSkip), head(res, subjects.HeaderIntent), head(res, subjects.HeaderConfidence)})
		require.Equal(t, []string{"local", "local", "cache"}[i], head(res, subjects.HeaderSource))
	}
	turns := r.turns(t)
	require.Len(t, turns, 2)
	for _, turn := range turns {
		require.Equal(t, "CODE", turn.Result.Intent, "the turn is tracked with its result")
		require.Equal(t, "holdout", turn.Skip)
		require.Equal(t, new(true), turn.HeldOut)
		require.Empty(t, turn.Hint)
		require.Nil(t, turn.Last)
	}
	require.Equal(t, map[string]int{"policy holdout": 3}, counted(t, h, "skips_total"))
	require.True(t, eligibility.Holdout.Policy())
}

func TestWhatIsRecordedOfAHoldout(t *testing.T) {
	for _, row := range []struct {
		name, text string
		settings   *Settings
		skip       string
		heldOut    *bool
	}{
		{"none", "code", heldOut(0), "", nil},
		{"another session is held out", "code", heldOut(1e-9), "", new(false)},
		{"a confidence that is too low", "code", settingsWith(func(s *Settings) { s.Holdout, s.MinConfidence = 1, 0.9 }), "low_confidence", new(true)},
		{"every hint is said again", "code", settingsWith(func(s *Settings) { s.Holdout, s.Repeat.Repeat = 1, repetition.Always }), "holdout", new(true)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			res := handle(t, hinter(&r, row.settings), prompt("r1", row.text))
			require.Equal(t, row.skip, head(res, subjects.HeaderSkip))
			require.Equal(t, row.skip, r.turns(t)[0].Skip)
			require.Equal(t, row.heldOut, r.turns(t)[0].HeldOut)
		})
	}
}

// A gateway that retries a run gets the answer of the first time, whichever process
// it asks and whatever the share is by then.
func TestARetryIsAnsweredAsTheFirstTime(t *testing.T) {
	var r recorder
	first, second := hinter(&r, heldOut(1)), hinter(&recorder{}, heldOut(0))
	require.Equal(t, "holdout", head(handle(t, first, prompt("r1", "code")), subjects.HeaderSkip))
	req := prompt("r1", "Continue the current task")
	second.Answers.Learn(payload.EncodeTurnBegun("e", req.Envelope.TS, req.Context, r.turns(t)[0], 0))
	first.Use(heldOut(0))
	for name, h := range map[string]*Hinter{"after a reload": first, "of another process": second} {
		again := handle(t, h, prompt("r1", "Continue the current task"))
		require.Equal(t, []string{"holdout", "cache"}, []string{head(again, subjects.HeaderSkip), head(again, subjects.HeaderSource)}, name)
	}
	require.Contains(t, given(handle(t, first, prompt("r2", "code"))), "intent: CODE", "a new run goes by the new share")
	first.Use(heldOut(1))
	require.Contains(t, given(handle(t, first, prompt("r2", "Continue"))), "intent: CODE", "the run's first answer was a hint")
}

func TestARequestWithoutASessionIsNotHeldOut(t *testing.T) {
	h := hinter(&recorder{}, heldOut(1))
	req := prompt("r1", "code")
	req.Context = payload.Context{RunID: "r1", Trigger: "user", ChannelID: "c", MessageProvider: "webchat"}
	require.Contains(t, given(handle(t, h, req)), "intent: CODE")
}
