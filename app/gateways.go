package app

import (
	"log/slog"
	"regexp"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/hook"
	"intenthint/internal/text"
)

// Bounds of what is said of gateways.
const (
	// clockBound is how far a gateway's clock may be off. A request is answered, or
	// given up, within a minute, so an older time is no delay.
	clockBound = time.Minute
	// maxGateways bounds the connections that are remembered as named.
	maxGateways = 4096
	// maxShownVersion bounds a gateway's version in the log, in characters.
	maxShownVersion = 40
)

// Values of the label "direction" of the clocks of gateways.
const (
	clockAhead  = "ahead"
	clockBehind = "behind"
)

// gateways names what is wrong with the gateways that ask: of each connection once.
type gateways struct {
	version  string // of this program
	clockOff *prometheus.CounterVec
	named    *lru.Cache[string, struct{}] // by fault and connection
	log      *slog.Logger
}

func newGateways(version string, clockOff *prometheus.CounterVec, log *slog.Logger) *gateways {
	named, _ := lru.New[string, struct{}](maxGateways) // the size is valid
	return &gateways{version: version, clockOff: clockOff, named: named, log: log}
}

// asked looks at a request. The time of one without ts is not known.
func (g *gateways) asked(req *hook.Request) {
	if ts := req.Envelope.TS; ts != 0 {
		if off := time.UnixMilli(ts).Sub(req.Received); off.Abs() > clockBound {
			g.clock(req, off)
		}
	}
	if otherRelease(g.version, req.Version) && g.first("version", req.Caller) {
		g.log.Warn("gateway's plugin and consumer have different versions", "gateway", req.Caller, "agent", req.Context.Agent(),
			"plugin", text.OneLine(req.Version, maxShownVersion), "consumer", g.version)
	}
}

func (g *gateways) clock(req *hook.Request, off time.Duration) {
	direction := clockAhead
	if off < 0 {
		direction = clockBehind
	}
	g.clockOff.WithLabelValues(direction).Inc()
	if g.first("clock", req.Caller) {
		g.log.Warn("gateway's clock is off", "gateway", req.Caller, "agent", req.Context.Agent(), "direction", direction, "seconds", int64(off.Abs().Seconds()))
	}
}

// first reports whether a fault of a connection has not been named yet.
func (g *gateways) first(fault, caller string) bool {
	known, _ := g.named.ContainsOrAdd(fault+" "+caller, struct{}{})
	return !known
}

var releaseOf = regexp.MustCompile(`^v?(\d{1,6}\.\d{1,6})(?:[.+-]|$)`)

// otherRelease reports whether two versions differ in major or minor. One that is not
// known differs from none.
func otherRelease(one, other string) bool {
	if one == other {
		return false
	}
	a, b := releaseOf.FindStringSubmatch(one), releaseOf.FindStringSubmatch(other)
	return a != nil && b != nil && a[1] != b[1]
}
