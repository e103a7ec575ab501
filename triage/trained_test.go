package triage

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/triage/state"
)

func TestTheGateIsTrainedAgainWithMarks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	tr := newTrainer()
	running.Go(func() { tr.run(ctx) })
	defer running.Wait()
	defer cancel()

	_, sure := tr.Judge(LocalInput{Text: "ok see you tomorrow then", Sender: "ada"})
	require.False(t, sure, "nothing is learnt yet")
	tr.use([]state.Mark{{Group: "g", Text: "lunch?", Verdict: state.Skip}})
	tr.enable(true)
	first := tr.trained.Load()
	require.NotNil(t, first)
	tr.enable(true)
	require.Same(t, first, tr.trained.Load(), "it was on")
	require.Eventually(t, func() bool {
		tr.use([]state.Mark{{Group: "g", Text: "lunch?", Verdict: state.Respond}, {Group: "g"}})
		return tr.trained.Load() != first
	}, time.Minute, 50*time.Millisecond)
	second := tr.trained.Load()
	require.Eventually(t, func() bool {
		tr.use(nil)
		return tr.trained.Load() != second
	}, time.Minute, 50*time.Millisecond, "the last mark was removed")
	tr.enable(false)
}
