package payload

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/tidwall/gjson"
)

// AgentUse is what an agent asked of its own model, from events that a gateway sends
// if its operator lets it (contract §8).
type AgentUse struct {
	// Model is provider/model, "" if unknown; Effort is how hard it was to think.
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
	// Calls is the number of calls that have ended; an event of tokens counts none.
	Calls int `json:"calls,omitempty"`
	// Tokens are nil in an event that has none.
	Tokens *AgentTokens `json:"tokens,omitempty"`
}

// AgentTokens are the tokens of an agent's model calls, as counted by the provider.
// The four kinds do not overlap.
type AgentTokens struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
}

// Price is what a model costs, per million tokens, in any currency (HINT_PRICES).
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// DecodeLLMOutput decodes the event of llm_output: the tokens of all calls of one
// attempt of a run.
func DecodeLLMOutput(raw json.RawMessage) (runID string, use AgentUse, err error) {
	var provider, model, ref string
	err = decodeEvent(raw,
		field{"runId", &runID}, field{"provider", &provider}, field{"model", &model}, field{"resolvedRef", &ref},
		field{"reasoningEffort", &use.Effort}, field{"usage", use.tokens})
	use.Model = cmp.Or(ref, modelOf(provider, model))
	return runID, use, err
}

// DecodeModelCallEnded decodes the event of model_call_ended: one call.
func DecodeModelCallEnded(raw json.RawMessage) (runID string, use AgentUse, err error) {
	var provider, model string
	err = decodeEvent(raw, field{"runId", &runID}, field{"provider", &provider}, field{"model", &model})
	return runID, AgentUse{Model: modelOf(provider, model), Calls: 1}, err
}

func modelOf(provider, model string) string {
	if provider == "" || model == "" {
		return model
	}
	return provider + "/" + model
}

// tokens reads the usage; null counts as none.
func (u *AgentUse) tokens(o object, value gjson.Result) error {
	if value.Type == gjson.Null {
		return nil
	}
	var in, out, read, write float64
	err := o.part("usage", value, field{"input", &in}, field{"output", &out}, field{"cacheRead", &read}, field{"cacheWrite", &write})
	u.Tokens = &AgentTokens{count(in), count(out), count(read), count(write)}
	return err
}

// maxTokens bounds a count: sums of many must not overflow.
const maxTokens = 1 << 40

// count returns a number of an event as a count.
func count(n float64) int {
	if math.IsNaN(n) {
		return 0
	}
	return int(min(max(n, 0), maxTokens))
}
