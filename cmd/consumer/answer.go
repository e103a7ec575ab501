package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/handlers"
	"intenthint/hint/eligibility"
	"intenthint/internal/bus"
	"intenthint/internal/telemetry"
	"intenthint/payload"
	"intenthint/subjects"
)

// answer answers a request (contract §3).
func answer(ctx context.Context, runner *handlers.Runner, metrics *telemetry.Metrics, timeout time.Duration, r bus.Request, reply func(bus.Reply)) {
	env, err := payload.DecodeRequest(r.Data)
	if err != nil {
		metrics.BadRequest()
		reply(refuse(err, r.Received, nil))
		return
	}
	if !runner.Handles(env.Hook) {
		reply(bus.Reply{Body: []byte("{}")})
		return
	}
	hook, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		metrics.BadRequest()
		reply(refuse(err, r.Received, nil))
		return
	}
	deadline, margin := handlers.Deadline(r.Received, r.Timeout, timeout)
	if now := time.Now(); now.After(deadline) && now.Sub(r.Received) > stale {
		// It has waited for a processor until nobody waited for it any more.
		reply(overloaded(metrics, r))
		return
	}
	runner.Run(ctx, &handlers.Request{
		Envelope: env, Context: hook, Received: r.Received,
		Deadline: deadline, Margin: margin, Traceparent: r.Traceparent,
	}, func(res handlers.Result, err error) {
		if err != nil {
			reply(refuse(err, r.Received, res.Header))
			return
		}
		reply(bus.Reply{Body: res.Body(), Header: traced(r, res.Header)})
	})
}

// stale is how long a request must have waited to be too old for an answer, also
// when its budget is nearly nothing: a local answer is given within less.
const stale = 50 * time.Millisecond

// overloaded answers a request that there is no room or no time for (contract
// §3). It is no turn: to publish one costs more than to answer.
func overloaded(metrics *telemetry.Metrics, r bus.Request) bus.Reply {
	took := time.Since(r.Received)
	metrics.Skip(eligibility.Overloaded, took)
	return bus.Reply{Body: []byte("{}"), Header: traced(r, map[string][]string{
		subjects.HeaderSkip:      {string(eligibility.Overloaded)},
		subjects.HeaderElapsedMs: {handlers.ElapsedMs(took)},
	})}
}

// traced gives a request's trace back.
func traced(r bus.Request, header map[string][]string) nats.Header {
	if r.Traceparent != "" {
		if header == nil {
			header = map[string][]string{}
		}
		header[subjects.HeaderTraceparent] = []string{r.Traceparent}
	}
	return nats.Header(header)
}

// refuse answers a request that is wrong.
func refuse(err error, received time.Time, header map[string][]string) bus.Reply {
	if header == nil {
		header = map[string][]string{subjects.HeaderElapsedMs: {handlers.ElapsedMs(time.Since(received))}}
	}
	return bus.Reply{Body: []byte("{}"), Header: nats.Header(header), Code: 400, Error: err.Error()}
}
