package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// anthropicVersion is the version of the API that the requests here follow.
const anthropicVersion = "2023-06-01"

// anthropicHeader returns the headers that every request of anthropic-messages
// carries.
func anthropicHeader(key string) http.Header {
	h := http.Header{"Anthropic-Version": {anthropicVersion}}
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	return h
}

// anthropicModel speaks anthropic-messages. Responses are read field by field,
// because other servers that speak it fill fields that do not matter here in
// their own ways.
type anthropicModel struct {
	client  *client
	url     string
	model   string
	learned memory
}

func newAnthropicModel(c connection, model string) *anthropicModel {
	return &anthropicModel{client: c.client, url: c.baseURL + "/v1/messages", model: model}
}

// The request of anthropic-messages: the fields that are used here.
type (
	messagesRequest struct {
		Model        string             `json:"model"`
		MaxTokens    int                `json:"max_tokens"`
		System       []textBlock        `json:"system,omitempty"`
		Messages     []anthropicMessage `json:"messages"`
		Temperature  *float64           `json:"temperature,omitempty"`
		Thinking     *typed             `json:"thinking,omitempty"`
		OutputConfig *outputConfig      `json:"output_config,omitempty"`
	}
	anthropicMessage struct {
		Role    string      `json:"role"`
		Content []textBlock `json:"content"`
	}
	textBlock struct {
		Type         string `json:"type"`
		Text         string `json:"text"`
		CacheControl *typed `json:"cache_control,omitempty"`
	}
	outputConfig struct {
		Format schemaFormat `json:"format"`
	}
	schemaFormat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	// typed is an object that has a type and nothing else.
	typed struct {
		Type string `json:"type"`
	}
)

// Complete implements [Completer].
func (m *anthropicModel) Complete(ctx context.Context, req Request) (Completion, error) {
	msg, err := ask(ctx, &m.learned, func(q quirks) (gjson.Result, error) {
		return m.client.post(ctx, m.url, m.request(req, q))
	})
	if err != nil {
		return Completion{}, err
	}
	return m.completion(msg, req)
}

func (m *anthropicModel) request(req Request, q quirks) messagesRequest {
	out := messagesRequest{
		Model:     m.model,
		MaxTokens: q.tokens(req.MaxTokens),
		Messages:  []anthropicMessage{{Role: "user", Content: []textBlock{{Type: "text", Text: req.User}}}},
	}
	if req.System != "" {
		out.System = []textBlock{{Type: "text", Text: req.System, CacheControl: &typed{Type: "ephemeral"}}}
	}
	if !q.noTemperature {
		out.Temperature = new(cmp.Or(req.Temperature, lowTemperature))
	}
	if !q.noThinking {
		// Newer models think unless they are told not to.
		out.Thinking = &typed{Type: "disabled"}
	}
	if req.Schema != nil && q.format == formatSchema {
		out.OutputConfig = &outputConfig{Format: schemaFormat{Type: "json_schema", Schema: req.Schema}}
	}
	return out
}

func (m *anthropicModel) completion(msg gjson.Result, req Request) (Completion, error) {
	read := count(msg, "usage.cache_read_input_tokens")
	out := Completion{Usage: Usage{
		InputTokens:  count(msg, "usage.input_tokens") + read + count(msg, "usage.cache_creation_input_tokens"),
		OutputTokens: count(msg, "usage.output_tokens"),
		CachedTokens: read,
	}}
	answer := messageText(msg.Get("content"))
	stop := msg.Get("stop_reason").Str
	truncated := stop == "max_tokens" || stop == "model_context_window_exceeded"
	switch {
	case truncated && req.cutShort(answer):
		m.learned.widen()
		return out, errTruncated
	case stop == "refusal":
		return out, errRefused
	case msg.Get("type").Str != "message" && !msg.Get("content.0").Exists():
		return out, fmt.Errorf("%w: not a message", ErrMalformed)
	case strings.TrimSpace(answer) == "":
		return out, errEmpty
	}
	out.Text = answer
	return out, nil
}

// messageText returns the text of a message, without what the model thought.
func messageText(content gjson.Result) string {
	var b strings.Builder
	if content.IsArray() {
		content.ForEach(func(_, block gjson.Result) bool {
			if block.Get("type").Str == "text" {
				b.WriteString(block.Get("text").Str)
			}
			return true
		})
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
