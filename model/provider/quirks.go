package provider

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// quirks records which optional parameters the server of a model rejects. Parameters that a model lacks are left out of the next
// requests, so that finding out costs one refused request.
type quirks struct {
	// format is the strongest form of structured output that is accepted.
	format format
	// noTemperature: sampling parameters are refused.
	noTemperature bool
	// otherTokens: the bound goes by its other name (max_tokens or
	// max_completion_tokens).
	otherTokens bool
	// noThinking: the parameter that turns thinking off is refused.
	noThinking bool
	// wide: the model thinks before it answers and what it thinks counts, so
	// the bound must leave room for that.
	wide bool
}

// format is a form of structured output, strongest first.
type format int

const (
	formatSchema format = iota
	formatObject
	formatNone
)

// maxRefusals bounds the requests that one question may cost.
const maxRefusals = 4

// wideTokens is the least bound for models that think.
const wideTokens = 2048

// memory holds the quirks of one model. Requests run on a copy.
type memory struct {
	mu sync.Mutex
	q  quirks
}

func (m *memory) get() quirks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.q
}

func (m *memory) set(q quirks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.q = q
}

// widen makes room for thinking from the next request on.
func (m *memory) widen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.q.wide = true
}

// ask puts a question with the quirks that are known, and again, as long as
// without knows what to leave out, when the server refuses it. What helped is
// remembered for the next question.
func ask[R any](ctx context.Context, learned *memory, without func(quirks, error) (quirks, bool), put func(quirks) (R, error)) (R, error) {
	known := learned.get()
	for q, try := known, 0; ; try++ {
		answer, err := put(q)
		if err == nil {
			if q != known {
				learned.set(q)
			}
			return answer, nil
		}
		err = plain(ctx, err)
		next, ok := without(q, err)
		if !ok || try == maxRefusals || ctx.Err() != nil {
			return answer, err
		}
		q = next
	}
}

// tokens is the bound to send for a wanted one.
func (q quirks) tokens(want int) int {
	if q.wide {
		return max(want, wideTokens)
	}
	return want
}

// bare is the last resort for a server that rejects a request without naming the
// parameter: no optional parameters.
func (q quirks) bare() quirks {
	q.format, q.noTemperature, q.noThinking = formatNone, true, true
	return q
}

// unrelated are words of refusals that leaving out a parameter cannot help.
var unrelated = []string{
	"api key", "api_key", "credit", "billing", "quota", "not found", "does not exist",
	"context length", "context_length", "too long",
}

// without returns quirks with which a refused request is worth another try, by
// the parameters that the error mentions; false when there are none.
func (q quirks) without(err error) (quirks, bool) {
	var status *StatusError
	if !errors.As(err, &status) || status.Code != http.StatusBadRequest && status.Code != http.StatusUnprocessableEntity {
		return q, false
	}
	next := q
	mentions := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(status.detail, w) {
				return true
			}
		}
		return false
	}
	if mentions("temperature", "top_p", "sampling") {
		next.noTemperature = true
	}
	if mentions("max_tokens", "max_completion_tokens") && !q.otherTokens {
		next.otherTokens = true
	}
	if mentions("thinking", "reasoning") {
		next.noThinking, next.wide = true, true
	}
	if mentions("response_format", "json_schema", "json_object", "output_config", "output_format", "structured output", "schema") {
		next.format = q.weaker(status.detail)
	}
	if next == q && !mentions(unrelated...) {
		next = q.bare()
	}
	return next, next != q
}

// weaker is the next form of structured output to try.
func (q quirks) weaker(detail string) format {
	if q.format == formatSchema && strings.Contains(detail, "json_object") {
		return formatObject
	}
	return min(q.format+1, formatNone)
}
