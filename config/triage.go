package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// Triage configures the triage gate (contract §11).
type Triage struct {
	Enabled bool `json:"enabled"`
	// Model is provider/model; "" means HINT_MODEL, see [Config.TriageModel].
	Model        string            `json:"triageModel"`
	Prompt       string            `json:"triagePrompt"` // "" for the built-in one
	GroupPrompts map[string]string `json:"groupPrompts"` // by group id
	Groups       []string          `json:"groups"`       // globs of group ids; none means all
	Exclude      []string          `json:"excludeGroups"`
	BotName      string            `json:"botName"` // "" for the agent's own name
	Keywords     []string          `json:"bypassKeywords"`
	Scores       bool              `json:"useConfidenceScores"`
	Threshold    int               `json:"confidenceThreshold"` // 1–10
	History      int               `json:"historyCount"`        // 0–20
	Quiet        TriageQuiet       `json:"quiet"`
	Examples     int               `json:"examples"`      // 0–20
	Recall       int               `json:"recallSkipped"` // 0–50
	Local        bool              `json:"local"`
	MaxTokens    int               `json:"maxTriageTokens"`
	TimeoutMs    int64             `json:"timeoutMs"`
	LogDecisions bool              `json:"logDecisions"`
}

// TriageQuiet defines quiet groups: those with fewer than Messages messages in
// the given time. 0 messages means none.
type TriageQuiet struct {
	Messages int
	Per      time.Duration
}

// quietText is [TriageQuiet] in JSON.
type quietText struct {
	Messages int    `json:"messages"`
	Per      string `json:"per"`
}

// UnmarshalJSON implements [json.Unmarshaler]. Missing fields are unchanged.
func (q *TriageQuiet) UnmarshalJSON(data []byte) error {
	text := quietText{q.Messages, q.Per.String()}
	err := json.Unmarshal(data, &text)
	if err == nil {
		q.Messages = text.Messages
		q.Per, err = duration(0)(text.Per)
	}
	return err
}

// MarshalJSON implements [json.Marshaler].
func (q TriageQuiet) MarshalJSON() ([]byte, error) {
	return json.Marshal(quietText{q.Messages, q.Per.String()})
}

// Timeout returns how long a gateway waits for a decision.
func (t Triage) Timeout() time.Duration { return time.Duration(t.TimeoutMs) * time.Millisecond }

// TriageModel returns the model that the gate asks, as provider/model; "" for
// none.
func (c *Config) TriageModel() string {
	if c.Triage.Model != "" {
		return c.Triage.Model
	}
	return c.Classifier.Model
}

// triageDefaults returns the defaults of contract §11.
func triageDefaults() Triage {
	return Triage{
		Threshold: 5, Quiet: TriageQuiet{Per: time.Hour}, Examples: 6, Recall: 10,
		MaxTokens: 10, TimeoutMs: 5000, LogDecisions: true,
	}
}

// triage parses the settings of the triage gate.
func triage(text string) (Triage, error) {
	t := triageDefaults()
	values, err := fieldsOf(text, triageFields)
	if err != nil {
		return t, err
	}
	// The values have the right types. Whole numbers may be written as 5.0, which
	// does not decode into an integer.
	plain, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(plain, &t)
	}
	if err != nil {
		return t, fmt.Errorf("must be a JSON object (%w)", err)
	}
	return t, nil
}
