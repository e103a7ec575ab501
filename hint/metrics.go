package hint

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/hint/eligibility"
	"intenthint/internal/telemetry"
	"intenthint/payload"
)

// Outcomes of a request, and kinds of a skip: policy follows the operator's
// rules, failure is an error (contract §3).
const (
	outcomeHint    = "hint"
	outcomePolicy  = "policy"
	outcomeFailure = "failure"
)

// maxIntents bounds the values of the label intent.
const maxIntents = 1000

// metrics counts requests by outcome. Durations are in seconds, from receipt.
type metrics struct {
	hints       *prometheus.CounterVec // by source and intent
	intents     *telemetry.Label
	skips       *prometheus.CounterVec // by kind and reason
	badRequests prometheus.Counter
	requests    *prometheus.HistogramVec // by outcome
	classifiers *prometheus.HistogramVec // by source
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		hints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_hints_total", Help: "Hints given, by source and intent.",
		}, []string{"source", "intent"}),
		intents: telemetry.NewLabel(maxIntents),
		skips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_skips_total", Help: "Requests answered without a hint, by kind (policy, failure) and reason.",
		}, []string{"kind", "reason"}),
		badRequests: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "intenthint_bad_requests_total", Help: "Requests refused with error code 400.",
		}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "intenthint_request_duration_seconds", Help: "Time from receipt of a before_prompt_build request to its reply, by outcome (hint, policy, failure).",
			Buckets: telemetry.LatencyBuckets,
		}, []string{"outcome"}),
		classifiers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "intenthint_classification_duration_seconds", Help: "Time that a classification took, by source (local, embedding, llm).",
			Buckets: telemetry.LatencyBuckets,
		}, []string{"source"}),
	}
	// Create these series at once, so that alerts can tell 0 from no data.
	for _, skip := range eligibility.All() {
		m.skips.WithLabelValues(kindOf(skip), string(skip))
	}
	for _, outcome := range []string{outcomeHint, outcomePolicy, outcomeFailure} {
		m.requests.WithLabelValues(outcome)
	}
	for _, source := range []string{payload.SourceLocal, payload.SourceEmbedding, payload.SourceLLM} {
		m.classifiers.WithLabelValues(source)
	}
	if registerer != nil {
		registerer.MustRegister(m.hints, m.skips, m.badRequests, m.requests, m.classifiers)
	}
	return m
}

func kindOf(reason eligibility.Skip) string {
	if reason.Policy() {
		return outcomePolicy
	}
	return outcomeFailure
}

// hint counts a reply with a hint. intent is an id of the catalogue.
func (m *metrics) hint(source, intent string, took time.Duration) {
	m.hints.WithLabelValues(source, m.intents.Bound(intent)).Inc()
	m.requests.WithLabelValues(outcomeHint).Observe(took.Seconds())
}

// skip counts a reply without a hint.
func (m *metrics) skip(reason eligibility.Skip, took time.Duration) {
	m.skips.WithLabelValues(kindOf(reason), string(reason)).Inc()
	m.requests.WithLabelValues(kindOf(reason)).Observe(took.Seconds())
}

// classified observes one classification.
func (m *metrics) classified(source string, took time.Duration) {
	m.classifiers.WithLabelValues(source).Observe(took.Seconds())
}
