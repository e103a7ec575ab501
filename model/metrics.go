package model

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/internal/telemetry"
)

// maxModels is how many models have metrics of their own; the rest count as
// "other": models are named in the configuration or, for the model of a run, by
// the gateway.
const maxModels = 50

// Metrics counts calls of models. It implements [Observer] and
// [BreakerObserver].
type Metrics struct {
	models *telemetry.Label
	calls  *prometheus.CounterVec
	times  *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	open   *prometheus.GaugeVec
}

// NewMetrics registers the metrics of models; times are in seconds.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	m := &Metrics{
		models: telemetry.NewLabel(maxModels),
		calls:  auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_model_calls_total", Help: "Calls of models, by model and outcome; open, shared and unresolved ones were not sent."}, []string{"model", "outcome"}),
		times:  auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_model_call_duration_seconds", Help: "Duration of model calls, by model. Calls that were never sent do not count.", Buckets: telemetry.LatencyBuckets}, []string{"model"}),
		tokens: auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_model_tokens_total", Help: "Tokens of model calls, by model and direction; cached tokens are part of in."}, []string{"model", "direction"}),
		open:   auto.NewGaugeVec(prometheus.GaugeOpts{Name: "intenthint_model_breaker_open", Help: "1 while the model's circuit breaker is open, else 0; for the model \"other\", the number of open ones."}, []string{"model"}),
	}
	return m
}

// ModelCalled implements [Observer].
func (m *Metrics) ModelCalled(call Call) {
	model := m.models.Bound(call.Ref)
	if !slices.Contains(outcomes, call.Outcome) {
		call.Outcome = OutcomeFailed
	}
	m.begin(model)
	m.calls.WithLabelValues(model, string(call.Outcome)).Inc()
	if !call.Outcome.Sent() {
		return
	}
	m.times.WithLabelValues(model).Observe(call.Duration.Seconds())
	used := call.Usage
	for direction, tokens := range map[string]int{"in": used.InputTokens, "out": used.OutputTokens, "cached": used.CachedTokens} {
		// A counter refuses to go down, and a provider may report anything.
		m.tokens.WithLabelValues(model, direction).Add(float64(max(tokens, 0)))
	}
}

// Expect creates the series of configured models, 0 at first, so that alerts can
// tell 0 from no data. Blank references are left out.
func (m *Metrics) Expect(refs ...string) {
	for _, ref := range refs {
		if ref = strings.TrimSpace(ref); ref != "" {
			m.begin(m.models.Bound(ref))
		}
	}
}

func (m *Metrics) begin(model string) {
	telemetry.Zero(m.calls, telemetry.Values(model), telemetry.Values(outcomes...))
	telemetry.Zero(m.tokens, telemetry.Values(model), telemetry.Values("in", "out", "cached"))
	m.times.WithLabelValues(model)
	m.open.WithLabelValues(model)
}

// BreakerOpened implements [BreakerObserver].
func (m *Metrics) BreakerOpened(ref string, _ time.Duration, _ error) {
	m.open.WithLabelValues(m.models.Bound(ref)).Inc()
}

// BreakerClosed implements [BreakerObserver].
func (m *Metrics) BreakerClosed(ref string) { m.open.WithLabelValues(m.models.Bound(ref)).Dec() }
