package classify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
)

// SystemOne classifies by typed questions (contract §15) instead of a prompt: the
// intent and the complexity are choices, and the probability of the intent is the
// confidence. The model writes no texts.
type SystemOne struct {
	Decider *model.Decider
	// Next is asked if the model fails, or has not answered in time; nil for none.
	Next Model
}

// firstShare is the share of the time that the model has before the next one is asked
// (contract §6).
const firstShare = 0.6

const (
	// maxLabels is how many labels a choice may have, maxCriterion the length of what
	// describes one, in characters.
	maxLabels    = 255
	maxCriterion = 400
	// maxGoal is the length of the message as the goal, in characters.
	maxGoal = 200
)

// Classify implements [Model]: source and model of the result are set.
func (s SystemOne) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	first, cancel := ctx, func() {}
	if deadline, ok := ctx.Deadline(); ok {
		first, cancel = context.WithTimeout(ctx, time.Duration(firstShare*float64(time.Until(deadline))))
	}
	result, err := s.ask(first, in)
	cancel()
	if err == nil || ctx.Err() != nil || s.Next == nil {
		return result, err
	}
	next, failed := s.Next.Classify(ctx, in)
	if failed != nil {
		return payload.Classification{}, fmt.Errorf("%w; %w", err, failed)
	}
	next.ModelCalls++
	return next, nil
}

func (s SystemOne) ask(ctx context.Context, in Input) (payload.Classification, error) {
	questions, ids := intentQuestions(in)
	if len(ids) > maxLabels {
		return payload.Classification{}, fmt.Errorf("%w: %d intents, and a choice has at most %d labels", ErrFailed, len(ids), maxLabels)
	}
	answer, err := s.Decider.Decide(ctx, provider.Decisions{State: intentState(in), Questions: questions}, func(answers json.RawMessage) error {
		_, err := intentAnswer(answers, in)
		return err
	})
	if err != nil {
		return payload.Classification{}, err
	}
	result, err := intentAnswer(answer.Value, in)
	if err != nil {
		return payload.Classification{}, err
	}
	result.Source, result.Model, result.ModelCalls = payload.SourceSystemOne, answer.Ref, 1
	if used := answer.Usage; used.InputTokens > 0 || used.OutputTokens > 0 {
		result.Tokens = &payload.Tokens{In: used.InputTokens, Out: used.OutputTokens}
	}
	return result, nil
}

// intentState is what the questions are about.
func intentState(in Input) json.RawMessage {
	state := struct {
		Conversation []payload.Turn `json:"conversation,omitempty"`
		Latest       string         `json:"latest"`
	}{in.Conversation, in.Latest}
	return encode(state)
}

// typed is a choice in the form of the wire.
type typed struct {
	Type         string            `json:"type"`
	Instructions string            `json:"instructions"`
	Criteria     map[string]string `json:"criteria"`
}

// intentQuestions returns the questions about a message, and the ids that may be
// answered.
func intentQuestions(in Input) (questions json.RawMessage, ids []string) {
	criteria := map[string]string{}
	for _, intent := range append(slices.Clone(in.Catalog.Enabled()), in.Catalog.Fallback()) {
		criteria[intent.ID] = text.OneLine(intent.Name+": "+strings.Join(intent.Triggers, "; "), maxCriterion)
		ids = append(ids, intent.ID)
	}
	return encode(map[string]typed{
		"intent": {"choice", "What does the user's latest message want? The conversation before it may help.", criteria},
		"complexity": {"choice", "How much work is the latest message for an assistant?", map[string]string{
			payload.ComplexityLow: "a short answer", payload.ComplexityMedium: "some steps or tools", payload.ComplexityHigh: "many steps, research or planning",
		}},
	}), ids
}

// intentAnswer reads the answers. Errors are [model.ErrUnparsable].
func intentAnswer(answers json.RawMessage, in Input) (c payload.Classification, err error) {
	root := gjson.ParseBytes(answers)
	id, p := chosen(root.Get("intent"))
	intent, known := in.Catalog.Lookup(id)
	complexity, _ := chosen(root.Get("complexity"))
	switch {
	case !known || p < 0 || p > 1:
		return c, fmt.Errorf("%w: no intent with a probability from 0 to 1", model.ErrUnparsable)
	case complexity != payload.ComplexityLow && complexity != payload.ComplexityMedium && complexity != payload.ComplexityHigh:
		return c, fmt.Errorf("%w: no complexity", model.ErrUnparsable)
	}
	return payload.Classification{
		Intent: intent.ID, Name: intent.Name, Confidence: p, Complexity: complexity, Goal: text.OneLine(in.Latest, maxGoal),
		Reason: fmt.Sprintf("the likeliest answer to the question what the message wants (%.2f)", p),
	}, nil
}

// chosen returns the label of a choice and its probability, -1 without one.
func chosen(answer gjson.Result) (label string, p float64) {
	label, p = answer.Get("choice").Str, -1
	answer.Get("probabilities").ForEach(func(key, share gjson.Result) bool {
		if key.Str == label && share.Type == gjson.Number {
			p = share.Num
		}
		return true
	})
	return label, p
}

func encode(v any) json.RawMessage {
	out, _ := json.Marshal(v) // maps and strings
	return out
}
