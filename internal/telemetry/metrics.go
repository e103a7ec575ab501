package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"intenthint/eligibility"
	"intenthint/subjects"
)

const namespace = "intenthint"

// Kinds of a turn without a hint: policy is the operator's wish, failure is
// not (contract §3).
const (
	kindPolicy  = "policy"
	kindFailure = "failure"
)

// kindOf says which kind of skip a value of Hint-Skip is.
func kindOf(reason eligibility.Skip) string {
	if reason.Policy() {
		return kindPolicy
	}
	return kindFailure
}

// labelOther stands for label values beyond the known or the bounded ones, so
// that no message from outside can make time series without end.
const labelOther = "other"

// How many values a label may have that are not known beforehand.
const (
	maxIntents = 1000
	maxModels  = 50
)

// latencyBuckets are in seconds, from 50 µs to 60 s.
var latencyBuckets = []float64{
	50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
	1, 2.5, 5, 10, 30, 60,
}

// Metrics counts what the program does. All methods may be called by several
// goroutines at once. Names begin with intenthint_, times are in seconds.
type Metrics struct {
	registry *prometheus.Registry

	hintCounts     counters[hintLabels]
	skipCounts     map[string]prometheus.Counter // by reason
	skipOther      prometheus.Counter
	badRequests    prometheus.Counter
	requestTimes   struct{ hint, policy, failure prometheus.Observer }
	localTime      prometheus.Observer
	embeddingTime  prometheus.Observer
	modelTime      prometheus.Observer
	embeddingReady prometheus.Gauge
	inflight       prometheus.Gauge

	models *modelMetrics

	applied, ignored, deadLetters, redeliveries hookCounter

	lag, ackPending prometheus.Gauge
	publishRetries  prometheus.Counter
	reloads         map[reload]prometheus.Counter
}

type hintLabels struct{ source, intent string }

type reload struct {
	what string
	good bool
}

// NewMetrics returns metrics in a registry of their own, beside those of the
// Go runtime and of the process. Version is that of the program.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.gaugeVec("build_info", "The version of the program; always 1.", "version").WithLabelValues(version).Set(1)

	hints := m.counterVec("hints_total", "Hints given, by source and intent.", "source", "intent")
	m.hintCounts = counters[hintLabels]{
		limit:    maxIntents,
		resolve:  func(l hintLabels) prometheus.Counter { return hints.WithLabelValues(l.source, l.intent) },
		overflow: func(l hintLabels) hintLabels { return hintLabels{source: l.source, intent: labelOther} },
	}
	skips := m.counterVec("skips_total", "Requests answered without a hint, by kind (policy, failure) and reason.", "kind", "reason")
	m.skipCounts = make(map[string]prometheus.Counter)
	for _, skip := range eligibility.All() {
		reason, kind := string(skip), kindOf(skip)
		m.skipCounts[reason] = skips.WithLabelValues(kind, reason)
	}
	m.skipOther = skips.WithLabelValues(kindFailure, labelOther)
	m.badRequests = m.counter("bad_requests_total", "Requests that were refused with an error of code 400.")

	requests := m.histogramVec("request_duration_seconds", "Time from receipt of a before_prompt_build request to its reply, by outcome (hint, policy, failure).", "outcome")
	m.requestTimes.hint = requests.WithLabelValues("hint")
	m.requestTimes.policy = requests.WithLabelValues(kindPolicy)
	m.requestTimes.failure = requests.WithLabelValues(kindFailure)
	classifications := m.histogramVec("classification_duration_seconds", "Time that a classifier took, by source (local, embedding, llm).", "source")
	m.localTime = classifications.WithLabelValues("local")
	m.embeddingTime = classifications.WithLabelValues("embedding")
	m.modelTime = classifications.WithLabelValues("llm")
	m.embeddingReady = m.gauge("embedding_ready", "Whether the embedding model takes part (1), or there is none or its vectors of the intents are not there yet (0).")
	m.inflight = m.gauge("requests_in_flight", "Requests that were taken and are not answered yet.")

	m.models = newModelMetrics(m)

	m.applied = m.hookCounter("events_applied_total", "Events that became part of a session, by hook.")
	m.ignored = m.hookCounter("events_ignored_total", "Events that belong to no turn or to a hook that is not handled, by hook.")
	m.deadLetters = m.hookCounter("dead_letters_total", "Events that became dead letters, by hook.")
	m.redeliveries = m.hookCounter("redeliveries_total", "Deliveries of an event after the first, by hook.")
	m.lag = m.gauge("consumer_pending", "Events in the stream that the durable consumer has not been given yet.")
	m.ackPending = m.gauge("consumer_ack_pending", "Events given to consumer processes and not acknowledged yet.")
	m.publishRetries = m.counter("publish_retries_total", "Repeated attempts to publish an event.")

	reloads := m.counterVec("reloads_total", "Reloads of configuration and intent files, by result (ok, error).", "what", "result")
	m.reloads = make(map[reload]prometheus.Counter)
	for _, what := range []string{"config", "intents"} {
		m.reloads[reload{what, true}] = reloads.WithLabelValues(what, "ok")
		m.reloads[reload{what, false}] = reloads.WithLabelValues(what, "error")
	}
	return m
}

