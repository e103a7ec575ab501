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

// Quiet is the rate of messages below which a group is left alone; Per is a
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

var errNotIncluded = errors.New(`must not be enabled: this version does not include it; leave it out or set "enabled": false`)

func triage(text string) (Triage, error) {
	t := Triage{
		ConfidenceThreshold: 5, Quiet: Quiet{Per: "1h"}, MaxTriageTokens: 10, TimeoutMs: 5000, LogDecisions: true,
	}
	const allowed = "must be a JSON object with the fields of the triage gate"
	if err := decodeObject(text, &t); err != nil {
		return Triage{}, fmt.Errorf("%s (%w)", allowed, err)
	}
	per, err := duration(0)(t.Quiet.Per)
	switch {
	case t.TriageModel != "" && !model.MatchString(t.TriageModel):
		err = errors.New("triageModel must be provider/model")
	case t.ConfidenceThreshold < 1 || t.ConfidenceThreshold > 10:
		err = errors.New("confidenceThreshold must be from 1 to 10")
	case t.HistoryCount < 0 || t.HistoryCount > 20:
		err = errors.New("historyCount must be from 0 to 20")
	case t.Quiet.Messages < 0:
		err = errors.New("quiet.messages must not be negative")
	case err != nil || per == 0:
		err = errors.New("quiet.per must be a duration such as 1h")
	case t.MaxTriageTokens < 1:
		err = errors.New("maxTriageTokens must be greater than 0")
	case t.TimeoutMs < 1:
		err = errors.New("timeoutMs must be greater than 0")
	}
	if err != nil {
		return Triage{}, fmt.Errorf("%s (%w)", allowed, err)
	}
	if t.Enabled {
		return Triage{}, errNotIncluded
	}
	return t, nil
}

func knowHub(text string) (KnowHub, error) {
	k := KnowHub{
		Listen: "127.0.0.1:8000", RemindAtStart: true, RemindEvery: 3, ExtractionTrigger: subjects.HookAgentEnd,
		PrivacyMode: "strict", MinConfidence: 0.7, RequireApproval: true, ShareExperiences: true,
	}
	const allowed = "must be a JSON object with the fields of KnowHub"
	err := decodeObject(text, &k)
	if err != nil {
		return KnowHub{}, fmt.Errorf("%s (%w)", allowed, err)
	}
	_, port, listenErr := net.SplitHostPort(k.Listen)
	switch {
	case listenErr != nil || !isPort(port, 0):
		err = errors.New("listen must be host:port")
	case k.RemindEvery < 0:
		err = errors.New("remindEvery must not be negative")
	case k.Recall < 0:
		err = errors.New("recall must not be negative")
	case k.ExtractionTrigger != subjects.HookAgentEnd && k.ExtractionTrigger != "before_compaction":
		err = errors.New("extractionTrigger must be agent_end or before_compaction")
	case k.PrivacyMode != "strict" && k.PrivacyMode != "relaxed":
		err = errors.New("privacyMode must be strict or relaxed")
	case k.MinConfidence < 0 || k.MinConfidence > 1:
		err = errors.New("minConfidence must be from 0 to 1")
	case k.Model != "" && !model.MatchString(k.Model):
		err = errors.New("model must be provider/model")
	}
	if err != nil {
		return KnowHub{}, fmt.Errorf("%s (%w)", allowed, err)
	}
	if k.Enabled {
		return KnowHub{}, errNotIncluded
	}
	return k, nil
}

// maxHookTimeoutMs is the longest time of a handler (contract §13).
const maxHookTimeoutMs = 600000

func hookTimeouts(text string) (map[string]time.Duration, error) {
	const allowed = `must be a JSON object {"<hook>": ms} of whole numbers from 1 to 600000`
	entries, err := decodeEntries(text)
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", allowed, err)
	}
	timeouts := make(map[string]time.Duration, len(entries))
	for _, hook := range slices.Sorted(maps.Keys(entries)) {
		var ms float64
		if json.Unmarshal(entries[hook], &ms) != nil || ms != float64(int64(ms)) || ms < 1 || ms > maxHookTimeoutMs {
			return nil, fmt.Errorf("%s (%q is %s)", allowed, hook, quote(string(entries[hook])))
		}
		timeouts[hook] = time.Duration(ms) * time.Millisecond
	}
	return timeouts, nil
}

