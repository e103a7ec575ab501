package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/telemetry"
	"intenthint/model"
	"intenthint/model/provider/providertest"
)

// TestOutageCostsAFewTurns has a model that is down, and a configuration that
// is reloaded meanwhile.
func TestOutageCostsAFewTurns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json5")
	write := func(confidence string) {
		require.NoError(t, os.WriteFile(file, []byte(`{minConfidence: `+confidence+`}`), 0o600))
	}
	write("0")
	s, model := withModel(t, map[string]string{"HINT_CONFIG": file})
	model.Always(providertest.Answer{Status: 500, Message: "down"})
	ask := func(i int) string {
		reply := s.Ask(s.Prompt("s1", fmt.Sprint("r", i), fmt.Sprint("question ", i)), time.Minute)
		return reply.Header.Get("Hint-Skip")
	}
	const failures = 20 // that cost next to nothing; late ones are three
	for i := range failures + 3 {
		require.Equal(t, "classify_failed", ask(i))
	}
	require.Equal(t, failures, model.Count())
	write("0.1")
	s.Eventually("the configuration is read again", func() bool {
		return strings.Contains(s.Log.String(), "configuration reloaded")
	})
	require.Equal(t, "classify_failed", ask(failures+3))
	require.Equal(t, failures, model.Count(), "the new configuration knows that the model is down")
	require.Equal(t, 1, strings.Count(s.Log.String(), "circuit breaker opened"))
	require.Equal(t, failures, strings.Count(s.Log.String(), "model call failed"))
}

// TestRetryAfterIsRespected asks both APIs over HTTP.
func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	for ref, status := range map[string]int{"mock/small": 429, "claude/small": 503} {
		t.Run(fmt.Sprint(ref, " ", status), func(t *testing.T) {
			t.Parallel()
			s, model := withModel(t, map[string]string{"HINT_MODEL": ref, "HINT_CLASSIFIER": "hedged"})
			model.Always(providertest.Answer{Status: status, Message: "busy", Header: map[string][]string{"Retry-After": {"30"}}})
			for i := range 3 {
				reply := s.Ask(s.Prompt("s1", fmt.Sprint("r", i), fmt.Sprint("What did we decide about ", i)), time.Minute)
				require.Empty(t, reply.Header.Get("Hint-Skip"))
				require.Equal(t, "local", reply.Header.Get("Hint-Source"))
			}
			require.Equal(t, 1, model.Count())
		})
	}
}

// TestBroadcastMakesOneModelCall sends one text to many chats at once.
func TestBroadcastMakesOneModelCall(t *testing.T) {
	t.Parallel()
	s, model := withModel(t, nil)
	model.Always(providertest.Answer{Text: apptest.HintAnswer, Delay: 2 * time.Second})
	const chats = 8
	skipped := make(chan string, chats)
	for i := range chats {
		env := s.Prompt(fmt.Sprint("s", i), fmt.Sprint("r", i), "The office is closed tomorrow.")
		go func() {
			skip := "no reply"
			defer func() { skipped <- skip }()
			skip = s.Ask(env, time.Minute).Header.Get("Hint-Skip")
		}()
	}
	for range chats {
		require.Empty(t, <-skipped)
	}
	// The prompt tells the time, so a new second is a new question.
	require.LessOrEqual(t, model.Count(), chats/2)
}

func TestObserverShowsTheBreaker(t *testing.T) {
	t.Parallel()
	var log apptest.Buffer
	metrics := app.NewMetrics("test", "")
	o := app.Observer{Metrics: metrics, Log: telemetry.NewLogger(&log, "json", nil)}
	gauge := func(want int) {
		t.Helper()
		require.NoError(t, testutil.GatherAndCompare(metrics.Registry, strings.NewReader(fmt.Sprintf(`
# HELP intenthint_model_breaker_open 1 while the model's circuit breaker is open, else 0; for the model "other", the number of open ones.
# TYPE intenthint_model_breaker_open gauge
intenthint_model_breaker_open{model="p/m"} %d
`, want)), "intenthint_model_breaker_open"))
	}
	o.ModelCalled(model.Call{Ref: "p/m", Outcome: model.OutcomeOK})
	gauge(0)
	o.BreakerOpened("p/m", 5*time.Second, model.ErrFailed)
	gauge(1)
	for range 10 {
		o.ModelCalled(model.Call{Ref: "p/m", Outcome: model.OutcomeOpen, Err: model.ErrOpen})
		o.ModelCalled(model.Call{Ref: "p/m", Outcome: model.OutcomeCanceled, Err: model.ErrFailed})
	}
	o.BreakerClosed("p/m")
	gauge(0)
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
}
