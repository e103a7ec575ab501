package classify

import (
	"context"
	"encoding/json"

	"intenthint/model"
	"intenthint/payload"
)

// maxAnswerTokens bounds a model's answer.
const maxAnswerTokens = 400

// answerSchema is the shape of an answer for providers that enforce one. Such
// modes require every field; a blank suggestion means no suggestion.
var answerSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"required": ["intent", "reason", "goal", "confidence", "complexity", "suggestion"],
	"properties": {
		"intent": {"type": "string"},
		"reason": {"type": "string"},
		"goal": {"type": "string"},
		"confidence": {"type": "number"},
		"complexity": {"type": "string", "enum": ["low", "medium", "high"]},
		"suggestion": {"type": "string"}
	}
}`)

// LLM classifies by asking a chain of language models (HINT_MODEL,
// HINT_MODEL_FALLBACK), and then the run's own model.
type LLM struct{ Chain *model.Chain }

// Classify implements [Model]: source and model of the result are set.
func (l LLM) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	answer, err := model.Ask(ctx, l.Chain, model.Question[payload.Classification]{
		Request: buildPrompt(in), RunModel: in.RunModel,
		Parse: func(text string) (payload.Classification, error) { return parseAnswer(text, in.Catalog) },
	})
	if err != nil {
		return payload.Classification{}, err
	}
	result := answer.Value
	result.Source, result.Model, result.ModelCalls = payload.SourceLLM, answer.Ref, answer.Calls
	if used := answer.Usage; used.InputTokens > 0 || used.OutputTokens > 0 {
		result.Tokens = &payload.Tokens{In: used.InputTokens, Out: used.OutputTokens}
	}
	return result, nil
}
