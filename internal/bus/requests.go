package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"intenthint/internal/fair"
	"intenthint/subjects"
)

// Request is one message on a request subject.
type Request struct {
	Subject string
	Data    []byte
	// Received is when the request left the client's buffer.
	Received time.Time
	// Timeout is the caller's whole budget (Hint-Timeout-Ms); 0 when it did
	// not say.
	Timeout     time.Duration
	Traceparent string
}

// Reply is what a request is answered. Error, when it is not "", makes it an
// error reply with the code.
type Reply struct {
	Body   []byte
	Header nats.Header
	Code   int
	Error  string
}

// Service answers requests through the NATS service framework.
type Service struct {
	svc     micro.Service
	nc      *nats.Conn
	prefix  subjects.Prefix
	answer  Answer
	observe func(delta int)
	log     *slog.Logger
	// immediate is ServiceOptions.Immediate; answered is when the
	// subscription's goroutine, whose own it is, last gave an answer itself.
	immediate func() bool
	answered  time.Time
	// overloaded is ServiceOptions.Overloaded.
	overloaded func(Request) Reply
	queue      *fair.Queue

	// subscriptions is how many the framework made for this service.
	subscriptions int

	inflight atomic.Int64
	requests atomic.Uint64
	errors   atomic.Uint64
	nanos    atomic.Int64
}

// Answer answers a request: it calls reply once, inside the request's budget,
// on whatever goroutine. It calls [fair.Yield] before it waits for something.
type Answer func(ctx context.Context, r Request, reply func(Reply))

// ServiceOptions name the service in the framework's lists.
type ServiceOptions struct {
	Layout   Layout
	Version  string // semantic version
	Metadata map[string]string
	// Hooks are those that are decided here, for the endpoint's metadata.
	Hooks []string
	// InFlight is told when a request is taken (+1) and answered (-1).
	InFlight func(delta int)
	// Immediate says whether answers wait for nothing but the processor at
	// present: then a request that comes alone is answered where it arrives.
	// nil: never.
	Immediate func() bool
	// Overloaded is the answer to a request for which there is no room, at
	// once and on the subscription's goroutine. nil: an empty object.
	Overloaded func(Request) Reply
	Log        *slog.Logger
}

const (
	// Bounds of what may wait in the client for the subscription's goroutine,
	// which hands every request on at once: they are only reached when the
	// machine cannot even do that.
	pendingRequests     = 65536
	pendingRequestBytes = 256 << 20
	// largestAlone is the largest request, in bytes, that is answered where it
	// arrives: a larger one takes longer than handing it on.
	largestAlone = 64 << 10
	// closely: a request that is taken so soon after an answer has waited for
	// it.
	closely = 20 * time.Microsecond
	// maxInflight bounds the requests in work, most of which wait for a model
	// or for each other: what waits for a processor has bounds of its own.
	maxInflight = 16384
)

// places is how many requests are in work at once, without those that wait for
// something: what is more only makes the processors' own queue longer, in which
// nobody takes turns.
func places() int { return runtime.GOMAXPROCS(0) + 2 }

