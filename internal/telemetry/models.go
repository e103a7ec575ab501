package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/classify"
)

// modelMetrics are metrics by model. A model is named in the configuration or,
// for the model of a run, by the gateway, which is why their number is bounded.
type modelMetrics struct {
	calls  *prometheus.CounterVec
	times  *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	open   *prometheus.GaugeVec

	mu    sync.Mutex
	byRef map[string]*modelCounters
}

type modelCounters struct {
	calls           map[classify.Outcome]prometheus.Counter
	time            prometheus.Observer
	in, out, cached prometheus.Counter
	open            prometheus.Gauge
}

func newModelMetrics(m *Metrics) *modelMetrics {
	return &modelMetrics{
		calls:  m.counterVec("model_calls_total", "Calls of models, by model and outcome.", "model", "outcome"),
		times:  m.histogramVec("model_call_duration_seconds", "Time that a model call took, by model.", "model"),
		tokens: m.counterVec("model_tokens_total", "Tokens of model calls, by model and direction (in, out, cached); cached are part of in.", "model", "direction"),
		open:   m.gaugeVec("model_breaker_open", "Whether a model is left alone because it failed again and again (1) or not (0), by model; how many of them for other.", "model"),
		byRef:  make(map[string]*modelCounters),
	}
}

// ModelCall counts one attempt to ask a model.
func (m *Metrics) ModelCall(call classify.Call) {
	c := m.models.of(call.Ref)
	counter, ok := c.calls[call.Outcome]
	if !ok {
		counter = c.calls[classify.OutcomeFailed]
	}
	counter.Inc()
	switch call.Outcome {
	case classify.OutcomeOpen, classify.OutcomeShared:
		return // there was no call
	}
	c.time.Observe(call.Duration.Seconds())
	// A counter refuses to go down, and a provider may report anything.
	c.in.Add(float64(max(call.Usage.InputTokens, 0)))
	c.out.Add(float64(max(call.Usage.OutputTokens, 0)))
	c.cached.Add(float64(max(call.Usage.CachedTokens, 0)))
}

// ModelBreaker says that the model provider/model begins to be left alone
// (open), or that it answers again; the two take turns.
func (m *Metrics) ModelBreaker(ref string, open bool) {
	gauge := m.models.of(ref).open
	if open {
		gauge.Inc()
	} else {
		gauge.Dec()
	}
}

func (m *modelMetrics) of(ref string) *modelCounters {
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
	c := &modelCounters{
		calls:  make(map[classify.Outcome]prometheus.Counter),
		open:   m.open.WithLabelValues(ref),
		time:   m.times.WithLabelValues(ref),
		in:     m.tokens.WithLabelValues(ref, "in"),
		out:    m.tokens.WithLabelValues(ref, "out"),
		cached: m.tokens.WithLabelValues(ref, "cached"),
	}
	for _, outcome := range classify.Outcomes() {
		c.calls[outcome] = m.calls.WithLabelValues(ref, string(outcome))
	}
	m.byRef[ref] = c
	return c
}
