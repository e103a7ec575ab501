package payload

import (
	"cmp"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// Turn is one cleaned text of a conversation.
type Turn struct {
	// Role is [RoleUser] or [RoleAssistant].
	Role string `json:"role"`
	Text string `json:"text"`
	// Quoted marks a text that the latest message quotes or forwards. It is not
	// stored.
	Quoted bool `json:"-"`
}

// Sources of a classification (contract §3, Hint-Source).
const (
	SourceLLM       = "llm"
	SourceLocal     = "local"
	SourceCache     = "cache"
	SourceEmbedding = "embedding"
	SourceFastpath  = "fastpath"
	// SourceSystemOne is a model that was asked typed questions.
	SourceSystemOne = "systemone"
)

// OfModel reports whether a source is a model of a provider that was asked about the
// intent.
func OfModel(source string) bool { return source == SourceLLM || source == SourceSystemOne }

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
	// RunnerUp is the likeliest other intent by the local classifier, and
	// RunnerUpConfidence the probability (0–1) that it is right; "" and 0 if that
	// classifier was not asked or knows no other.
	RunnerUp           string  `json:"runnerUp,omitempty"`
	RunnerUpConfidence float64 `json:"runnerUpConfidence,omitempty"`
	// Source is one of the Source constants, never SourceCache.
	Source string `json:"source"`
	// Model is provider/model if a model answered.
	Model string `json:"model,omitempty"`
	// ElapsedMs is the time in the consumer, in milliseconds.
	ElapsedMs float64 `json:"elapsedMs"`
	// ModelCalls is how many models were asked until one answered; 0 for an answer
	// that is not a model's.
	ModelCalls int `json:"modelCalls,omitempty"`
	// Tokens are the tokens of the answer's call, nil if unknown.
	Tokens *Tokens `json:"tokens,omitempty"`
}

// Tokens are the tokens of a model call, as counted by its provider.
type Tokens struct {
	// In includes tokens from the provider's cache.
	In  int `json:"in"`
	Out int `json:"out"`
}

// ModelUse counts the model calls of a turn for its hint: of language models,
// for the intent and for the hint's text, and of a provider's embedding model.
type ModelUse struct {
	// Calls is the number of calls sent, Failed how many of them had not given a
	// usable answer when the turn was answered.
	Calls  int `json:"calls"`
	Failed int `json:"failed,omitempty"`
	// Tokens are the tokens of the calls that had ended, as counted by providers.
	Tokens
}

// TurnBegun is the event of turn_begun, which the consumer publishes before it
// replies to a before_prompt_build that passes the rules of contract §4.
type TurnBegun struct {
	RunID  string `json:"runId,omitempty"`
	Prompt string `json:"prompt"`
	// Message is the user's message if it differs from the prompt; else "".
	Message      string `json:"message,omitempty"`
	Conversation []Turn `json:"conversation,omitempty"`
	// Earlier is the number of the session's recorded messages that the classifier
	// was given in addition to the conversation, which then has no user messages.
	Earlier int `json:"earlier,omitempty"`
	// Result is nil if the classification failed.
	Result *Classification `json:"result,omitempty"`
	// Hint is the text that was given to the gateway; "" for none.
	Hint string `json:"hint,omitempty"`
	// Skills are the skills that the hint names with their paths, without
	// descriptions.
	Skills []Skill `json:"skills,omitempty"`
	// Skip is why there is no hint (Hint-Skip); "" when there is one.
	Skip string `json:"skip,omitempty"`
	// HeldOut reports whether the session is held out (HINT_HOLDOUT); nil if there
	// is no holdout.
	HeldOut *bool `json:"heldOut,omitempty"`
	// Last is the session's last hint, including this one; nil for none.
	Last *LastHint `json:"last,omitempty"`
	// Kept is what the conversation holds after this turn's hint; nil without a hint,
	// and where the gateway keeps none.
	Kept *KeptHints `json:"kept,omitempty"`
	// ModelUse is nil if no model was asked.
	ModelUse *ModelUse `json:"modelUse,omitempty"`
}

