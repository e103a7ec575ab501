package payload

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// Turn is one cleaned text of a conversation.
type Turn struct {
	// Role is [RoleUser] or [RoleAssistant].
	Role string `json:"role"`
	Text string `json:"text"`
}

// Sources of a classification (contract §3, Hint-Source).
const (
	SourceLLM       = "llm"
	SourceLocal     = "local"
	SourceCache     = "cache"
	SourceEmbedding = "embedding"
)

// Values of the complexity of a message (contract §6).
const (
	ComplexityLow    = "low"
	ComplexityMedium = "medium"
	ComplexityHigh   = "high"
)

// Classification is the result of a model or the local classifier for a message,
// in the JSON shape of a session file (contract §8).
type Classification struct {
	// Intent is an id of the catalogue, or "OTHER".
	Intent string `json:"intent"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Goal   string `json:"goal"`
	// Confidence is 0–1.
	Confidence float64 `json:"confidence"`
	// Complexity is one of the Complexity constants.
	Complexity string `json:"complexity"`
	Suggestion string `json:"suggestion,omitempty"`
	// Source is one of the Source constants, never SourceCache.
	Source string `json:"source"`
	// Model is provider/model when a model answered.
	Model string `json:"model,omitempty"`
	// ElapsedMs is the time in the consumer, in milliseconds.
	ElapsedMs float64 `json:"elapsedMs"`
}

// TurnBegun is the event of turn_begun, which the consumer publishes before it
// replies to a before_prompt_build that passes the rules of contract §4.
type TurnBegun struct {
	RunID        string `json:"runId,omitempty"`
	Prompt       string `json:"prompt"`
	Conversation []Turn `json:"conversation,omitempty"`
	// Result is nil if the classification failed.
	Result *Classification `json:"result,omitempty"`
	// Hint is the text that was given to the gateway; "" for none.
	Hint string `json:"hint,omitempty"`
	// Skip is why there is no hint (Hint-Skip); "" when there is one.
	Skip string `json:"skip,omitempty"`
}

// DecodeTurnBegun decodes the event of turn_begun.
func DecodeTurnBegun(raw json.RawMessage) (TurnBegun, error) {
	var e TurnBegun
	o, err := view(raw, "event")
	if err != nil {
		return e, err
	}
	return e, o.fields(func(name string, value gjson.Result) (err error) {
		switch name {
		case "runId":
			return o.text(name, value, &e.RunID)
		case "prompt":
			return o.text(name, value, &e.Prompt)
		case "conversation":
			e.Conversation, err = o.turns(name, value)
			return err
		case "result":
			e.Result, err = o.classification(name, value)
			return err
		case "hint":
			return o.text(name, value, &e.Hint)
		case "skip":
			return o.text(name, value, &e.Skip)
		}
		return nil
	})
}

// turns reads a conversation.
func (o object) turns(field string, list gjson.Result) ([]Turn, error) {
	if list.Type == gjson.Null {
		return nil, nil
	}
	if !list.IsArray() {
		return nil, o.wrongType(field, "an array", list)
	}
	var (
		out []Turn
		err error
	)
	element := o.in(field + "[].")
	list.ForEach(func(_, value gjson.Result) bool {
		if !value.IsObject() {
			err = o.wrongType(field+"[]", "an object", value)
			return false
		}
		var t Turn
		element.Result = value
		err = element.fields(func(name string, value gjson.Result) error {
			switch name {
			case "role":
				return element.text(name, value, &t.Role)
			case "text":
				return element.text(name, value, &t.Text)
			}
			return nil
		})
		out = append(out, t)
		return err == nil
	})
	return out, err
}

// classification reads what was classified; null is nil.
func (o object) classification(field string, value gjson.Result) (*Classification, error) {
	if value.Type == gjson.Null {
		return nil, nil
	}
	if !value.IsObject() {
		return nil, o.wrongType(field, "an object", value)
	}
	var c Classification
	o = o.in(field + ".")
	o.Result = value
	return &c, o.fields(func(name string, value gjson.Result) error {
		switch name {
		case "intent":
			return o.text(name, value, &c.Intent)
		case "name":
			return o.text(name, value, &c.Name)
		case "reason":
			return o.text(name, value, &c.Reason)
		case "goal":
			return o.text(name, value, &c.Goal)
		case "confidence":
			return o.number(name, value, &c.Confidence)
		case "complexity":
			return o.text(name, value, &c.Complexity)
		case "suggestion":
			return o.text(name, value, &c.Suggestion)
		case "source":
			return o.text(name, value, &c.Source)
		case "model":
			return o.text(name, value, &c.Model)
		case "elapsedMs":
			return o.number(name, value, &c.ElapsedMs)
		}
		return nil
	})
}