// Registry holds these metrics; [Listen] serves it.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Hint counts a reply with a hint. Source is a Hint-Source, intent an id of
// the catalogue, and elapsed the time in the consumer.
func (m *Metrics) Hint(source, intent string, elapsed time.Duration) {
	m.hintCounts.get(hintLabels{source, intent}).Inc()
	m.requestTimes.hint.Observe(elapsed.Seconds())
}

// Skip counts a reply without a hint. Reason is a Hint-Skip; package
// eligibility knows which of them are policy.
func (m *Metrics) Skip(reason string, elapsed time.Duration) {
	counter, ok := m.skipCounts[reason]
	if !ok {
		counter = m.skipOther
	}
	counter.Inc()
	if eligibility.Skip(reason).Policy() {
		m.requestTimes.policy.Observe(elapsed.Seconds())
	} else {
		m.requestTimes.failure.Observe(elapsed.Seconds())
	}
}

// BadRequest counts a request that got an error of code 400.
func (m *Metrics) BadRequest() { m.badRequests.Inc() }

// LocalClassified observes one run of the local classifier.
func (m *Metrics) LocalClassified(elapsed time.Duration) { m.localTime.Observe(elapsed.Seconds()) }

// EmbeddingClassified observes one classification with the help of the embedding
// model.
func (m *Metrics) EmbeddingClassified(elapsed time.Duration) {
	m.embeddingTime.Observe(elapsed.Seconds())
}

// EmbeddingReady says whether the embedding model takes part.
func (m *Metrics) EmbeddingReady(ready bool) {
	if ready {
		m.embeddingReady.Set(1)
	} else {
		m.embeddingReady.Set(0)
	}
}

// ModelClassified observes one run of the model path, all its attempts
// together.
func (m *Metrics) ModelClassified(elapsed time.Duration) { m.modelTime.Observe(elapsed.Seconds()) }

// InFlight adds to the number of classifications that are being made: 1 when
// one begins, -1 when it is done.
func (m *Metrics) InFlight(delta int) { m.inflight.Add(float64(delta)) }

// EventApplied counts an event of a hook that became part of a session.
func (m *Metrics) EventApplied(hook string) { m.applied.of(hook).Inc() }

// EventIgnored counts an event that belongs to no turn, or to a hook that is
// not handled.
func (m *Metrics) EventIgnored(hook string) { m.ignored.of(hook).Inc() }

// DeadLetter counts an event that became a dead letter; hook is "" or "_"
// when it is not known.
func (m *Metrics) DeadLetter(hook string) { m.deadLetters.of(hook).Inc() }

// Redelivery counts a delivery of an event after the first.
func (m *Metrics) Redelivery(hook string) { m.redeliveries.of(hook).Inc() }

// Lag sets how many events the durable consumer has still to be given, and
// how many of those given are not acknowledged.
func (m *Metrics) Lag(pending uint64, ackPending int) {
	m.lag.Set(float64(pending))
	m.ackPending.Set(float64(ackPending))
}

// PublishRetry counts a repeated attempt to publish an event.
func (m *Metrics) PublishRetry() { m.publishRetries.Inc() }

// ConfigReload counts a reload of the configuration file; err is why it was
// refused.
func (m *Metrics) ConfigReload(err error) { m.reloads[reload{"config", err == nil}].Inc() }

// IntentsReload counts a reload of the intent files; err is what was wrong
// with one of them.
func (m *Metrics) IntentsReload(err error) { m.reloads[reload{"intents", err == nil}].Inc() }

// hookCounter is a counter by hook. All hooks that a gateway can fire have
// their series, the rest is "other".
type hookCounter struct {
	vec   *prometheus.CounterVec
	known *sync.Map // hook → prometheus.Counter
}

func (m *Metrics) hookCounter(name, help string) hookCounter {
	return hookCounter{vec: m.counterVec(name, help, "hook"), known: new(sync.Map)}
}

func (c hookCounter) of(hook string) prometheus.Counter {
	if counter, ok := c.known.Load(hook); ok {
		return counter.(prometheus.Counter) //nolint:forcetypeassert,revive // Only counters are stored.
	}
	if subjects.KindOf(hook) == subjects.Unknown {
		return c.vec.WithLabelValues(labelOther)
	}
	counter := c.vec.WithLabelValues(hook)
	c.known.Store(hook, counter)
	return counter
}

// counters resolves label values to a counter once, up to limit different
// ones; what comes later counts under what overflow makes of its labels.
type counters[L comparable] struct {
	limit    int64
	resolve  func(L) prometheus.Counter
	overflow func(L) L

	known sync.Map // L → prometheus.Counter
	size  atomic.Int64
}

func (c *counters[L]) get(labels L) prometheus.Counter {
	if counter, ok := c.known.Load(labels); ok {
		return counter.(prometheus.Counter) //nolint:forcetypeassert,revive // Only counters are stored.
	}
	if c.size.Add(1) > c.limit {
		c.size.Add(-1)
		return c.resolve(c.overflow(labels))
	}
	counter, loaded := c.known.LoadOrStore(labels, c.resolve(labels))
	if loaded {
		c.size.Add(-1)
	}
	return counter.(prometheus.Counter) //nolint:forcetypeassert,revive // Only counters are stored.
}

func (m *Metrics) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return m.counterVec(name, help).WithLabelValues()
}

func (m *Metrics) gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return m.gaugeVec(name, help).WithLabelValues()
}

func (m *Metrics) histogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: latencyBuckets,
	}, labels)
	m.registry.MustRegister(vec)
	return vec
}
