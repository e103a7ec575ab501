package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"intenthint/subjects"
)

const namespace = "intenthint"

// labelOther stands for label values beyond the known or the bounded ones, so
// that no message from outside can make time series without end.
const labelOther = "other"

// maxModels bounds the values of the label model.
const maxModels = 50

// LatencyBuckets are in seconds, from 50 µs to 60 s.
var LatencyBuckets = []float64{
	50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
	1, 2.5, 5, 10, 30, 60,
}

// Metrics counts what the program does. All methods may be called by several
// goroutines at once. Names begin with intenthint_, times are in seconds.
type Metrics struct {
	registry *prometheus.Registry

	embeddingReady prometheus.Gauge

	models *modelMetrics

	applied, ignored, deadLetters, redeliveries hookCounter

	lag, ackPending prometheus.Gauge
	publishRetries  prometheus.Counter
	reloads         map[reload]prometheus.Counter
}

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

	m.embeddingReady = m.gauge("embedding_ready", "Whether the embedding model takes part (1), or there is none or its vectors of the intents are not there yet (0).")

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

// EmbeddingReady says whether the embedding model takes part.
func (m *Metrics) EmbeddingReady(ready bool) {
	if ready {
		m.embeddingReady.Set(1)
	} else {
		m.embeddingReady.Set(0)
	}
}

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

// hookCounter is a counter by hook. A hook that gateways can fire has its series
// from the first time on; the rest is "other".
type hookCounter struct{ vec *prometheus.CounterVec }

func (m *Metrics) hookCounter(name, help string) hookCounter {
	return hookCounter{m.counterVec(name, help, "hook")}
}

func (c hookCounter) of(hook string) prometheus.Counter {
	if subjects.KindOf(hook) == subjects.Unknown {
		hook = labelOther
	}
	return c.vec.WithLabelValues(hook)
}

// Label bounds the values of a metric's label whose number nobody knows
// beforehand, so that no message from outside can make series without end.
type Label struct {
	limit int

	mu    sync.RWMutex
	known map[string]struct{}
}

// NewLabel returns a label with at most so many values, and "other".
func NewLabel(limit int) *Label { return &Label{limit: limit, known: make(map[string]struct{})} }

// Bound returns the value, or "other" once there are too many.
func (b *Label) Bound(value string) string {
	b.mu.RLock()
	_, ok := b.known[value]
	b.mu.RUnlock()
	if ok {
		return value
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= b.limit {
		return labelOther
	}
	b.known[value] = struct{}{}
	return value
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
		Namespace: namespace, Name: name, Help: help, Buckets: LatencyBuckets,
	}, labels)
	m.registry.MustRegister(vec)
	return vec
}
