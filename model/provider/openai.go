package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"intenthint/internal/text"
)

// lowTemperature is not zero because the client leaves a zero out.
const lowTemperature = 0.1

// openAIModel speaks openai-completions.
type openAIModel struct {
	client *openai.Client
	model  string
	// own reports whether the host is OpenAI's own, which requires
	// max_completion_tokens; other servers are more likely to know max_tokens.
	own     bool
	learned memory
}

func newOpenAIModel(c connection, model string) *openAIModel {
	cfg := openai.DefaultConfig(c.client.key)
	cfg.BaseURL = c.baseURL
	cfg.HTTPClient = c.client
	m := &openAIModel{client: openai.NewClientWithConfig(cfg), model: model}
	if u, err := url.Parse(c.baseURL); err == nil {
		m.own = u.Hostname() == "api.openai.com"
	}
	return m
}

// Complete implements [Completer].
func (m *openAIModel) Complete(ctx context.Context, req Request) (Completion, error) {
	resp, err := ask(ctx, &m.learned, m.without, func(q quirks) (openai.ChatCompletionResponse, error) {
		return m.client.CreateChatCompletion(ctx, m.request(req, q))
	})
	if err != nil {
		return Completion{}, err
	}
	return m.completion(resp, req)
}

// without is quirks.without, plus the refusals of the client library, which has
// its own list of models.
func (m *openAIModel) without(q quirks, err error) (quirks, bool) {
	next := q
	switch {
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		next.otherTokens, next.wide = true, true
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther), errors.Is(err, openai.ErrReasoningSamplingUnsupported):
		next.noTemperature, next.wide = true, true
	default:
		return q.without(err)
	}
	return next, next != q
}

func (m *openAIModel) request(req Request, q quirks) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: m.model}
	if req.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: req.System})
	}
	out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: req.User})
	if m.own != q.otherTokens {
		out.MaxCompletionTokens = q.tokens(req.MaxTokens)
	} else {
		out.MaxTokens = q.tokens(req.MaxTokens) //nolint:staticcheck // what older servers know
	}
	if !q.noTemperature {
		out.Temperature = float32(cmp.Or(req.Temperature, lowTemperature))
	}
	if q.wide && m.own && !q.noThinking {
		out.ReasoningEffort = openai.ReasoningEffortLow
	}
	out.ResponseFormat = responseFormat(req, q.format)
	return out
}

func responseFormat(req Request, f format) *openai.ChatCompletionResponseFormat {
	if req.Schema == nil {
		return nil
	}
	switch f {
	case formatSchema:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: req.SchemaName, Schema: req.Schema, Strict: true,
			},
		}
	case formatObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	default:
		return nil
	}
}

func (m *openAIModel) completion(resp openai.ChatCompletionResponse, req Request) (Completion, error) {
	out := Completion{Usage: Usage{InputTokens: resp.Usage.PromptTokens, OutputTokens: resp.Usage.CompletionTokens}}
	if d := resp.Usage.PromptTokensDetails; d != nil {
		out.Usage.CachedTokens = d.CachedTokens
	}
	if len(resp.Choices) == 0 {
		return out, fmt.Errorf("%w: no choices", ErrMalformed)
	}
	choice := resp.Choices[0]
	var b strings.Builder
	b.WriteString(choice.Message.Content)
	for _, part := range choice.Message.MultiContent {
		b.WriteString(part.Text)
	}
	said := b.String()
	switch {
	case choice.FinishReason == openai.FinishReasonLength && req.cutShort(said):
		m.learned.widen()
		return out, errTruncated
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return out, fmt.Errorf("%w: content filter", errRefused)
	case strings.TrimSpace(said) == "" && choice.Message.Refusal != "":
		return out, fmt.Errorf("%w: %s", errRefused, text.OneLine(choice.Message.Refusal, 200))
	case strings.TrimSpace(said) == "":
		return out, errEmpty
	}
	out.Text = said
	return out, nil
}
