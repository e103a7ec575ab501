package decide

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/internal/telemetry"
)

// Metrics are the metrics of decisions.
type Metrics struct {
	answers *prometheus.CounterVec   // by source
	skips   *prometheus.CounterVec   // by reason
	times   *prometheus.HistogramVec // by source
}

// NewMetrics registers the metrics; times are in seconds. A second call with the same
// registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	m := &Metrics{
		answers: auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_decide_answers_total", Help: "Questions that were answered, by source (the value of Decide-Source)."}, []string{"source"}),
		skips:   auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_decide_skips_total", Help: "Batches of questions that were not answered, by reason (the value of Decide-Skip)."}, []string{"reason"}),
		times:   auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_decide_duration_seconds", Help: "Time until a question's batch was answered, by source of the question's answer.", Buckets: telemetry.LatencyBuckets}, []string{"source"}),
	}
	telemetry.Zero(m.answers, telemetry.Values(Sources...))
	telemetry.Zero(m.times, telemetry.Values(Sources...))
	telemetry.Zero(m.skips, telemetry.Values(Skips...))
	return m
}

func (m *Metrics) answered(sources []Source, took time.Duration) {
	for _, s := range sources {
		m.answers.WithLabelValues(string(s)).Inc()
		m.times.WithLabelValues(string(s)).Observe(took.Seconds())
	}
}

func (m *Metrics) skipped(s Skip) { m.skips.WithLabelValues(string(s)).Inc() }
