package bus

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of endpoints.
type Metrics struct {
	inProgress *prometheus.GaugeVec   // by endpoint
	refused    *prometheus.CounterVec // by endpoint
}

// NewMetrics registers the metrics. A second call with the same registerer panics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	return &Metrics{
		inProgress: auto.NewGaugeVec(prometheus.GaugeOpts{Name: "intenthint_requests_in_flight", Help: "Requests in progress, by endpoint."}, []string{"endpoint"}),
		refused:    auto.NewCounterVec(prometheus.CounterOpts{Name: "intenthint_requests_overloaded_total", Help: "Requests refused because too many were in progress, by endpoint."}, []string{"endpoint"}),
	}
}

// Expect creates the series of an endpoint, 0 at first.
func (m *Metrics) Expect(endpoint string) (inProgress prometheus.Gauge, refused prometheus.Counter) {
	return m.inProgress.WithLabelValues(endpoint), m.refused.WithLabelValues(endpoint)
}
