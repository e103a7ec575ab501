package provider

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// quirks are the optional parameters that a model's server rejects. They are
// left out of later requests, so that each costs only one refused request.
type quirks struct {
	format        format // the strongest form of structured output that is accepted
	noTemperature bool
	otherTokens   bool // the token limit has its other name (max_tokens or max_completion_tokens)
	noThinking    bool // the parameter that turns thinking off is refused
	wide          bool // the model's thinking counts as output, so the token limit must leave room for it
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

// wideTokens is the least token limit for models that think.
const wideTokens = 2048

// memory holds the quirks of one model. Requests run on a copy.
type memory struct {
	mu sync.Mutex
	q  quirks
}

// update applies a change, which may do nothing, and returns the result.
func (m *memory) update(change func(*quirks)) quirks {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.q)
	return m.q
}

// widen makes room for thinking from the next request on.
func (m *memory) widen() { m.update(func(q *quirks) { q.wide = true }) }

// ask sends a question with the known quirks. If the server refuses it, ask
// retries as long as [quirks.without] finds parameters to leave out. Quirks that
// helped are remembered for the next question.
func ask(ctx context.Context, learned *memory, put func(quirks) (gjson.Result, error)) (gjson.Result, error) {
	known := learned.update(func(*quirks) {})
	for q, try := known, 0; ; try++ {
		answer, err := put(q)
		if err == nil {
			if q != known {
				learned.update(func(now *quirks) { *now = q })
			}
			return answer, nil
		}
		err = plain(ctx, err)
		next, ok := q.without(err)
		if !ok || try == maxRefusals || ctx.Err() != nil {
			return answer, err
		}
		q = next
	}
}

// tokens returns the token limit to send for a wanted one.
func (q quirks) tokens(want int) int {
	if q.wide {
		return max(want, wideTokens)
	}
	return want
}

// unrelated are words of refusals that do not concern a parameter.
var unrelated = []string{
	"api key", "api_key", "credit", "billing", "quota", "not found", "does not exist",
	"context length", "context_length", "too long",
}

// without returns quirks with which a refused request is worth another try, by
// the parameters that the error mentions; false when there are none.
func (q quirks) without(err error) (quirks, bool) {
	status, ok := errors.AsType[*StatusError](err)
	if !ok || status.Code != http.StatusBadRequest && status.Code != http.StatusUnprocessableEntity {
		return q, false
	}
	next := q
	mentions := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(status.detail, word) })
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
		next.format = min(q.format+1, formatNone)
	}
	if next == q && !mentions(unrelated...) {
		// The last resort when no parameter is named: no optional parameters.
		next.format, next.noTemperature, next.noThinking = formatNone, true, true
	}
	return next, next != q
}
