package triage

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/triage/state"
)

// forgetful is a state that keeps decisions and has lost the recent messages of
// groups.
type forgetful struct{ State }

func (forgetful) Remember(context.Context, string, state.RecentMessage, state.Keep) ([]state.RecentMessage, error) {
	return nil, errors.New("away")
}

// A model or a trained gate that is to see the messages before one does not judge
// without them.
func TestNothingIsJudgedWithoutTheMessagesBefore(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	for _, row := range []struct {
		name, text string
		change     func(s *Settings)
		want       string
		failed     bool
	}{
		{"the model sees history", "lunch at noon", func(s *Settings) { s.History = 5 }, "respond error", true},
		{"quiet groups", "lunch at noon", func(s *Settings) { s.Quiet.Messages = 3 }, "respond error", true},
		{"the trained gate", "lunch at noon", func(s *Settings) { s.Local = sureGate{sure: true} }, "respond error", true},
		{"what the text alone decides", "hi claw", func(s *Settings) { s.History = 5 }, "respond bot_name", true},
		{"nothing asks for it", "lunch at noon", func(*Settings) {}, "skip model", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := says("SKIP")
			set := settings(m)
			row.change(set)
			g := process(t, ns, set)
			g.State = forgetful{g.State}
			require.Equal(t, row.want, ask(t, g, event("", row.text)))
			require.Equal(t, row.failed, testutil.ToFloat64(g.Metrics.failures.WithLabelValues(opRecent)) > 0)
			if row.failed {
				require.Empty(t, m.requests(), "the model was asked without history")
			}
		})
	}
}
