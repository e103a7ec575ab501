package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/classify"
	"intenthint/hint"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/httpserver"
	"intenthint/internal/telemetry"
	"intenthint/model"
	"intenthint/part"
	"intenthint/store"
)

// Metrics are the metrics of a process. All, with those of its parts, are
// registered before the process connects, so that a process that waits for its
// server is visible.
type Metrics struct {
	*prometheus.Registry
	models  *model.Metrics
	events  *events.Metrics
	hints   *hint.Metrics
	service *bus.Metrics

	// Asked at each scrape.
	ready, requestsConnected, eventsConnected probe
	healthy                                   healthyGauges

	sessions         telemetry.Reading
	learntExamples   prometheus.Gauge
	embeddingReady   prometheus.Gauge
	embeddings       *prometheus.CounterVec // by outcome
	clockOff         *prometheus.CounterVec // by direction
	reloads          *prometheus.CounterVec // by what was reloaded and the result
	configOK         prometheus.Gauge
	configReloadedAt prometheus.Gauge
}

// Values of the label "what" of reloads.
const (
	reloadConfig  = "config"
	reloadIntents = "intents"
)

// NewMetrics returns metrics in a registry of their own.
func NewMetrics(version, commit string) *Metrics {
	r := telemetry.NewRegistry(version, commit)
	auto := promauto.With(r)
	m := &Metrics{
		Registry: r, models: model.NewMetrics(r), events: events.NewMetrics(r), hints: hint.NewMetrics(r), service: bus.NewMetrics(r),
		sessions:         telemetry.NewReading(r, prometheus.GaugeOpts{Name: "intenthint_sessions", Help: "Sessions in the store, counted every five minutes. Processes that share a store report the same number."}),
		learntExamples:   auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_learnt_examples", Help: "Examples learnt from use that the local classifier of this process uses (HINT_LEARN); examples that do not fit its intent files do not count."}),
		embeddingReady:   auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_embedding_ready", Help: "1 while the embedding model is in use, 0 when none is configured or its vectors of the intents are missing."}),
		embeddings:       auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_embedding_messages_total", Help: "Messages whose local answer was needed while an embedding model was in use, by outcome: used; spared, the words were certain enough; unfit, in a language or of a kind that the built-in model does not support; conversation, the message needs the turns before it; busy, the limit of concurrent embeddings was reached; late; failed. In all but the first case the words answered alone."}, []string{"outcome"}),
		clockOff:         auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_gateway_clock_off_total", Help: "Requests whose time is more than a minute ahead of this process's clock, or behind it, by direction. The log names the gateway."}, []string{"direction"}),
		reloads:          auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_reloads_total", Help: "Reloads of the configuration and of the intent files, by result."}, []string{"what", "result"}),
		configOK:         auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_config_last_reload_successful", Help: "1 if the last attempt to load the configuration succeeded, 0 while the file is wrong and the last good configuration stays in use."}),
		configReloadedAt: auto.NewGauge(prometheus.GaugeOpts{Name: "intenthint_config_last_reload_success_timestamp_seconds", Help: "When the configuration was last loaded successfully, at the start or by a reload, in Unix seconds."}),
	}
	telemetry.Zero(m.embeddings, telemetry.Values(classify.EmbeddingOutcomes...))
	telemetry.Zero(m.clockOff, telemetry.Values(clockAhead, clockBehind))
	telemetry.Zero(m.reloads, telemetry.Values(reloadConfig, reloadIntents), telemetry.Values("ok", "error"))
	const connected = "intenthint_nats_connected"
	const connectedHelp = "1 while the connection to the NATS server is up, else 0, by connection."
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "intenthint_ready", Help: "1 while a request sent now would be answered, else 0; the same as /readyz."}, m.ready.value)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: connected, Help: connectedHelp, ConstLabels: prometheus.Labels{"connection": "requests"}}, m.requestsConnected.value)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: connected, Help: connectedHelp, ConstLabels: prometheus.Labels{"connection": "events"}}, m.eventsConnected.value)
	r.MustRegister(&m.healthy)
	return m
}

// healthyGauges are the gauges of the checks of /healthz.
type healthyGauges struct {
	run atomic.Pointer[func() httpserver.Report]
}

var healthyDesc = prometheus.NewDesc("intenthint_healthy", "1 while a check of /healthz is ok or not made yet, 0 while it fails, by check.", []string{"check"}, nil)

// Describe is that of a [prometheus.Collector].
func (g *healthyGauges) Describe(out chan<- *prometheus.Desc) { out <- healthyDesc }

// Collect makes the checks.
func (g *healthyGauges) Collect(out chan<- prometheus.Metric) {
	var report httpserver.Report
	if run := g.run.Load(); run != nil {
		report = (*run)()
	}
	for _, check := range healthChecks {
		value := 1.0
		if result, made := report.Checks[check]; made && !result.OK {
			value = 0
		}
		out <- prometheus.MustNewConstMetric(healthyDesc, prometheus.GaugeValue, value, check)
	}
}

// register adds the metrics of parts.
func (m *Metrics) register(parts []part.Part) {
	for _, p := range parts {
		if p.Metrics != nil {
			p.Metrics(m.Registry)
		}
	}
}

// reload counts a reload; err is nil when it succeeded.
func (m *Metrics) reload(what string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.reloads.WithLabelValues(what, result).Inc()
	if what == reloadConfig {
		m.configLoaded(err)
	}
}

// configLoaded records an attempt to load the configuration.
func (m *Metrics) configLoaded(err error) {
	if err != nil {
		m.configOK.Set(0)
		return
	}
	m.configOK.Set(1)
	m.configReloadedAt.SetToCurrentTime()
}

// embedding sets the embedding gauge.
func (m *Metrics) embedding(ready bool) {
	m.embeddingReady.Set(0)
	if ready {
		m.embeddingReady.Set(1)
	}
}

// sessionsPause is the interval at which the sessions are counted: counting
// reads the name of every session.
const sessionsPause = 5 * time.Minute

// countSessions counts the sessions of the store until ctx ends. The gauge has no
// value while they cannot be counted.
func (m *Metrics) countSessions(ctx context.Context, sessions store.Reader, log *slog.Logger) {
	once := func() bool {
		if n, err := sessions.Count(ctx); err == nil {
			m.sessions.Set(float64(n))
		} else if ctx.Err() == nil {
			m.sessions.Unknown()
			log.Debug("sessions not counted", "error", err)
		}
		return false
	}
	once()
	every(ctx, sessionsPause, once)
}

// probe is a gauge of a condition, 1 or 0; it is 0 until the condition is set.
type probe struct{ holds atomic.Pointer[func() bool] }

func (p *probe) ask(holds func() bool) { p.holds.Store(&holds) }

func (p *probe) value() float64 {
	if holds := p.holds.Load(); holds != nil && (*holds)() {
		return 1
	}
	return 0
}
