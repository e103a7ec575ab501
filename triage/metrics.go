package triage

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	told      prometheus.Counter
	marks     prometheus.Gauge
}

// NewMetrics registers the metrics; times are in seconds. A second call with the
// same registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_triage_decisions_total", Help: "Messages that the triage gate decided about, by decision and reason (the value of Triage-Reason). Repeated messages do not count.",
		}, []string{"decision", "reason"}),
		repeats: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "intenthint_triage_repeats_total", Help: "Messages that the triage gate had decided about before, in any process.",
		}),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "intenthint_triage_duration_seconds", Help: "Time from receiving a before_dispatch request to replying, by decision.",
			Buckets: telemetry.LatencyBuckets,
		}, []string{"decision"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_triage_tokens_total", Help: "Tokens of the triage model's answers, by direction. The model metrics count them too.",
		}, []string{"direction"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_triage_state_errors_total", Help: "Failed reads and writes of the shared state of the triage gate, by operation.",
		}, []string{"operation"}),
		told: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "intenthint_triage_skipped_told_total", Help: "Skipped messages that were told to the next turn of their group.",
		}),
		marks: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "intenthint_triage_marks", Help: "Messages marked by people that this process knows, 2000 at most.",
		}),
	}
	for _, reason := range reasons {
		m.decisions.WithLabelValues(state.Respond, string(reason))
	}
	for _, reason := range []Reason{TooShort, ByLocal, ByModel} {
		m.decisions.WithLabelValues(state.Skip, string(reason))
	}
	for _, decision := range []string{state.Respond, state.Skip} {
		m.times.WithLabelValues(decision)
	}
	for _, direction := range []string{"in", "out"} {
		m.tokens.WithLabelValues(direction)
	}
	for _, operation := range []string{opDecision, opMark, opRecent, opSkipped} {
		m.failures.WithLabelValues(operation)
	}
	r.MustRegister(m.decisions, m.repeats, m.times, m.tokens, m.failures, m.told, m.marks)
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
