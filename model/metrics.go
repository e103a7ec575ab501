package model

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxModels is how many models have metrics of their own, others are "other": a
// model is named in the configuration or, for the model of a run, by the gateway.
const (
	maxModels  = 50
	labelOther = "other"
)

// Metrics counts calls of models. It implements [Observer] and
// [BreakerObserver].
type Metrics struct {
	calls  *prometheus.CounterVec
	times  *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	open   *prometheus.GaugeVec

	mu    sync.Mutex
	byRef map[string]*modelMetrics
}

// modelMetrics are those of one model.
type modelMetrics struct {
	calls           map[Outcome]prometheus.Counter
	time            prometheus.Observer
	in, out, cached prometheus.Counter
	open            prometheus.Gauge
}

// NewMetrics registers the metrics of models; times are in seconds.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const namespace = "intenthint"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		calls: counter("model_calls_total", "Calls of models, by model and outcome.", "model", "outcome"),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "model_call_duration_seconds", Help: "Time that a model call took, by model.",
			Buckets: []float64{
				50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
				1, 2.5, 5, 10, 30, 60,
			},
		}, []string{"model"}),
		tokens: counter("model_tokens_total", "Tokens of model calls, by model and direction (in, out, cached); cached are part of in.", "model", "direction"),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "model_breaker_open", Help: "1 while the model's circuit breaker is open, by model; for other, how many of them are.",
		}, []string{"model"}),
		byRef: make(map[string]*modelMetrics),
	}
	r.MustRegister(m.calls, m.times, m.tokens, m.open)
	return m
}

// ModelCalled implements [Observer].
func (m *Metrics) ModelCalled(call Call) {
	c := m.of(call.Ref)
	counter, ok := c.calls[call.Outcome]
	if !ok {
		counter = c.calls[OutcomeFailed]
	}
	counter.Inc()
	if call.Outcome == OutcomeOpen || call.Outcome == OutcomeShared {
		return // there was no call
	}
	c.time.Observe(call.Duration.Seconds())
	// A counter refuses to go down, and a provider may report anything.
	c.in.Add(float64(max(call.Usage.InputTokens, 0)))
	c.out.Add(float64(max(call.Usage.OutputTokens, 0)))
	c.cached.Add(float64(max(call.Usage.CachedTokens, 0)))
}

// BreakerOpened implements [BreakerObserver].
func (m *Metrics) BreakerOpened(ref string, _ time.Duration, _ error) { m.of(ref).open.Inc() }

// BreakerClosed implements [BreakerObserver].
func (m *Metrics) BreakerClosed(ref string) { m.of(ref).open.Dec() }

func (m *Metrics) of(ref string) *modelMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.byRef[ref]; ok {
		return c
	}
	if len(m.byRef) >= maxModels {
		ref = labelOther
		if c, ok := m.byRef[ref]; ok {
			return c
		}
	}
	c := &modelMetrics{
		calls:  make(map[Outcome]prometheus.Counter),
		open:   m.open.WithLabelValues(ref),
		time:   m.times.WithLabelValues(ref),
		in:     m.tokens.WithLabelValues(ref, "in"),
		out:    m.tokens.WithLabelValues(ref, "out"),
		cached: m.tokens.WithLabelValues(ref, "cached"),
	}
	for _, outcome := range outcomes {
		c.calls[outcome] = m.calls.WithLabelValues(ref, string(outcome))
	}
	m.byRef[ref] = c
	return c
}
