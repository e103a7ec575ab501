package triage

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/internal/telemetry"
	"intenthint/triage/state"
)

// Values of the label operation of state errors.
const (
	opDecision = "decision"
	opMark     = "mark"
	opRecent   = "recent"
	opSkipped  = "skipped"
)

// Metrics are the metrics of triage. All gates of a process share one.
type Metrics struct {
	decisions *prometheus.CounterVec // by decision and reason
	repeats   prometheus.Counter
	times     *prometheus.HistogramVec // by decision
	tokens    *prometheus.CounterVec   // by direction
	failures  *prometheus.CounterVec   // by operation
	recalled  prometheus.Counter
	marks     prometheus.Gauge
}

// NewMetrics registers the metrics; times are in seconds. A second call with the
// same registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	m := &Metrics{
		decisions: auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_triage_decisions_total", Help: "Messages that the triage gate decided about, by decision and reason (the value of Triage-Reason). Repeated messages do not count."}, []string{"decision", "reason"}),
		repeats:   auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_triage_repeats_total", Help: "Messages that the triage gate had decided about before, in any process."}),
		times:     auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_triage_duration_seconds", Help: "Time from receiving a before_dispatch request to replying, by decision.", Buckets: telemetry.LatencyBuckets}, []string{"decision"}),
		tokens:    auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_triage_tokens_total", Help: "Tokens of the triage model's answers, by direction. The model metrics count them too."}, []string{"direction"}),
		failures:  auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_triage_state_errors_total", Help: "Failed reads and writes of the shared state of the triage gate, by operation."}, []string{"operation"}),
		recalled:  auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_triage_skipped_told_total", Help: "Skipped messages that were told to the next turn of their group."}),
		marks:     auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_triage_marks", Help: "Messages marked by people that this process knows, 2000 at most."}),
	}
	telemetry.Zero(m.decisions, telemetry.Values(state.Respond), telemetry.Values(reasons...))
	telemetry.Zero(m.decisions, telemetry.Values(state.Skip), telemetry.Values(TooShort, ByLocal, ByModel))
	telemetry.Zero(m.times, telemetry.Values(state.Respond, state.Skip))
	telemetry.Zero(m.tokens, telemetry.Values("in", "out"))
	telemetry.Zero(m.failures, telemetry.Values(opDecision, opMark, opRecent, opSkipped))
	return m
}

// decided counts a decision and its time; a repeated one counts as that.
func (m *Metrics) decided(o outcome, took time.Duration) {
	m.times.WithLabelValues(o.Verdict).Observe(took.Seconds())
	if o.repeat {
		m.repeats.Inc()
		return
	}
	m.decisions.WithLabelValues(o.Verdict, o.Reason).Inc()
	// A counter refuses to go down, and a provider may report anything.
	m.tokens.WithLabelValues("in").Add(float64(max(o.Tokens.In, 0)))
	m.tokens.WithLabelValues("out").Add(float64(max(o.Tokens.Out, 0)))
}
