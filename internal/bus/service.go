package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/loglimit"
	"intenthint/subjects"
)

// Request is one message at an endpoint.
type Request struct {
	Subject string
	Data    []byte
	// Received is when the request left the client's buffer.
	Received time.Time
	// Timeout is the caller's whole budget (Hint-Timeout-Ms), 0 if unknown.
	Timeout     time.Duration
	Traceparent string
	// Version is that of the caller's plugin, "" if unknown.
	Version string
	// Caller identifies the connection that the request comes from.
	Caller string
	// MaxReply is the largest allowed body of a reply, in bytes; 0 if unknown.
	MaxReply int
}

// Reply is the answer to a request: an error reply if Error is not "".
type Reply struct {
	Body   []byte
	Header nats.Header
	Code   int
	Error  string
}

// Endpoint answers the requests of one subject. Subjects of endpoints must not
// overlap: the server would give each a part of the messages.
type Endpoint struct {
	// Name, shown by `nats micro info`, consists of letters, digits, - and _.
	Name string
	// Subject may end in a wildcard.
	Subject  string
	Metadata map[string]string
	// Bound limits the requests in progress; the zero value is [DefaultBound].
	Bound Bound
	// Answer calls reply once, on any goroutine. It runs on its own goroutine and
	// may block. The request is in progress until it returns.
	Answer func(ctx context.Context, r Request, reply func(Reply))
	// Overloaded is the answer to a request beyond the bound. It must not block.
	Overloaded func(Request) Reply
}

// ServiceOptions name a service in the framework's lists.
type ServiceOptions struct {
	Layout      Layout
	Name        string
	Version     string // semantic version
	Description string
	Metadata    map[string]string
	// Metrics are shared by all services of a process; nil for none.
	Metrics *Metrics
	Log     *slog.Logger
}

// Bounds of the messages that wait in the client for a subscription's
// goroutine. It passes every request on at once, so only an overloaded machine
// reaches them.
const (
	pendingRequests     = 65536
	pendingRequestBytes = 256 << 20
)

// Service answers requests through the NATS service framework.
type Service struct {
	svc       micro.Service
	nc        *nats.Conn
	prefix    subjects.Prefix
	version   string
	log       *slog.Logger
	lines     loglimit.Limit
	endpoints map[string]*endpoint
	// unanswered counts received requests without a reply.
	unanswered atomic.Int64
}

// endpoint is an [Endpoint] with its statistics.
type endpoint struct {
	Endpoint
	service *Service
	gate    *gate
	line    *line

	inProgress prometheus.Gauge
	refused    prometheus.Counter

	waiting chan func() // idle goroutines receive from it
	idle    atomic.Int64

	requests, errors atomic.Uint64
	nanos            atomic.Int64
}

