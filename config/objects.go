package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"intenthint/conversation"
	"intenthint/hint/render"
	"intenthint/model/provider"
	"intenthint/payload"
)

// object returns a parser of a JSON object. Missing fields are taken from def.
func object[T any](allowed string, def T) func(string) (T, error) {
	return func(text string) (T, error) {
		v := def
		if err := decodeObject(text, &v); err != nil {
			return def, fmt.Errorf("must be a JSON object %s (%w)", allowed, err)
		}
		return v, nil
	}
}

// objectOf returns a parser of a JSON object with any names, whose values parse
// reads.
func objectOf[V any](allowed string, parse func(name string, raw json.RawMessage) (V, error)) func(string) (map[string]V, error) {
	return func(text string) (map[string]V, error) {
		var entries map[string]json.RawMessage
		err := decodeObject(text, &entries)
		out := make(map[string]V, len(entries))
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if err == nil {
				out[name], err = parse(name, entries[name])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("must be a JSON object %s (%w)", allowed, err)
		}
		return out, nil
	}
}

// wrongEntry returns the error of an invalid entry.
func wrongEntry(name string, raw json.RawMessage) error {
	return fmt.Errorf("%q is %s", name, quote(string(raw)))
}

// maxHookTimeoutMs is the longest timeout of a handler (contract §13).
const maxHookTimeoutMs = 600000

var hookTimeouts = objectOf(`{"<hook>": ms} of whole numbers from 1 to 600000`, func(hook string, raw json.RawMessage) (time.Duration, error) {
	var ms float64
	if json.Unmarshal(raw, &ms) != nil || ms != float64(int64(ms)) || ms < 1 || ms > maxHookTimeoutMs {
		return 0, wrongEntry(hook, raw)
	}
	return time.Duration(ms) * time.Millisecond, nil
})

var intentDeny = objectOf(`{"<agent>": "<intent>" or ["<intent>", …]}`, func(agent string, raw json.RawMessage) ([]string, error) {
	var (
		one  *string
		many []*string
	)
	if json.Unmarshal(raw, &one) == nil && one != nil {
		return list(*one)
	}
	if json.Unmarshal(raw, &many) != nil || many == nil || slices.Contains(many, nil) {
		return nil, wrongEntry(agent, raw)
	}
	patterns := make([]string, 0, len(many))
	for _, s := range many {
		if pattern := strings.TrimSpace(*s); pattern != "" {
			patterns = append(patterns, pattern)
		}
	}
	return patterns, nil
})

var providers = objectOf(`{"<name>": {"baseUrl": "https://…", "api": "openai-completions", "anthropic-messages" or "systemone", "apiKeyEnv": "VARIABLE"}}`,
	func(name string, raw json.RawMessage) (provider.Config, error) {
		var p provider.Config
		if err := decodeObject(string(raw), &p); err != nil {
			return p, fmt.Errorf("of %q: %w", name, err)
		}
		return p, provider.Validate(name, p)
	})

var prices = objectOf(`{"<provider>/<model>": {"input", "output", "cacheRead", "cacheWrite"}} of prices per million tokens, 0 or more`,
	func(name string, raw json.RawMessage) (payload.Price, error) {
		var p payload.Price
		if err := decodeObject(string(raw), &p); err != nil {
			return p, fmt.Errorf("of %q: %w", name, err)
		}
		if _, _, ok := strings.Cut(name, "/"); !ok {
			return p, fmt.Errorf("%q is not provider/model", name)
		}
		if min(p.Input, p.Output, p.CacheRead, p.CacheWrite) < 0 || max(p.Input, p.Output, p.CacheRead, p.CacheWrite) > maxPrice {
			return p, wrongEntry(name, raw)
		}
		return p, nil
	})

// maxPrice bounds a price: no currency has so many units for a million tokens.
const maxPrice = 1e9

func contextWindow(text string) (conversation.Window, error) {
	// The numbers may have fractions and any size before they are clamped.
	type side struct {
		Turns float64 `json:"turns"`
		Chars float64 `json:"chars"`
	}
	type window struct {
		User      side `json:"user"`
		Assistant side `json:"assistant"`
	}
	def := conversation.DefaultWindow()
	w, err := object(`{"user":{"turns":0–20,"chars":40–1000},"assistant":{"turns":0–10,"chars":40–1000}}`, window{
		side{float64(def.User.Turns), float64(def.User.Chars)},
		side{float64(def.Assistant.Turns), float64(def.Assistant.Chars)},
	})(text)
	clamped := func(s side, maxTurns int) conversation.Side {
		return conversation.Side{Turns: clamp(s.Turns, 0, maxTurns), Chars: clamp(s.Chars, conversation.MinChars, conversation.MaxChars)}
	}
	return conversation.Window{
		User:      clamped(w.User, conversation.MaxUserTurns),
		Assistant: clamped(w.Assistant, conversation.MaxAssistantTurns),
	}, err
}

var complexityPrompts = object(`{"low": "…", "medium": "…", "high": "…"}`, render.Prompts{})

// decodeObject decodes one JSON object and nothing after it. Unknown fields and
// fields that occur twice are an error.
func decodeObject(text string, v any) error {
	if trimmed := strings.TrimSpace(text); trimmed != "" && trimmed[0] != '{' {
		return errors.New("it does not begin with {")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return wordJSONError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more text after the object, at byte %d", dec.InputOffset())
	}
	return unique(json.NewDecoder(strings.NewReader(text)))
}

// unique returns an error for the first field that occurs twice in an object of
// the next value, which must be valid. [json.Unmarshal] would take the last.
func unique(dec *json.Decoder) error {
	token, err := dec.Token()
	delim, ok := token.(json.Delim)
	if err != nil || !ok {
		return err
	}
	seen := map[json.Token]bool{}
	for dec.More() {
		if delim == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if seen[name] {
				return fmt.Errorf("field %q occurs twice", name)
			}
			seen[name] = true
		}
		if err := unique(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// wordJSONError describes an error in terms of JSON instead of Go types.
func wordJSONError(err error) error {
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", cmp.Or(typed.Field, "it"), typed.Value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		text += fmt.Sprintf(" at byte %d", syntax.Offset)
	}
	return errors.New(text)
}
