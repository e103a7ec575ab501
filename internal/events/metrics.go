package events

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"intenthint/internal/bus"
	"intenthint/internal/telemetry"
	"intenthint/subjects"
)

const namespace = "intenthint"

// labelOther is the label of unknown hooks, so that messages cannot create an
// unbounded number of time series.
const labelOther = "other"

// Metrics are the metrics of the event side. All sinks and publishers of a
// process share one.
type Metrics struct {
	// By sink and hook.
	applied, ignored, redeliveries, deadLetters, tooLarge *prometheus.CounterVec
	// By sink.
	pending, ackPending, lastApply, blocked *prometheus.GaugeVec

	publishRetries, lost prometheus.Counter

	letters, streamBytes, streamLimit telemetry.Reading

	waiting waiting
}

// waiting counts the messages of publishers that the stream has not acknowledged.
type waiting struct {
	mu sync.Mutex
	of []*Publisher
}

func (w *waiting) add(p *Publisher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of = append(w.of, p)
}

func (w *waiting) value() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := 0
	for _, p := range w.of {
		n, _ := p.waits()
		sum += n
	}
	return float64(sum)
}

// NewMetrics registers the metrics. A second call with the same registerer
// panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	counter := func(name, help string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{"sink", "hook"})
	}
	perSink := func(name, help string) *prometheus.GaugeVec {
		return auto.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{"sink"})
	}
	reading := func(name, help string) telemetry.Reading {
		return telemetry.NewReading(r, prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	}
	m := &Metrics{
		applied:        counter("events_applied_total", "Events applied by this process, by sink and hook."),
		ignored:        counter("events_ignored_total", "Events that belong to no session and were acknowledged without effect, by sink and hook."),
		redeliveries:   counter("redeliveries_total", "Deliveries of an event after the first, by sink and hook."),
		deadLetters:    counter("dead_letters_total", "Events that this process moved to the dead-letter stream, by sink and hook."),
		tooLarge:       counter("dead_letters_too_large_total", "Events that this process gave up without a dead letter, because the server refuses messages of that size, by sink and hook. They stay in the event stream."),
		pending:        perSink("consumer_pending", "Events in the stream that no process has received yet, by sink. Every process reports the same number."),
		ackPending:     perSink("consumer_ack_pending", "Events that some process has received and not acknowledged yet, by sink. Every process reports the same number."),
		lastApply:      perSink("last_apply_timestamp_seconds", "When this process last applied an event, in Unix seconds, by sink; 0 if it has not applied any."),
		blocked:        perSink("sink_blocked", "1 while a sink cannot apply events, for example because a disk is full, else 0. They wait in the stream meanwhile."),
		publishRetries: auto.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "publish_retries_total", Help: "Repeated attempts to publish an event."}),
		lost:           auto.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "events_lost_total", Help: "Answered turns that were never published, because too many waited for the stream, they were larger than the server takes, or the process stopped."}),
		letters:        reading("dead_letters_kept", "Messages in the dead-letter stream. Every process reports the same number."),
		streamBytes:    reading("event_stream_bytes", "Size of the event stream in bytes. Every process reports the same number."),
		streamLimit:    reading("event_stream_limit_bytes", "Size at which the event stream begins to drop its oldest events, in bytes; 0 for no limit."),
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "turns_waiting", Help: "Answered turns and other events of this process that the stream has not acknowledged yet. They are published when it takes them again."}, m.waiting.value)
	return m
}

// Expect creates the series of a sink, 0 at first, so that alerts can tell 0 from
// no data. hooks are the hooks whose events it gets; none means all.
func (m *Metrics) Expect(sink string, hooks []string) {
	if len(hooks) == 0 {
		hooks = subjects.Observations()
	}
	for _, c := range []*prometheus.CounterVec{m.applied, m.ignored, m.redeliveries, m.deadLetters, m.tooLarge} {
		telemetry.Zero(c, telemetry.Values(sink), append(slices.Clone(hooks), labelOther))
	}
	for _, g := range []*prometheus.GaugeVec{m.pending, m.ackPending, m.lastApply, m.blocked} {
		g.WithLabelValues(sink)
	}
}

// count adds one to the counter of a sink and a hook, which may be unknown.
func count(c *prometheus.CounterVec, sink, hook string) {
	if subjects.KindOf(hook) == subjects.Unknown {
		hook = labelOther
	}
	c.WithLabelValues(sink, hook).Inc()
}

// streamPause is the interval at which the sizes of the streams are read.
const streamPause = 15 * time.Second

// WatchStreams measures the event stream and the dead-letter stream until ctx
// ends. Gauges have no value while the server does not answer.
func WatchStreams(ctx context.Context, js jetstream.JetStream, l bus.Layout, m *Metrics) {
	tick := time.NewTicker(streamPause)
	defer tick.Stop()
	for {
		m.measure(ctx, js, l)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Metrics) measure(ctx context.Context, js jetstream.JetStream, l bus.Layout) {
	switch s, err := bus.FindStream(ctx, js, l.Stream); {
	case err == nil:
		info := s.CachedInfo()
		m.streamBytes.Set(float64(info.State.Bytes))
		m.streamLimit.Set(float64(max(info.Config.MaxBytes, 0)))
	case errors.Is(err, jetstream.ErrStreamNotFound):
		m.streamBytes.Set(0)
		m.streamLimit.Set(0)
	default:
		m.streamBytes.Unknown()
		m.streamLimit.Unknown()
	}
	switch s, err := bus.FindStream(ctx, js, l.DeadLetterStream()); {
	case err == nil:
		m.letters.Set(float64(s.CachedInfo().State.Msgs))
	case errors.Is(err, jetstream.ErrStreamNotFound):
		m.letters.Set(0)
	default:
		m.letters.Unknown()
	}
}
