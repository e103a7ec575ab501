package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/events"
	"intenthint/internal/telemetry"
	"intenthint/model"
)

// Metrics are those of a process. Each part registers its own.
type Metrics struct {
	*prometheus.Registry
	models *model.Metrics
	events *events.Metrics

	embeddingReady prometheus.Gauge
	reloads        *prometheus.CounterVec // by what was reloaded and the result
}

// Values of the label "what" of reloads.
const (
	reloadConfig  = "config"
	reloadIntents = "intents"
)

// NewMetrics returns metrics in a registry of their own.
func NewMetrics(version string) *Metrics {
	r := telemetry.NewRegistry(version)
	m := &Metrics{
		Registry: r, models: model.NewMetrics(r), events: events.NewMetrics(r),
		embeddingReady: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "intenthint_embedding_ready", Help: "1 while the embedding model is in use, 0 when no model is configured or its vectors of the intents are missing.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "intenthint_reloads_total", Help: "Reloads of configuration and intent files, by result (ok, error).",
		}, []string{"what", "result"}),
	}
	for _, what := range []string{reloadConfig, reloadIntents} {
		for _, result := range []string{"ok", "error"} {
			m.reloads.WithLabelValues(what, result)
		}
	}
	r.MustRegister(m.embeddingReady, m.reloads)
	return m
}

// reload counts a reload; err is nil when it succeeded.
func (m *Metrics) reload(what string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.reloads.WithLabelValues(what, result).Inc()
}

// ready sets the embedding gauge.
func (m *Metrics) ready(embedding bool) {
	m.embeddingReady.Set(0)
	if embedding {
		m.embeddingReady.Set(1)
	}
}
