package main

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/workbench"
	"intenthint/model/provider/providertest"
)

// A model is asked about several messages at once, more than there are processors, and
// one that hangs is given up after HINT_TIMEOUT_MS.
func TestReplayDoesNotWaitForAModel(t *testing.T) {
	t.Parallel()
	model, settings := apptest.ModelSettings(t, map[string]string{
		"HINT_INTENTS_DIR": apptest.WriteIntents(t), "HINT_CLASSIFIER": "local",
	})
	env := settle(t, settings)
	if runtime.GOMAXPROCS(0) >= workbench.ReplayCalls {
		t.Skip("as many processors as calls")
	}
	var texts []string
	for i := range workbench.ReplayCalls {
		texts = append(texts, fmt.Sprint("will it rain tomorrow, question ", i))
	}
	remember(t, env.config(t), texts)

	t.Run("several at once", func(t *testing.T) {
		var asked sync.WaitGroup
		asked.Add(workbench.ReplayCalls)
		all := make(chan struct{})
		go func() { asked.Wait(); close(all) }()
		model.Handle(func(providertest.Request) providertest.Answer {
			asked.Done()
			select {
			case <-all:
				return routed("WEATHER")
			case <-time.After(20 * time.Second):
				return providertest.Answer{Status: 500} // the others were never asked meanwhile
			}
		})
		got := replay(t, env, "--model", "mock/small", "--yes", "--all")
		require.Equal(t, workbench.ReplayCalls, got.Compared)
		require.Zero(t, got.LeftOut.Failed)
	})
	t.Run("a model that hangs", func(t *testing.T) {
		model.Always(providertest.Answer{Hang: true})
		release := time.AfterFunc(time.Minute, model.Close) // the answers fail then
		defer release.Stop()
		env := env.with("HINT_TIMEOUT_MS", "500")
		var stdout, stderr bytes.Buffer
		began := time.Now()
		require.Equal(t, exitFailed, env.run(t.Context(), []string{"replay", "--model", "mock/small", "--yes", "--all"}, &stdout, &stderr))
		require.Contains(t, stderr.String(), fmt.Sprintf("%d of %d turns got no answer", workbench.ReplayCalls, workbench.ReplayCalls))
		require.Less(t, time.Since(began), time.Minute, "only the end of the model ended it")
	})
}
