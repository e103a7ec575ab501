package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
)

// lowTemperature is sent with requests that name no temperature. Nearly the most
// likely answer is wanted, and the reports on accuracy were made with this value.
const lowTemperature = 0.1

// thinking are the beginnings of the names of OpenAI's models that think. They
// refuse max_tokens and a temperature.
var thinking = []string{"o1", "o3", "o4", "gpt-5", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol"}

// openAIModel speaks openai-completions. Responses are read field by field,
// because servers fill fields that do not matter here in their own ways.
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
	if slices.ContainsFunc(thinking, func(prefix string) bool { return strings.HasPrefix(model, prefix) }) {
		m.learned.q = quirks{noTemperature: true, otherTokens: !m.own, wide: true}
	}
	return m
}

// The request of openai-completions: the fields that are used here.
type (
	chatRequest struct {
		Model               string          `json:"model"`
		Messages            []chatMessage   `json:"messages"`
		MaxTokens           int             `json:"max_tokens,omitempty"`
		MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
		Temperature         float64         `json:"temperature,omitempty"`
		Stream              bool            `json:"stream"`
		ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
		ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	}
	chatMessage struct {
		Role    string `json:"role"`
		Content string `json:"content,omitempty"`
	}
	responseFormat struct {
		Type       string      `json:"type"`
		JSONSchema *jsonSchema `json:"json_schema,omitempty"`
	}
	jsonSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	}
)

// Complete implements [Completer].
func (m *openAIModel) Complete(ctx context.Context, req Request) (Completion, error) {
	resp, err := ask(ctx, &m.learned, func(q quirks) (gjson.Result, error) {
		return m.client.post(ctx, m.url, m.request(req, q))
	})
	if err != nil {
		return Completion{}, err
	}
	return m.completion(resp, req)
}

func (m *openAIModel) request(req Request, q quirks) chatRequest {
	out := chatRequest{Model: m.model}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	out.Messages = append(out.Messages, chatMessage{Role: "user", Content: req.User})
	if m.own != q.otherTokens {
		out.MaxCompletionTokens = q.tokens(req.MaxTokens)
	} else {
		out.MaxTokens = q.tokens(req.MaxTokens)
	}
	if !q.noTemperature {
		out.Temperature = cmp.Or(req.Temperature, lowTemperature)
	}
	if q.wide && m.own && !q.noThinking {
		out.ReasoningEffort = "low"
	}
	if req.Schema != nil {
		switch q.format {
		case formatSchema:
			out.ResponseFormat = &responseFormat{
				Type: "json_schema", JSONSchema: &jsonSchema{Name: req.SchemaName, Schema: req.Schema, Strict: true},
			}
		case formatObject:
			out.ResponseFormat = &responseFormat{Type: "json_object"}
		case formatNone:
		}
	}
	return out
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
	case finish == "length" && req.cutShort(said):
		m.learned.widen()
		return out, errTruncated
	case finish == "content_filter":
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