func isDecisionHook(hook string) bool { return subjects.KindOf(hook) == subjects.Decision }

func intentDeny(text string) (map[string][]string, error) {
	const allowed = `must be a JSON object {"<agent>": "<intent>" or ["<intent>", …]}`
	entries, err := decodeEntries(text)
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", allowed, err)
	}
	deny := make(map[string][]string, len(entries))
	for _, agent := range slices.Sorted(maps.Keys(entries)) {
		patterns, err := stringOrStrings(entries[agent])
		if err != nil {
			return nil, fmt.Errorf("%s (%q is %s)", allowed, agent, quote(string(entries[agent])))
		}
		deny[agent] = patterns
	}
	return deny, nil
}

// stringOrStrings reads one pattern, or several as an array or with commas.
func stringOrStrings(raw json.RawMessage) ([]string, error) {
	if len(raw) > 0 && raw[0] == '"' {
		var one string
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		return list(one)
	}
	var many []*string
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, err
	}
	if many == nil || slices.Contains(many, nil) {
		return nil, errors.New("null")
	}
	out := make([]string, 0, len(many))
	for _, s := range many {
		if t := strings.TrimSpace(*s); t != "" {
			out = append(out, t)
		}
	}
	return out, nil
}

func providers(text string) (map[string]provider.Config, error) {
	const allowed = `must be a JSON object {"<name>": {"baseUrl": "https://…", "api": "openai-completions" or "anthropic-messages", "apiKeyEnv": "VARIABLE"}}`
	entries, err := decodeEntries(text)
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", allowed, err)
	}
	out := make(map[string]provider.Config, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		p, err := providerEntry(name, entries[name])
		if err != nil {
			return nil, fmt.Errorf("%s (%w)", allowed, err)
		}
		out[name] = p
	}
	return out, nil
}

func providerEntry(name string, raw json.RawMessage) (provider.Config, error) {
	var p provider.Config
	if err := decodeObject(string(raw), &p); err != nil {
		return p, err
	}
	return p, provider.Validate(name, p)
}

func contextWindow(text string) (conversation.Window, error) {
	// What is left out keeps its default.
	var w struct {
		User      struct{ Turns, Chars *float64 } `json:"user"`
		Assistant struct{ Turns, Chars *float64 } `json:"assistant"`
	}
	if err := decodeObject(text, &w); err != nil {
		return conversation.Window{}, fmt.Errorf(`must be a JSON object {"user":{"turns":0–20,"chars":40–1000},"assistant":{"turns":0–10,"chars":40–1000}} (%w)`, err)
	}
	limit := func(given *float64, def, lowest, highest int) int {
		if given == nil {
			return def
		}
		return clamp(*given, lowest, highest)
	}
	def := conversation.DefaultWindow()
	return conversation.Window{
		User: conversation.Side{
			Turns: limit(w.User.Turns, def.User.Turns, 0, conversation.MaxUserTurns),
			Chars: limit(w.User.Chars, def.User.Chars, conversation.MinChars, conversation.MaxChars),
		},
		Assistant: conversation.Side{
			Turns: limit(w.Assistant.Turns, def.Assistant.Turns, 0, conversation.MaxAssistantTurns),
			Chars: limit(w.Assistant.Chars, def.Assistant.Chars, conversation.MinChars, conversation.MaxChars),
		},
	}, nil
}

func complexityPrompts(text string) (render.Prompts, error) {
	var p render.Prompts
	if err := decodeObject(text, &p); err != nil {
		return render.Prompts{}, fmt.Errorf(`must be a JSON object {"low": "…", "medium": "…", "high": "…"} (%w)`, err)
	}
	return p, nil
}

func decodeEntries(text string) (map[string]json.RawMessage, error) {
	var entries map[string]json.RawMessage
	return entries, decodeObject(text, &entries)
}

// decodeObject decodes one JSON object and nothing after it; fields that v
// does not have are an error.
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
