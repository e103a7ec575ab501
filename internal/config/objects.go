package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"intenthint/hint/conversation"
	"intenthint/hint/render"
	"intenthint/model/provider"
	"intenthint/subjects"
)

// Triage is HINT_TRIAGE (contract §11). This version checks the object and
// refuses one that is enabled.
type Triage struct {
	Enabled             bool              `json:"enabled"`
	TriageModel         string            `json:"triageModel"`
	TriagePrompt        string            `json:"triagePrompt"`
	GroupPrompts        map[string]string `json:"groupPrompts"`
	Groups              []string          `json:"groups"`
	ExcludeGroups       []string          `json:"excludeGroups"`
	BotName             string            `json:"botName"`
	BypassKeywords      []string          `json:"bypassKeywords"`
	UseConfidenceScores bool              `json:"useConfidenceScores"`
	ConfidenceThreshold int               `json:"confidenceThreshold"`
	HistoryCount        int               `json:"historyCount"`
	Quiet               Quiet             `json:"quiet"`
	MaxTriageTokens     int               `json:"maxTriageTokens"`
	TimeoutMs           int               `json:"timeoutMs"`
	LogDecisions        bool              `json:"logDecisions"`
}

// Quiet is the message rate below which a group is left alone; Per is a
// duration as text.
type Quiet struct {
	Messages int    `json:"messages"`
	Per      string `json:"per"`
}

// KnowHub is HINT_KNOWHUB (contract §12). This version checks the object and
// refuses one that is enabled.
type KnowHub struct {
	Enabled                bool    `json:"enabled"`
	Listen                 string  `json:"listen"`
	Token                  string  `json:"token"`
	SubmittedBy            string  `json:"submittedBy"`
	RemindAtStart          bool    `json:"remindAtStart"`
	RemindEvery            int     `json:"remindEvery"`
	Recall                 int     `json:"recall"`
	EnableServerExtraction bool    `json:"enableServerExtraction"`
	ExtractionTrigger      string  `json:"extractionTrigger"`
	PrivacyMode            string  `json:"privacyMode"`
	MinConfidence          float64 `json:"minConfidence"`
	RequireApproval        bool    `json:"requireApproval"`
	Model                  string  `json:"model"`
	ShareExperiences       bool    `json:"shareExperiences"`
}

// object returns a parser of a JSON object. What the object leaves out is as in
// def; check, if not nil, validates the rest.
func object[T any](allowed string, def T, check func(T) error) func(string) (T, error) {
	return func(text string) (T, error) {
		v := def
		err := decodeObject(text, &v)
		if err == nil && check != nil {
			err = check(v)
		}
		if err != nil {
			var none T
			return none, fmt.Errorf("must be a JSON object %s (%w)", allowed, err)
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

// wrongEntry is the error of a value that is not what it should be.
func wrongEntry(name string, raw json.RawMessage) error {
	return fmt.Errorf("%q is %s", name, quote(string(raw)))
}

var errNotIncluded = errors.New(`enabled must be false: this version does not include it`)

var triage = object("with the fields of the triage gate", Triage{
	ConfidenceThreshold: 5, Quiet: Quiet{Per: "1h"}, MaxTriageTokens: 10, TimeoutMs: 5000, LogDecisions: true,
}, func(t Triage) error {
	per, err := duration(0)(t.Quiet.Per)
	switch {
	case t.TriageModel != "" && !model.MatchString(t.TriageModel):
		return errors.New("triageModel must be provider/model")
	case t.ConfidenceThreshold < 1 || t.ConfidenceThreshold > 10:
		return errors.New("confidenceThreshold must be from 1 to 10")
	case t.HistoryCount < 0 || t.HistoryCount > 20:
		return errors.New("historyCount must be from 0 to 20")
	case t.Quiet.Messages < 0:
		return errors.New("quiet.messages must not be negative")
	case err != nil || per == 0:
		return errors.New("quiet.per must be a duration such as 1h")
	case t.MaxTriageTokens < 1:
		return errors.New("maxTriageTokens must be greater than 0")
	case t.TimeoutMs < 1:
		return errors.New("timeoutMs must be greater than 0")
	case t.Enabled:
		return errNotIncluded
	}
	return nil
})

var knowHub = object("with the fields of KnowHub", KnowHub{
	Listen: "127.0.0.1:8000", RemindAtStart: true, RemindEvery: 3, ExtractionTrigger: subjects.HookAgentEnd,
	PrivacyMode: "strict", MinConfidence: 0.7, RequireApproval: true, ShareExperiences: true,
}, func(k KnowHub) error {
	_, port, err := net.SplitHostPort(k.Listen)
	switch {
	case err != nil || !isPort(port, 0):
		return errors.New("listen must be host:port")
	case k.RemindEvery < 0:
		return errors.New("remindEvery must not be negative")
	case k.Recall < 0:
		return errors.New("recall must not be negative")
	case k.ExtractionTrigger != subjects.HookAgentEnd && k.ExtractionTrigger != "before_compaction":
		return errors.New("extractionTrigger must be agent_end or before_compaction")
	case k.PrivacyMode != "strict" && k.PrivacyMode != "relaxed":
		return errors.New("privacyMode must be strict or relaxed")
	case k.MinConfidence < 0 || k.MinConfidence > 1:
		return errors.New("minConfidence must be from 0 to 1")
	case k.Model != "" && !model.MatchString(k.Model):
		return errors.New("model must be provider/model")
	case k.Enabled:
		return errNotIncluded
	}
	return nil
})

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

var providers = objectOf(`{"<name>": {"baseUrl": "https://…", "api": "openai-completions" or "anthropic-messages", "apiKeyEnv": "VARIABLE"}}`,
	func(name string, raw json.RawMessage) (provider.Config, error) {
		var p provider.Config
		if err := decodeObject(string(raw), &p); err != nil {
			return p, err
		}
		return p, provider.Validate(name, p)
	})

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
	}, nil)(text)
	clamped := func(s side, maxTurns int) conversation.Side {
		return conversation.Side{Turns: clamp(s.Turns, 0, maxTurns), Chars: clamp(s.Chars, conversation.MinChars, conversation.MaxChars)}
	}
	return conversation.Window{
		User:      clamped(w.User, conversation.MaxUserTurns),
		Assistant: clamped(w.Assistant, conversation.MaxAssistantTurns),
	}, err
}

var complexityPrompts = object(`{"low": "…", "medium": "…", "high": "…"}`, render.Prompts{}, nil)

// decodeObject decodes one JSON object and nothing after it. Unknown fields
// are an error.
func decodeObject(text string, v any) error {
	if trimmed := bytes.TrimLeft([]byte(text), " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' {
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
	return nil
}

func wordJSONError(err error) error {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &typed):
		field := typed.Field
		if field == "" {
			field = "it"
		}
		return fmt.Errorf("%s is a %s, not %s", field, typed.Value, wordType(typed.Type))
	case errors.As(err, &syntax):
		return fmt.Errorf("%s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

func wordType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}