// LastHint is the last hint of a session.
type LastHint struct {
	Intent     string `json:"intent"`
	Complexity string `json:"complexity"`
	// Text identifies the intent's own text: it changes when that changes.
	Text string `json:"text"`
	// Full reports whether the session knows the intent's prompt, from this hint
	// or from an earlier one, or is not to be given it.
	Full bool `json:"full,omitempty"`
	// Turns is how many turns of the session have begun since; 0 is the turn of the
	// hint.
	Turns int `json:"turns"`
	// At is when the turn of the hint began, in Unix milliseconds.
	At int64 `json:"at"`
	// Bytes is the size of the hint where the gateway keeps hints, else 0.
	Bytes int `json:"bytes,omitempty"`
}

// UserMessage returns what the user asks: the message, else the prompt.
func (e TurnBegun) UserMessage() string { return cmp.Or(e.Message, e.Prompt) }

// DecodeTurnBegun decodes the event of turn_begun.
func DecodeTurnBegun(raw json.RawMessage) (e TurnBegun, err error) {
	var earlier float64
	err = decodeEvent(raw,
		field{"runId", &e.RunID}, field{"prompt", &e.Prompt}, field{"message", &e.Message}, field{"conversation", &e.Conversation},
		field{"earlier", &earlier}, field{"result", &e.Result}, field{"hint", &e.Hint}, field{"skills", &e.Skills}, field{"skip", &e.Skip},
		field{"heldOut", &e.HeldOut}, field{"last", &e.Last}, field{"kept", &e.Kept}, field{"modelUse", &e.ModelUse})
	e.Earlier = int(earlier)
	return e, err
}

// turns reads a conversation.
func (o object) turns(name string, list gjson.Result, to *[]Turn) error {
	*to = nil
	return o.elements(name, list, func(element object) error {
		var t Turn
		err := element.read(field{"role", &t.Role}, field{"text", &t.Text})
		*to = append(*to, t)
		return err
	})
}

// classification reads a classification; null counts as nil.
func (o object) classification(name string, value gjson.Result, to **Classification) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	c := &Classification{}
	*to = c
	var calls float64
	err := o.part(name, value,
		field{"intent", &c.Intent}, field{"name", &c.Name}, field{"reason", &c.Reason}, field{"goal", &c.Goal},
		field{"confidence", &c.Confidence}, field{"complexity", &c.Complexity}, field{"suggestion", &c.Suggestion},
		field{"source", &c.Source}, field{"model", &c.Model}, field{"elapsedMs", &c.ElapsedMs},
		field{"runnerUp", &c.RunnerUp}, field{"runnerUpConfidence", &c.RunnerUpConfidence},
		field{"modelCalls", &calls}, field{"tokens", &c.Tokens})
	c.ModelCalls = int(calls)
	return err
}

// tokens reads the tokens of a call; null counts as nil.
func (o object) tokens(name string, value gjson.Result, to **Tokens) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	var in, out float64
	err := o.part(name, value, field{"in", &in}, field{"out", &out})
	*to = &Tokens{In: int(in), Out: int(out)}
	return err
}

// modelUse reads the model use; null counts as nil.
func (o object) modelUse(name string, value gjson.Result, to **ModelUse) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	var calls, failed, in, out float64
	err := o.part(name, value, field{"calls", &calls}, field{"failed", &failed}, field{"in", &in}, field{"out", &out})
	*to = &ModelUse{Calls: int(calls), Failed: int(failed), Tokens: Tokens{In: int(in), Out: int(out)}}
	return err
}

// lastHint reads the last hint; null counts as nil.
func (o object) lastHint(name string, value gjson.Result, to **LastHint) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	l := &LastHint{}
	*to = l
	var turns, at, bytes float64
	full := func(_ object, value gjson.Result) error {
		l.Full = value.Bool()
		return nil
	}
	err := o.part(name, value,
		field{"intent", &l.Intent}, field{"complexity", &l.Complexity}, field{"text", &l.Text},
		field{"full", full}, field{"turns", &turns}, field{"at", &at}, field{"bytes", &bytes})
	l.Turns, l.At, l.Bytes = int(turns), int64(at), int(bytes)
	return err
}