// StartService begins to answer requests with answer, which is called on many
// goroutines at once. Nothing else may subscribe on the connection meanwhile.
func StartService(ctx context.Context, nc *nats.Conn, o ServiceOptions, answer Answer) (*Service, error) {
	s := &Service{nc: nc, prefix: o.Layout.Prefix, answer: answer, observe: o.InFlight, immediate: o.Immediate, overloaded: o.Overloaded, log: o.Log, queue: fair.New(places())}
	if s.observe == nil {
		s.observe = func(int) {}
	}
	if s.immediate == nil {
		s.immediate = func() bool { return false }
	}
	if s.overloaded == nil {
		s.overloaded = func(Request) Reply { return Reply{Body: []byte("{}")} }
	}
	before := nc.NumSubscriptions()
	svc, err := micro.AddService(nc, micro.Config{
		Name:         subjects.ServiceName,
		Version:      o.Version,
		Description:  "Answers OpenClaw decision hooks with a routing hint",
		Metadata:     o.Metadata,
		QueueGroup:   o.Layout.QueueGroup,
		StatsHandler: func(*micro.Endpoint) any { return s.Stats() },
		ErrorHandler: func(_ micro.Service, e *micro.NATSError) {
			o.Log.Warn("the request service reports an error", "subject", e.Subject, "error", e.Description)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("request service: %w", err)
	}
	s.svc = svc
	err = svc.AddEndpoint("request", micro.HandlerFunc(func(r micro.Request) { s.take(ctx, r) }),
		micro.WithEndpointSubject(o.Layout.Prefix.Requests()),
		micro.WithEndpointPendingLimits(pendingRequests, pendingRequestBytes),
		micro.WithEndpointMetadata(map[string]string{"hooks": strings.Join(o.Hooks, ",")}),
	)
	if err != nil {
		_ = svc.Stop()
		return nil, fmt.Errorf("request endpoint: %w", err)
	}
	s.subscriptions = nc.NumSubscriptions() - before
	// The service is there once the server has taken its subscriptions.
	flush, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := subscribed(flush, nc); err != nil {
		_ = svc.Stop()
		return nil, fmt.Errorf("request service: %w", err)
	}
	return s, nil
}

// take hands a request to a goroutine of its own: the framework calls handlers
// one after another, and a classification may wait for a model. One that would
// be answered before another goroutine has woken is not handed on. A gateway
// that asks for more than can be answered is told so, and the others' requests
// come in turn with its own.
func (s *Service) take(ctx context.Context, r micro.Request) {
	received := time.Now()
	s.observe(1)
	inflight := s.inflight.Add(1)
	from := requester(r.Reply())
	greedy := s.queue.Came(from, received)
	if inflight == 1 && !greedy && s.immediate() && len(r.Data()) <= largestAlone && received.Sub(s.answered) > closely {
		s.serve(ctx, r, received)
		s.answered = time.Now()
		return
	}
	if inflight > maxInflight || !s.queue.Go(ctx, from, len(r.Data()), func(ctx context.Context) { s.serve(ctx, r, received) }) {
		s.finish(r, received, s.overloaded(request(r, received)))
	}
}

// requester names who asked, by the subject on which the answer is waited for:
// the last token is the request's, those before are the connection's.
func requester(reply string) string { return reply[:max(0, strings.LastIndexByte(reply, '.'))] }

func request(r micro.Request, received time.Time) Request {
	headers := nats.Header(r.Headers())
	return Request{
		Subject:     r.Subject(),
		Data:        r.Data(),
		Received:    received,
		Timeout:     timeoutOf(headers),
		Traceparent: headers.Get(subjects.HeaderTraceparent),
	}
}

func (s *Service) serve(ctx context.Context, r micro.Request, received time.Time) {
	s.answer(ctx, request(r, received), func(reply Reply) {
		s.finish(r, received, reply)
		// The reply may have come without the answering goroutine, which
		// holds up nobody then.
		fair.Yield(ctx)
	})
}

func (s *Service) finish(r micro.Request, received time.Time, reply Reply) {
	s.reply(r, reply)
	s.nanos.Add(int64(time.Since(received)))
	s.requests.Add(1)
	s.observe(-1)
	s.inflight.Add(-1)
}

func (s *Service) reply(r micro.Request, reply Reply) {
	msg := &nats.Msg{Subject: r.Reply(), Data: reply.Body, Header: reply.Header}
	if reply.Error != "" {
		s.errors.Add(1)
		if msg.Header == nil {
			msg.Header = nats.Header{}
		}
		msg.Header.Set(subjects.HeaderErrorCode, strconv.Itoa(reply.Code))
		msg.Header.Set(subjects.HeaderError, reply.Error)
	}
	if msg.Subject == "" {
		return // published without a reply subject: nobody waits
	}
	if !s.isInbox(msg.Subject) {
		s.log.Warn("a request wants its reply on a subject that is no inbox, it gets none", "subject", r.Subject(), "reply", msg.Subject)
		return
	}
	// Not r.Respond: it writes to the framework's bookkeeping, which the
	// subscription's goroutine reads as soon as take has returned.
	err := s.nc.PublishMsg(msg)
	if err == nil {
		return
	}
	s.errors.Add(1)
	s.log.Warn("a reply could not be sent", "subject", r.Subject(), "bytes", msg.Size(), "error", err)
	if errors.Is(err, nats.ErrMaxPayload) {
		// The caller waits: what can be said is that there is no answer.
		_ = s.nc.PublishMsg(&nats.Msg{Subject: msg.Subject, Data: []byte("{}"), Header: nats.Header{
			subjects.HeaderErrorCode: {"500"},
			subjects.HeaderError:     {"the answer is larger than the server's max_payload"},
		}})
	}
}

// isInbox says whether a reply may go to a subject. Whoever asks names it, and
// this user may do more than he: "{}" deletes a stream where JetStream takes it.
func (s *Service) isInbox(reply string) bool {
	return !strings.HasPrefix(reply, "$") && !s.prefix.Holds(reply)
}

func timeoutOf(h nats.Header) time.Duration {
	text := h.Get(subjects.HeaderTimeoutMs)
	if text == "" {
		return 0
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, 24*60*60*1000) * float64(time.Millisecond))
}

// ServiceStats are the figures of work done off the framework's goroutine, as
// `nats micro stats` shows them in the endpoint's data.
type ServiceStats struct {
	// Requests counts answered requests, Errors those answered with an error.
	Requests uint64 `json:"requests"`
	Errors   uint64 `json:"errors"`
	Inflight int64  `json:"inflight"`
	// AverageMs is the mean time from receipt to reply, in milliseconds.
	AverageMs float64 `json:"average_ms"`
}

// Stats returns the service's figures.
func (s *Service) Stats() ServiceStats {
	out := ServiceStats{Requests: s.requests.Load(), Errors: s.errors.Load(), Inflight: s.inflight.Load()}
	if out.Requests > 0 {
		out.AverageMs = float64(s.nanos.Load()) / float64(out.Requests) / float64(time.Millisecond)
	}
	return out
}

// Stop takes no further request and waits until every request that was taken
// is answered, or ctx ends.
func (s *Service) Stop(ctx context.Context) error {
	// The framework starts a drain and does not wait for it. The client drops
	// a draining subscription once its last message was handled, so all
	// requests have reached take when the service's subscriptions are gone.
	left := s.nc.NumSubscriptions() - s.subscriptions
	if err := s.svc.Stop(); err != nil {
		return err
	}
	// Without a server nothing more comes and nothing can be answered, but what
	// has come is still taken.
	for s.nc.NumSubscriptions() > left && s.nc.IsConnected() || s.inflight.Load() > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("requests are still waiting, %d of them in work: %w", s.inflight.Load(), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