// StartService begins to answer the requests of the endpoints. Those in progress
// may run until ctx ends. [Bus.Subscribed] waits until the server has taken the
// subscriptions.
func StartService(ctx context.Context, nc *nats.Conn, o ServiceOptions, endpoints ...Endpoint) (*Service, error) {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	s := &Service{nc: nc, prefix: o.Layout.Prefix, version: o.Version, log: o.Log, endpoints: make(map[string]*endpoint)}
	for _, e := range endpoints {
		own := &endpoint{Endpoint: e, service: s, gate: newGate(e.Bound), waiting: make(chan func())}
		own.line = newLine(func(answer func()) { own.start(ctx, answer) })
		own.inProgress, own.refused = o.Metrics.Expect(e.Name)
		s.endpoints[e.Name] = own
	}
	svc, err := micro.AddService(nc, micro.Config{
		Name:         o.Name,
		Version:      o.Version,
		Description:  o.Description,
		Metadata:     o.Metadata,
		QueueGroup:   o.Layout.QueueGroup,
		StatsHandler: func(e *micro.Endpoint) any { return s.endpoints[e.Name].stats() },
		ErrorHandler: func(_ micro.Service, e *micro.NATSError) {
			s.lines.Warn(o.Log, "request service error", "subject", e.Subject, "error", e.Description)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("request service: %w", err)
	}
	s.svc = svc
	for _, e := range endpoints {
		own := s.endpoints[e.Name]
		err := svc.AddEndpoint(e.Name, micro.HandlerFunc(func(r micro.Request) { own.take(ctx, r) }),
			micro.WithEndpointSubject(e.Subject),
			micro.WithEndpointPendingLimits(pendingRequests, pendingRequestBytes),
			micro.WithEndpointMetadata(e.Metadata),
		)
		if err != nil {
			_ = svc.Stop()
			return nil, fmt.Errorf("request service: endpoint %s: %w", e.Name, err)
		}
	}
	return s, nil
}

// ID returns the id of this instance of the service, see [Instances].
func (s *Service) ID() string { return s.svc.Info().ID }

// take hands a request to another goroutine: the framework calls handlers one
// after another, and an answer may wait for a model.
func (e *endpoint) take(ctx context.Context, r micro.Request) {
	received := time.Now()
	e.service.unanswered.Add(1)
	from, size := callerOf(r.Reply(), r.Headers()), len(r.Data())
	if !e.gate.enter(from, size) {
		e.refused.Inc()
		e.finish(r, received, e.Overloaded(e.request(r, from, received)))
		return
	}
	e.inProgress.Inc()
	e.line.serve(from.conn, func() {
		defer func() {
			e.gate.leave(from, size)
			e.inProgress.Dec()
		}()
		e.Answer(ctx, e.request(r, from, received), func(reply Reply) { e.finish(r, received, reply) })
	})
}

// start calls answer on an idle goroutine, or on a new one.
func (e *endpoint) start(ctx context.Context, answer func()) {
	select {
	case e.waiting <- answer:
	default:
		go e.work(ctx, answer)
	}
}

// maxIdle is how many goroutines of an endpoint wait for requests: as many as
// usually come at once. Each keeps a stack of some 32 kB.
const maxIdle = 32

// work answers a request, and then others until ctx ends: the stack of a new
// goroutine grows several times during an answer, which takes 10 of 140 µs.
func (e *endpoint) work(ctx context.Context, answer func()) {
	for {
		answer()
		if e.idle.Add(1) > maxIdle {
			e.idle.Add(-1)
			return
		}
		select {
		case answer = <-e.waiting:
			e.idle.Add(-1)
		case <-ctx.Done():
			return
		}
	}
}

// replyHeaders is the part of a reply's size that is reserved for its headers, in
// bytes.
const replyHeaders = 4 << 10

func (e *endpoint) request(r micro.Request, from caller, received time.Time) Request {
	headers := nats.Header(r.Headers())
	return Request{
		Subject:     r.Subject(),
		Data:        r.Data(),
		Received:    received,
		Timeout:     timeoutOf(headers),
		Traceparent: headers.Get(subjects.HeaderTraceparent),
		Version:     headers.Get(subjects.HeaderVersion),
		Caller:      from.conn,
		MaxReply:    int(e.service.nc.MaxPayload()) - replyHeaders,
	}
}

func (e *endpoint) finish(r micro.Request, received time.Time, reply Reply) {
	if !e.service.reply(r, reply) || reply.Error != "" {
		e.errors.Add(1)
	}
	e.nanos.Add(int64(time.Since(received)))
	e.requests.Add(1)
	e.service.unanswered.Add(-1)
}

// reply sends a reply and reports whether that could be done.
func (s *Service) reply(r micro.Request, reply Reply) bool {
	msg := &nats.Msg{Subject: r.Reply(), Data: reply.Body, Header: reply.Header}
	versioned := nats.Header(r.Headers()).Get(subjects.HeaderVersion) != ""
	if msg.Header == nil && (versioned || reply.Error != "") {
		msg.Header = nats.Header{}
	}
	if versioned {
		msg.Header.Set(subjects.HeaderVersion, s.version)
	}
	if reply.Error != "" {
		msg.Header.Set(subjects.HeaderErrorCode, strconv.Itoa(reply.Code))
		msg.Header.Set(subjects.HeaderError, reply.Error)
	}
	if msg.Subject == "" {
		return true // published without a reply subject
	}
	if !s.isInbox(msg.Subject) {
		s.lines.Warn(s.log, "reply subject is not an inbox", "subject", r.Subject(), "reply", msg.Subject)
		return true
	}
	// r.Respond would race with the framework, which reads its own statistics as
	// soon as take has returned.
	err := s.nc.PublishMsg(msg)
	if err == nil {
		return true
	}
	s.lines.Warn(s.log, "reply not sent", "subject", r.Subject(), "bytes", msg.Size(), "error", err)
	if errors.Is(err, nats.ErrMaxPayload) {
		// The caller still needs an answer, and the diagnostics.
		if msg.Header == nil {
			msg.Header = nats.Header{}
		}
		msg.Data = []byte("{}")
		msg.Header.Set(subjects.HeaderErrorCode, "500")
		msg.Header.Set(subjects.HeaderError, "the answer is larger than the server's max_payload")
		_ = s.nc.PublishMsg(msg)
	}
	return false
}

// isInbox reports whether a reply may go to a subject. The caller chooses it and
// may have fewer permissions than this user: "{}" sent to the JetStream API
// deletes a stream (contract §2).
func (s *Service) isInbox(reply string) bool {
	return !strings.HasPrefix(reply, "$") && !s.prefix.Holds(reply)
}

// timeoutOf returns the caller's budget, 0 if it gave none. A budget that is used up
// becomes the shortest possible one.
func timeoutOf(h nats.Header) time.Duration {
	ms, err := strconv.ParseFloat(h.Get(subjects.HeaderTimeoutMs), 64)
	if err != nil || math.IsNaN(ms) {
		return 0
	}
	return max(1, time.Duration(min(ms, 24*60*60*1000)*float64(time.Millisecond)))
}

// serviceStats are the statistics of an endpoint, shown by `nats micro stats`.
type serviceStats struct {
	Requests uint64 `json:"requests"` // answered, also with an error
	Errors   uint64 `json:"errors"`
	Inflight int    `json:"inflight"`
	// AverageMs is the mean time from receipt to reply, in milliseconds.
	AverageMs float64 `json:"average_ms"`
}

func (e *endpoint) stats() serviceStats {
	out := serviceStats{Requests: e.requests.Load(), Errors: e.errors.Load(), Inflight: e.gate.inProgress()}
	if out.Requests > 0 {
		out.AverageMs = float64(e.nanos.Load()) / float64(out.Requests) / float64(time.Millisecond)
	}
	return out
}

// Stop takes no further requests and waits until all are answered or ctx ends.
// Other subscriptions of the connection continue.
func (s *Service) Stop(ctx context.Context) error {
	if err := s.svc.Stop(); err != nil {
		return err
	}
	// After the flush all that the server has sent is in the client's queues, and
	// the barrier follows it there.
	if s.nc.IsConnected() {
		_ = s.nc.FlushWithContext(ctx)
	}
	taken := make(chan struct{})
	if err := s.nc.Barrier(func() { close(taken) }); err != nil {
		close(taken) // the connection is closed, and its queues with it
	}
	tick := time.NewTicker(stopCheck)
	defer tick.Stop()
	// The client may remove a drained subscription while its last request is on
	// its way to the handler, so two checks in a row must find none.
	for none := 0; none < 2; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("requests are still in progress: %w", ctx.Err())
		case <-tick.C:
		}
		select {
		case <-taken:
			none++
		default:
		}
		if s.unanswered.Load() > 0 {
			none = 0
		}
	}
	return nil
}

// stopCheck is the interval at which Stop checks whether all requests are
// answered.
const stopCheck = time.Millisecond
