package knowhub

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/internal/telemetry"
	"intenthint/knowhub/experience"
)

// Metrics are the metrics of KnowHub. All services of a process share one.
type Metrics struct {
	verbs     *prometheus.CounterVec // by verb and outcome
	decisions *prometheus.CounterVec // by status
	searches  prometheus.Histogram
	failures  *prometheus.CounterVec // by operation
	rebuilds  prometheus.Counter
	ready     prometheus.Gauge
	revision  prometheus.Gauge
	recalled  prometheus.Counter
	reminders prometheus.Counter
	extracted *prometheus.CounterVec // by outcome
}

// Values of the label outcome of verbs.
const (
	outcomeOK    = "ok"
	outcomeBad   = "refused" // 400–499
	outcomeError = "error"
)

// Values of the label outcome of extractions.
const (
	outcomeNew       = "new"
	outcomeKnown     = "known"
	outcomeUnsure    = "low_confidence"
	outcomeUnusable  = "unusable"
	outcomeNone      = "none"
	outcomeAskFailed = "failed"
)

// NewMetrics registers the metrics; times are in seconds. A second call with the
// same registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	m := &Metrics{
		verbs:     auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_knowhub_requests_total", Help: "Requests to KnowHub over HTTP and NATS, by verb and outcome: ok, refused (the caller's fault) or error."}, []string{"verb", "outcome"}),
		decisions: auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_knowhub_decisions_total", Help: "Decisions of people about experiences in this process, by status."}, []string{"status"}),
		searches:  auto.NewHistogram(prometheus.HistogramOpts{Name: "intenthint_knowhub_search_duration_seconds", Help: "Time of a search in the index of experiences.", Buckets: telemetry.LatencyBuckets}),
		failures:  auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_knowhub_errors_total", Help: "Failed operations on the experiences, their index and the turns of sessions, by operation."}, []string{"operation"}),
		rebuilds:  auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_knowhub_index_rebuilds_total", Help: "Rebuilds of the index of experiences, including the first build."}),
		ready:     auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_knowhub_index_ready", Help: "1 while the index of experiences follows the bucket, 0 before it has caught up."}),
		revision:  auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_knowhub_index_revision", Help: "Revision of the bucket that the index of experiences has reached."}),
		recalled:  auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_knowhub_recalled_total", Help: "Experiences that were put in front of prompts."}),
		reminders: auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_knowhub_reminders_total", Help: "Reminders that were put in front of prompts."}),
		extracted: auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_knowhub_extracted_total", Help: "Experiences that a model extracted, by outcome: new, known, low_confidence or unusable; none and failed count conversations: those in which the gate expects no experience, and those for which no model answered."}, []string{"outcome"}),
	}
	for _, verb := range verbs {
		telemetry.Zero(m.verbs, telemetry.Values(verb.name), telemetry.Values(outcomeOK, outcomeBad, outcomeError))
	}
	telemetry.Zero(m.decisions, telemetry.Values(experience.Approved, experience.Rejected))
	telemetry.Zero(m.failures, telemetry.Values("keep", "search", "list", "content", "decide", opTurns))
	telemetry.Zero(m.extracted, telemetry.Values(outcomeNew, outcomeKnown, outcomeUnsure, outcomeUnusable, outcomeNone, outcomeAskFailed))
	return m
}

// opTurns is the operation of counting turns in errors.
const opTurns = "turns"
