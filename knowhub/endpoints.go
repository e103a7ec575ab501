package knowhub

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
	"intenthint/subjects"
)

// Bounds of the verbs over NATS. Most verbs are fast; an extraction waits for a
// model.
var (
	verbBound    = bus.Bound{Requests: 256, Bytes: 32 << 20, PerCaller: 64, PerCallerBytes: 8 << 20}
	extractBound = bus.Bound{Requests: 16, Bytes: 64 << 20, PerCaller: 4, PerCallerBytes: 32 << 20}
)

const (
	// verbTime bounds a verb that asks no model.
	verbTime = 10 * time.Second
	// ExtractTime bounds an extraction, which asks a model.
	ExtractTime = 25 * time.Second
)

func timeOf(v verb) time.Duration {
	if v.name == verbExtract {
		return ExtractTime
	}
	return verbTime
}

// Names of verbs. verbExtract is the one that asks a model.
const (
	verbExtract  = "extract"
	verbPending  = "pending"
	verbWithdraw = "withdraw"
	verbDelete   = "delete"
)

// Endpoints returns the verbs as endpoints of a NATS service, P.knowhub.<verb>.
// The body is a JSON object that also holds the id. Errors use the service
// framework's headers, with the HTTP status as their code.
func (s *Service) Endpoints(prefix subjects.Prefix) []bus.Endpoint {
	out := make([]bus.Endpoint, len(verbs))
	for i, v := range verbs {
		out[i] = bus.Endpoint{
			Name: "knowhub-" + v.name, Subject: prefix.KnowHub(v.name), Bound: verbBound,
			Metadata: map[string]string{"verb": v.name},
			Answer: func(ctx context.Context, r bus.Request, reply func(bus.Reply)) {
				reply(s.answer(ctx, v, r))
			},
			Overloaded: func(bus.Request) bus.Reply {
				s.Metrics.verbs.WithLabelValues(v.name, outcomeError).Inc()
				return refusal(http.StatusServiceUnavailable, "overloaded")
			},
		}
		if v.name == verbExtract {
			out[i].Bound = extractBound
		}
	}
	return out
}

func (s *Service) answer(ctx context.Context, v verb, r bus.Request) (out bus.Reply) {
	most := timeOf(v)
	if r.Timeout > 0 {
		most = min(most, r.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	body := r.Data
	if len(body) == 0 {
		body = []byte("{}")
	}
	err := panics.Catch(func() error {
		answer, status := s.do(ctx, v, body)
		if bad, ok := answer.(failed); ok {
			out = refusal(status, bad.Error)
			return nil
		}
		text, err := json.Marshal(answer)
		if l, ok := answer.(listed); ok && err == nil && r.MaxReply > 0 && len(text) > r.MaxReply {
			text, err = json.Marshal(l.within(r.MaxReply))
		}
		if err == nil && r.MaxReply > 0 && len(text) > r.MaxReply {
			out = refusal(http.StatusInternalServerError, "the answer is larger than the server's max_payload")
			return nil
		}
		out.Body = text
		return err
	})
	if err != nil {
		s.lines.Error(s.Log, "knowhub request failed", "verb", v.name, "error", err)
		return refusal(http.StatusInternalServerError, "internal error")
	}
	return out
}

// refusal returns the reply for an error: in the headers, and in the body for
// callers that read only the body.
func refusal(status int, text string) bus.Reply {
	body, _ := json.Marshal(failed{text}) // a string
	return bus.Reply{Body: body, Code: status, Error: headerLine(text)}
}

// headerLine makes text valid as a header value.
func headerLine(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c < ' ' || c == 0x7F {
			out[i] = ' '
		}
	}
	return string(out)
}
