package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"intenthint/internal/netaddr"
	"intenthint/subjects"
)

// Values of [KnowHub.Privacy].
const (
	PrivacyStrict  = "strict"  // redacted, see package redact
	PrivacyRelaxed = "relaxed" // left unchanged
)

// KnowHub configures how experiences are stored and recalled (contract §12).
type KnowHub struct {
	Enabled       bool    `json:"enabled"`
	Listen        string  `json:"listen"` // host:port of the HTTP API
	Token         string  `json:"token"`  // required by every HTTP request; "" for none
	SubmittedBy   string  `json:"submittedBy"`
	RemindAtStart bool    `json:"remindAtStart"`
	RemindEvery   int     `json:"remindEvery"` // in turns; 0 for never
	Recall        int     `json:"recall"`      // experiences per prompt; 0 for none
	Extract       bool    `json:"enableServerExtraction"`
	Trigger       string  `json:"extractionTrigger"` // the hook
	Privacy       string  `json:"privacyMode"`       // PrivacyStrict or PrivacyRelaxed
	RedactIPs     bool    `json:"redactIPs"`         // with PrivacyStrict, also IP addresses
	MinConfidence float64 `json:"minConfidence"`
	Approval      bool    `json:"requireApproval"`
	// Model is provider/model; "" means HINT_MODEL, see [Config.KnowHubModel].
	Model string `json:"model"`
	Share bool   `json:"shareExperiences"`
}

// KnowHubModel returns the model that extracts experiences, as provider/model;
// "" for none.
func (c *Config) KnowHubModel() string {
	if c.KnowHub.Model != "" {
		return c.KnowHub.Model
	}
	return c.Classifier.Model
}

// knowHubDefaults returns the defaults of contract §12.
func knowHubDefaults() KnowHub {
	return KnowHub{
		Listen: "127.0.0.1:8000", RemindAtStart: true, RemindEvery: 3, Trigger: subjects.HookAgentEnd,
		Privacy: PrivacyStrict, MinConfidence: 0.7, Approval: true, Share: true,
	}
}

// errOpenKnowHub reports an API to which anybody could write.
var errOpenKnowHub = errors.New("must be a JSON object with valid fields: listen is not a loopback address, so token must be set")

// knowHub parses the settings of KnowHub.
func knowHub(text string) (KnowHub, error) {
	k := knowHubDefaults()
	values, err := fieldsOf(text, knowHubFields)
	if err != nil {
		return k, err
	}
	// As in triage: whole numbers may be written as 3.0.
	plain, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(plain, &k)
	}
	if err != nil {
		return k, fmt.Errorf("must be a JSON object (%w)", err)
	}
	if host, _, err := net.SplitHostPort(k.Listen); k.Enabled && k.Token == "" && (err != nil || !netaddr.IsLoopback(host)) {
		return k, errOpenKnowHub
	}
	return k, nil
}

// keepKnowHub copies settings that need a restart from the running to the new
// configuration, and returns the fields that differ.
func (c *Config) keepKnowHub(next *Config) (fields []string) {
	now, was := &next.KnowHub, c.KnowHub
	keep := func(field string, differs bool) {
		if differs {
			fields = append(fields, field)
		}
	}
	if was.Enabled && !now.Enabled { // the rest of the object is that of a part that is off
		*now = was
		return []string{"enabled"}
	}
	keep("enabled", now.Enabled != was.Enabled)
	keep("listen", now.Listen != was.Listen)
	keep("token", now.Token != was.Token)
	keep("enableServerExtraction", now.Extract != was.Extract)
	keep("extractionTrigger", now.Trigger != was.Trigger)
	now.Enabled, now.Listen, now.Token, now.Extract, now.Trigger = was.Enabled, was.Listen, was.Token, was.Extract, was.Trigger
	return fields
}
