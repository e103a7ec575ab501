package hint

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/hint/eligibility"
	"intenthint/hint/writer"
	"intenthint/internal/telemetry"
	"intenthint/payload"
)

// Outcomes of a request, and kinds of a skip (contract §3).
const (
	outcomeHint = "hint"
	// outcomePolicy means that the operator's rules exclude the turn, or that its
	// session already knows the hint.
	outcomePolicy = "policy"
	// outcomeUnsure means that the classifier answered below the minimum
	// confidence. Nothing is broken, so it is not counted as a failure.
	outcomeUnsure  = "unsure"
	outcomeFailure = "failure"
)

// maxIntents bounds the values of the label intent.
const maxIntents = 1000

// sources are the sources that classify a message.
var sources = []string{payload.SourceLocal, payload.SourceEmbedding, payload.SourceLLM, payload.SourceSystemOne}

// confidenceBuckets are tenths: thresholds, which the histogram helps to
// choose, are rarely finer.
var confidenceBuckets = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}

// Metrics are the metrics of requests and classifications. All hinters of a
// process share one.
type Metrics struct {
	hints       *prometheus.CounterVec // by source and intent
	intents     *telemetry.Label
	skips       *prometheus.CounterVec // by kind and reason
	badRequests prometheus.Counter
	requests    *prometheus.HistogramVec // by outcome
	classifiers *prometheus.HistogramVec // by source
	confidence  *prometheus.HistogramVec // by source
	skills      *prometheus.CounterVec   // by outcome
	writes      *prometheus.CounterVec   // by outcome
	writing     prometheus.Histogram
}

// Outcomes of a skill that an intent names.
const (
	skillNamed   = "named"   // in a hint, with its path
	skillUsed    = "used"    // read by the turn of the hint
	skillUnknown = "unknown" // the gateway lists no such skill
)

// NewMetrics registers the metrics; times are in seconds. A second call with the
// same registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	m := &Metrics{
		hints:       auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_hints_total", Help: "Hints given, by source of the classification (cache: a run that was requested again) and intent."}, []string{"source", "intent"}),
		intents:     telemetry.NewLabel(maxIntents),
		skips:       auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_skips_total", Help: "Requests answered without a hint, by reason (the value of Hint-Skip) and its kind: policy (excluded by the rules, or already known to the session), unsure (confidence too low), failure. With the reason late, hints that were in a reply, but came too late for the gateway."}, []string{"kind", "reason"}),
		badRequests: auto.NewCounter(prometheus.CounterOpts{Name: "intenthint_bad_requests_total", Help: "Malformed requests, refused with error code 400."}),
		requests:    auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_request_duration_seconds", Help: "Time from receiving a before_prompt_build request to replying, by outcome: hint, or the kind of the skip.", Buckets: telemetry.LatencyBuckets}, []string{"outcome"}),
		classifiers: auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_classification_duration_seconds", Help: "Time that a source took for its own answer, whether or not that answer was used. Failed model calls are not included.", Buckets: telemetry.LatencyBuckets}, []string{"source"}),
		confidence:  auto.NewHistogramVec(prometheus.HistogramOpts{Name: "intenthint_hint_confidence", Help: "Confidence (0 to 1) of classifications, by source, including those too low for a hint.", Buckets: confidenceBuckets}, []string{"source"}),
		skills:      auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_skill_hints_total", Help: "Skills that intents name, by outcome: named in a hint with their path, used (read by the turn of that hint), or unknown to the gateway."}, []string{"outcome"}),
		writes:      auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_writer_instructions_total", Help: "Hints whose intent's prompt the writer was asked to rewrite (HINT_WRITER), by outcome: written, cached (written earlier in the session), or the intent's own prompt because the writer was late, failed or overloaded."}, []string{"outcome"}),
		writing:     auto.NewHistogram(prometheus.HistogramOpts{Name: "intenthint_writer_duration_seconds", Help: "Time that a hint waited for the writer, for all outcomes but cached.", Buckets: telemetry.LatencyBuckets}),
	}
	for _, skip := range eligibility.All() {
		m.skips.WithLabelValues(kindOf(skip), string(skip))
	}
	telemetry.Zero(m.requests, telemetry.Values(outcomeHint, outcomePolicy, outcomeUnsure, outcomeFailure))
	telemetry.Zero(m.classifiers, sources)
	telemetry.Zero(m.confidence, sources)
	telemetry.Zero(m.skills, telemetry.Values(skillNamed, skillUsed, skillUnknown))
	telemetry.Zero(m.writes, telemetry.Values(writer.Outcomes()...))
	return m
}

func kindOf(reason eligibility.Skip) string {
	switch {
	case reason.Policy():
		return outcomePolicy
	case reason == eligibility.LowConfidence:
		return outcomeUnsure
	}
	return outcomeFailure
}

// Classified observes the time that a source took for its answer.
func (m *Metrics) Classified(source string, took time.Duration) {
	m.classifiers.WithLabelValues(source).Observe(took.Seconds())
}

// Hinted counts a reply with a hint. intent is an id of the catalogue.
func (m *Metrics) Hinted(source, intent string, took time.Duration) {
	m.hints.WithLabelValues(source, m.intents.Bound(intent)).Inc()
	m.requests.WithLabelValues(outcomeHint).Observe(took.Seconds())
}

// skip counts a reply without a hint.
func (m *Metrics) skip(reason eligibility.Skip, took time.Duration) {
	m.skips.WithLabelValues(kindOf(reason), string(reason)).Inc()
	m.requests.WithLabelValues(kindOf(reason)).Observe(took.Seconds())
}

// Late counts a hint that came too late for the gateway, which its reply counted as
// given.
func (m *Metrics) Late() {
	m.skips.WithLabelValues(kindOf(eligibility.Late), string(eligibility.Late)).Inc()
}

// sure observes the confidence of a classification.
func (m *Metrics) sure(source string, confidence float64) {
	m.confidence.WithLabelValues(source).Observe(confidence)
}

// skillsHinted counts the skills that the prompt of a hint's intent names.
func (m *Metrics) skillsHinted(named, unknown int) {
	m.skills.WithLabelValues(skillNamed).Add(float64(named))
	m.skills.WithLabelValues(skillUnknown).Add(float64(unknown))
}

// SkillUsed counts a skill that was read by the turn of its hint.
func (m *Metrics) SkillUsed() { m.skills.WithLabelValues(skillUsed).Inc() }

// wrote counts a hint for which the writer was asked.
func (m *Metrics) wrote(outcome writer.Outcome, took time.Duration) {
	m.writes.WithLabelValues(string(outcome)).Inc()
	if outcome != writer.Cached {
		m.writing.Observe(took.Seconds())
	}
}
