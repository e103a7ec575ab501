package knowhub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"intenthint/knowhub/experience"
	"intenthint/payload"
)

// verb is an operation of a [Service], whatever the transport.
type verb struct {
	name string
	// call decodes a JSON object and executes the verb. It returns the answer, to
	// be encoded as a JSON object, and its HTTP status.
	call func(ctx context.Context, s *Service, body []byte) (answer any, status int, err error)
}

// verbs are the verbs of contract §12.
var verbs = []verb{
	{verbExtract, func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decode[Extraction](body)
		if err != nil {
			return nil, 0, err
		}
		kept, err := s.Extract(ctx, in)
		return extracted{len(kept), list(kept)}, http.StatusOK, err
	}},
	{"submit", func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decode[Submission](body)
		if err != nil {
			return nil, 0, err
		}
		e, created, err := s.Submit(ctx, in)
		if created {
			return e, http.StatusCreated, err
		}
		return e, http.StatusOK, err
	}},
	{"search", func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decode[struct {
			Q        string `json:"q"`
			AgentID  string `json:"agent_id"`
			ForAgent string `json:"for_agent"`
			Limit    limit  `json:"limit"`
		}](body)
		if err != nil {
			return nil, 0, err
		}
		found, err := s.Search(ctx, in.Q, in.AgentID, cmp.Or(in.ForAgent, in.AgentID), int(in.Limit))
		return listed{Experiences: list(found)}, http.StatusOK, err
	}},
	{"content", func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decodeNamed(body)
		if err != nil {
			return nil, 0, err
		}
		e, err := s.ContentFor(ctx, in.ID, cmp.Or(in.ForAgent, in.AgentID))
		return e, http.StatusOK, err
	}},
	{verbPending, func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decode[struct {
			Limit limit `json:"limit"`
		}](body)
		if err != nil {
			return nil, 0, err
		}
		found, err := s.Pending(ctx, int(in.Limit))
		if err != nil {
			return nil, 0, err
		}
		counts, err := s.Copy.Counts(ctx)
		if err != nil {
			return nil, 0, s.unavailable(ctx, "list", err)
		}
		return listed{list(found), counts[experience.Pending] > len(found)}, http.StatusOK, nil
	}},
	{"approve", func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decodeNamed(body)
		if err != nil {
			return nil, 0, err
		}
		e, err := s.Approve(ctx, in.ID, in.By)
		return e, http.StatusOK, err
	}},
	{"reject", func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decodeNamed(body)
		if err != nil {
			return nil, 0, err
		}
		e, err := s.Reject(ctx, in.ID, in.By)
		return e, http.StatusOK, err
	}},
}

// personal are verbs over HTTP alone: they are a person's, and no right to the
// subjects of the others may hold them.
var personal = []verb{
	{verbWithdraw, func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decodeNamed(body)
		if err != nil {
			return nil, 0, err
		}
		e, err := s.Withdraw(ctx, in.ID, in.By)
		return e, http.StatusOK, err
	}},
	{verbDelete, func(ctx context.Context, s *Service, body []byte) (any, int, error) {
		in, err := decodeNamed(body)
		if err != nil {
			return nil, 0, err
		}
		e, err := s.Delete(ctx, in.ID)
		return e, http.StatusOK, err
	}},
}

// named is a request about one experience.
type named struct {
	ID string `json:"id"`
	// ForAgent is the agent that asks; older gateways say it in AgentID.
	ForAgent string `json:"for_agent"`
	AgentID  string `json:"agent_id"`
	By       string `json:"by"`
}

// decodeNamed reads a request about one experience.
func decodeNamed(body []byte) (named, error) {
	in, err := decode[named](body)
	switch {
	case err != nil:
		return in, err
	case strings.TrimSpace(in.ID) == "":
		return in, fmt.Errorf("%w: id is required", ErrRequest)
	}
	return in, experience.Experience{DecidedBy: in.By, AgentID: in.AgentID}.Measure()
}

// listed is an answer with several experiences.
type listed struct {
	Experiences []experience.Experience `json:"experiences"`
	// More is true if the limit or the size of the reply left some experiences out.
	More bool `json:"more,omitempty"`
}

// within returns the first experiences that fit into the given number of bytes of JSON.
func (l listed) within(most int) listed {
	size := len(`{"experiences":[],"more":true}`)
	for i, e := range l.Experiences {
		text, err := json.Marshal(e)
		if size += len(text) + len(","); err != nil || size > most {
			return listed{l.Experiences[:i], true}
		}
	}
	return l
}

// extracted is the answer of extract.
type extracted struct {
	Count       int                     `json:"extracted_count"`
	Experiences []experience.Experience `json:"experiences"`
}

// list makes nil encode as an empty JSON array.
func list(es []experience.Experience) []experience.Experience {
	if es == nil {
		return []experience.Experience{}
	}
	return es
}

// limit is a positive integer.
type limit int

var errLimit = errors.New("limit must be a positive integer")

// UnmarshalJSON implements [json.Unmarshaler].
func (l *limit) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var n float64
	if json.Unmarshal(data, &n) != nil || n != float64(int32(n)) || n < 1 {
		return errLimit
	}
	*l = limit(n)
	return nil
}

// decode reads a JSON object. Unknown fields are ignored (contract §3).
func decode[T any](body []byte) (T, error) {
	var out T
	if trimmed := strings.TrimLeft(string(body[:min(len(body), maxBlank)]), " \t\r\n"); trimmed == "" || trimmed[0] != '{' {
		return out, fmt.Errorf("%w: the body must be a JSON object", ErrRequest)
	}
	err := json.Unmarshal(body, &out)
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typed) && typed.Field != "":
		return out, fmt.Errorf("%w: %s must not be a %s", ErrRequest, typed.Field, typed.Value)
	case errors.Is(err, errLimit), errors.Is(err, payload.ErrInvalid):
		return out, fmt.Errorf("%w: %w", ErrRequest, err)
	case err != nil:
		return out, fmt.Errorf("%w: the body is not valid JSON", ErrRequest)
	}
	return out, nil
}

// maxBlank is how much white space may precede an object.
const maxBlank = 1024

// failed is the answer to a verb that failed.
type failed struct {
	Error string `json:"error"`
}

// statusOf returns the HTTP status and the text of an error.
func statusOf(err error) (status int, text string) {
	switch {
	case errors.Is(err, ErrTooLong):
		return http.StatusRequestEntityTooLarge, err.Error()
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrRequest):
		return http.StatusBadRequest, err.Error()
	case errors.Is(err, ErrUnknown):
		return http.StatusNotFound, err.Error()
	case errors.Is(err, ErrDecided):
		return http.StatusConflict, err.Error()
	case errors.Is(err, ErrUnavailable):
		return http.StatusServiceUnavailable, err.Error()
	}
	return http.StatusInternalServerError, "internal error"
}

// do executes a verb and counts it.
func (s *Service) do(ctx context.Context, v verb, body []byte) (answer any, status int) {
	answer, status, err := v.call(ctx, s, body)
	outcome := outcomeOK
	if err != nil {
		var text string
		status, text = statusOf(err)
		answer, outcome = failed{text}, outcomeBad
		if status >= http.StatusInternalServerError {
			outcome = outcomeError
		}
		if status == http.StatusInternalServerError {
			s.lines.Error(s.Log, "knowhub request failed", "verb", v.name, "error", err)
		}
	}
	s.Metrics.verbs.WithLabelValues(v.name, outcome).Inc()
	return answer, status
}
