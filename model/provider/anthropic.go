package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropicModel speaks anthropic-messages.
type anthropicModel struct {
	client  anthropic.Client
	model   string
	learned memory
}

func newAnthropicModel(c connection, model string) *anthropicModel {
	opts := []option.RequestOption{
		// Use only our own address and key. Retries would outlive the deadline.
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0),
		option.WithBaseURL(c.baseURL),
		option.WithHTTPClient(c.client),
	}
	if c.client.key != "" {
		opts = append(opts, option.WithAPIKey(c.client.key))
	}
	return &anthropicModel{client: anthropic.NewClient(opts...), model: model}
}

// Complete implements [Completer].
func (m *anthropicModel) Complete(ctx context.Context, req Request) (Completion, error) {
	var schema map[string]any
	if req.Schema != nil {
		if err := json.Unmarshal(req.Schema, &schema); err != nil {
			return Completion{}, fmt.Errorf("schema %s: %w", req.SchemaName, err)
		}
	}
	msg, err := ask(ctx, &m.learned, quirks.without, func(q quirks) (*anthropic.Message, error) {
		return m.client.Messages.New(ctx, m.params(req, schema, q))
	})
	if err != nil {
		return Completion{}, err
	}
	return m.completion(msg, req)
}

func (m *anthropicModel) params(req Request, schema map[string]any, q quirks) anthropic.MessageNewParams {
	out := anthropic.MessageNewParams{
		Model:     m.model,
		MaxTokens: int64(q.tokens(req.MaxTokens)),
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(req.User))},
	}
	if req.System != "" {
		out.System = []anthropic.TextBlockParam{{Text: req.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	if !q.noTemperature {
		out.Temperature = param.NewOpt(cmp.Or(req.Temperature, lowTemperature))
	}
	if !q.noThinking {
		// Newer models think unless they are told not to.
		off := anthropic.NewThinkingConfigDisabledParam()
		out.Thinking = anthropic.ThinkingConfigParamUnion{OfDisabled: &off}
	}
	if schema != nil && q.format == formatSchema {
		out.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: schema}
	}
	return out
}

func (m *anthropicModel) completion(msg *anthropic.Message, req Request) (Completion, error) {
	u := msg.Usage
	out := Completion{Usage: Usage{
		InputTokens:  int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
		OutputTokens: int(u.OutputTokens),
		CachedTokens: int(u.CacheReadInputTokens),
	}}
	var text strings.Builder
	for i := range msg.Content {
		if msg.Content[i].Type == "text" {
			text.WriteString(msg.Content[i].Text)
		}
	}
	truncated := msg.StopReason == anthropic.StopReasonMaxTokens || msg.StopReason == anthropic.StopReasonModelContextWindowExceeded
	switch {
	case truncated && req.cutShort(text.String()):
		m.learned.widen()
		return out, errTruncated
	case msg.StopReason == anthropic.StopReasonRefusal:
		return out, errRefused
	case msg.Type != "message" && len(msg.Content) == 0:
		return out, fmt.Errorf("%w: not a message", ErrMalformed)
	case strings.TrimSpace(text.String()) == "":
		return out, errEmpty
	}
	out.Text = text.String()
	return out, nil
}
