package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"intenthint/internal/text"
)

// lowTemperature is not zero because the client leaves a zero out.
const lowTemperature = 0.1

// openAIModel speaks openai-completions. The client library defines the requests.
// Responses are read field by field: the library refuses a response in which any
// field has another type than at OpenAI.
type openAIModel struct {
	client *client
	url    string
	model  string
	// own reports whether the host is OpenAI's own, which requires
	// max_completion_tokens; other servers are more likely to know max_tokens.
	own     bool
	learned memory
}

func newOpenAIModel(c connection, model string) *openAIModel {
	m := &openAIModel{client: c.client, url: c.baseURL + "/chat/completions", model: model}
	if u, err := url.Parse(c.baseURL); err == nil {
		m.own = u.Hostname() == "api.openai.com"
	}
	return m
}

// Complete implements [Completer].
func (m *openAIModel) Complete(ctx context.Context, req Request) (Completion, error) {
	resp, err := ask(ctx, &m.learned, m.without, func(q quirks) (gjson.Result, error) {
		asked := m.request(req, q)
		if err := openai.NewReasoningValidator().Validate(asked); err != nil {
			return gjson.Result{}, err
		}
		return m.client.post(ctx, m.url, asked)
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

func (m *openAIModel) completion(resp gjson.Result, req Request) (Completion, error) {
	out := Completion{Usage: openAIUsage(resp)}
	choices := resp.Get("choices")
	if !choices.IsArray() || !choices.Get("0").Exists() {
		return out, fmt.Errorf("%w: no choices", ErrMalformed)
	}
	choice := choices.Get("0")
	said, finish, refusal := content(choice.Get("message.content")), choice.Get("finish_reason").Str, choice.Get("message.refusal").Str
	switch {
	case finish == string(openai.FinishReasonLength) && req.cutShort(said):
		m.learned.widen()
		return out, errTruncated
	case finish == string(openai.FinishReasonContentFilter):
		return out, fmt.Errorf("%w: content filter", errRefused)
	case strings.TrimSpace(said) == "" && refusal != "":
		return out, fmt.Errorf("%w: %s", errRefused, text.OneLine(refusal, 200))
	case strings.TrimSpace(said) == "":
		return out, errEmpty
	}
	out.Text = said
	return out, nil
}

// content returns the text of a message: a string, or a list of parts, of which
// only those with a text count.
func content(c gjson.Result) string {
	if !c.IsArray() {
		return strings.ToValidUTF8(c.Str, "\ufffd")
	}
	var b strings.Builder
	c.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").Str)
		return true
	})
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// openAIUsage returns the token counts of a response.
func openAIUsage(resp gjson.Result) Usage {
	return Usage{
		InputTokens: count(resp, "usage.prompt_tokens"), OutputTokens: count(resp, "usage.completion_tokens"),
		CachedTokens: count(resp, "usage.prompt_tokens_details.cached_tokens"),
	}
}

// openAIHeader returns the headers that every request of openai-completions
// carries.
func openAIHeader(key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	return h
}
