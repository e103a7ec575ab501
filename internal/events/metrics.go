package events

import (
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/subjects"
)

const namespace = "intenthint"

// labelOther is the label of unknown hooks, so that messages cannot create an
// unbounded number of time series.
const labelOther = "other"

// Metrics are the figures of the event side. All sinks and publishers of a
// process share one.
type Metrics struct {
	// By sink and hook.
	applied, ignored, redeliveries, deadLetters *prometheus.CounterVec
	// By sink.
	pending, ackPending *prometheus.GaugeVec

	publishRetries prometheus.Counter
}

// NewMetrics registers the metrics. A second call with the same registerer
// panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{"sink", "hook"})
		r.MustRegister(vec)
		return vec
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"sink"})
		r.MustRegister(vec)
		return vec
	}
	m := &Metrics{
		applied:      counter("events_applied_total", "Events that were applied, by sink and hook."),
		ignored:      counter("events_ignored_total", "Events that a sink ignored, by sink and hook."),
		redeliveries: counter("redeliveries_total", "Deliveries of an event after the first, by sink and hook."),
		deadLetters:  counter("dead_letters_total", "Events that became dead letters, by sink and hook."),
		pending:      gauge("consumer_pending", "Events in the stream that the durable of a sink has not been given yet."),
		ackPending:   gauge("consumer_ack_pending", "Events given to consumer processes and not acknowledged yet, by sink."),
		publishRetries: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "publish_retries_total", Help: "Repeated attempts to publish an event.",
		}),
	}
	r.MustRegister(m.publishRetries)
	return m
}

// sinkMetrics are the metrics of one sink.
type sinkMetrics struct {
	applied, ignored, redeliveries, deadLetters *prometheus.CounterVec // by hook
	pending, ackPending                         prometheus.Gauge
}

func (m *Metrics) of(sink string) sinkMetrics {
	is := prometheus.Labels{"sink": sink}
	return sinkMetrics{
		applied:      m.applied.MustCurryWith(is),
		ignored:      m.ignored.MustCurryWith(is),
		redeliveries: m.redeliveries.MustCurryWith(is),
		deadLetters:  m.deadLetters.MustCurryWith(is),
		pending:      m.pending.With(is),
		ackPending:   m.ackPending.With(is),
	}
}

// count adds one to the counter of a hook, which may be unknown.
func count(c *prometheus.CounterVec, hook string) {
	if subjects.KindOf(hook) == subjects.Unknown {
		hook = labelOther
	}
	c.WithLabelValues(hook).Inc()
}
