package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
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

	reloads map[reload]prometheus.Counter
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

// ConfigReload counts a reload of the configuration file; err is why it was
// refused.
func (m *Metrics) ConfigReload(err error) { m.reloads[reload{"config", err == nil}].Inc() }

// IntentsReload counts a reload of the intent files; err is what was wrong
// with one of them.
func (m *Metrics) IntentsReload(err error) { m.reloads[reload{"intents", err == nil}].Inc() }

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
