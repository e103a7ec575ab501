package telemetry

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// LatencyBuckets are the buckets of every histogram of durations, in seconds:
// from 50 µs to 60 s.
var LatencyBuckets = []float64{
	50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3,
	1, 2.5, 5, 10, 30, 60,
}

// NewRegistry returns a registry with the metrics of the Go runtime, of the
// process, and the program's version. Each package adds its own.
func NewRegistry(version, commit string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: "intenthint_build_info", Help: "The version of the program and the commit it was built from; always 1."}, []string{"version", "commit"})
	info.WithLabelValues(version, commit).Set(1)
	return r
}

// Reading is a gauge of what is read elsewhere. It begins with 0, and has no series while
// its source cannot be read: an alert must not go by what was true before.
type Reading struct{ *prometheus.GaugeVec }

// NewReading registers a gauge.
func NewReading(r prometheus.Registerer, o prometheus.GaugeOpts) Reading {
	out := Reading{promauto.With(r).NewGaugeVec(o, nil)}
	out.Set(0)
	return out
}

// Set sets the value that was read.
func (r Reading) Set(value float64) { r.WithLabelValues().Set(value) }

// Unknown removes the value.
func (r Reading) Unknown() { r.Reset() }

// Zero creates the series of a metric for every combination of the values of its
// labels, 0 at first, so that alerts can tell 0 from no data. There are as many lists
// of values as the metric has labels.
func Zero[M any](metric interface{ WithLabelValues(values ...string) M }, values ...[]string) {
	combinations := [][]string{nil}
	for _, list := range values {
		var longer [][]string
		for _, before := range combinations {
			for _, value := range list {
				longer = append(longer, append(slices.Clone(before), value))
			}
		}
		combinations = longer
	}
	for _, c := range combinations {
		metric.WithLabelValues(c...)
	}
}

// Values returns the values of a label, for [Zero].
func Values[S ~string](values ...S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// Label bounds the number of values of a metric label, so that external
// messages cannot create an unlimited number of series.
type Label struct {
	limit int

	mu    sync.RWMutex
	known map[string]struct{}
}

// NewLabel returns a label with at most limit values, and "other".
func NewLabel(limit int) *Label { return &Label{limit: limit, known: make(map[string]struct{})} }

// Bound returns the value, or "other" once there are too many.
func (l *Label) Bound(value string) string {
	l.mu.RLock()
	_, ok := l.known[value]
	l.mu.RUnlock()
	if ok {
		return value
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.known[value]; !ok && len(l.known) >= l.limit {
		return "other"
	}
	l.known[value] = struct{}{}
	return value
}
