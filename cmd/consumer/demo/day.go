// Package demo plays a day of believable traffic to a running system, as a gateway
// would send it.
package demo

import (
	"bytes"
	_ "embed"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed day.yaml
var bundled []byte

// Day is what happens in a day.
type Day struct {
	Sessions    []Session    `yaml:"sessions"`
	Groups      []Group      `yaml:"groups"`
	Experiences []Experience `yaml:"experiences"`
	Letters     []Letter     `yaml:"letters"`
}

// Session is a direct chat with an agent.
type Session struct {
	// Chat is the session key after the agent: channel:direct:id.
	Chat  string `yaml:"chat"`
	Agent string `yaml:"agent"` // "" for main
	Turns []Turn `yaml:"turns"`
	// Ended is why the session ended after its last turn, "" if it goes on.
	Ended string `yaml:"ended"`
}

// Turn is a message and what an agent made of it.
type Turn struct {
	Ago    time.Duration `yaml:"ago"` // before the demonstration began
	Text   string        `yaml:"text"`
	Tools  []Tool        `yaml:"tools"`
	Answer string        `yaml:"answer"`
	Fails  bool          `yaml:"fails"`
	// Mark is what a person says of the hint: right, or the intent that would have
	// been; "" for nothing.
	Mark string `yaml:"mark"`
	// Tokens are the agent's own: input, output, read from the cache.
	Tokens [3]int `yaml:"tokens"`
}

// Tool is a tool call. It failed if it has an Error.
type Tool struct {
	Name   string         `yaml:"name"`
	Params map[string]any `yaml:"params"`
	Result string         `yaml:"result"`
	Error  string         `yaml:"error"`
	Ms     int            `yaml:"ms"`
}

// Group is a group chat.
type Group struct {
	Chat     string    `yaml:"chat"`
	Agent    string    `yaml:"agent"` // "" for main
	Messages []Message `yaml:"messages"`
}

// Message is a message of a group. The agent answers with Answer if the gate lets it.
type Message struct {
	Ago    time.Duration `yaml:"ago"`
	From   string        `yaml:"from"`
	Text   string        `yaml:"text"`
	Answer string        `yaml:"answer"`
	Mark   string        `yaml:"mark"` // respond or skip, "" for nothing
}

// Experience is what an agent submits.
type Experience struct {
	Agent    string `yaml:"agent"`
	Approve  bool   `yaml:"approve"`
	Task     string `yaml:"task"`
	Resource string `yaml:"resource"`
	Result   string `yaml:"result"`
}

// Letter is an event that no consumer can use.
type Letter struct {
	Ago     time.Duration `yaml:"ago"`
	Hook    string        `yaml:"hook"`
	Agent   string        `yaml:"agent"`
	Session string        `yaml:"session"`
	Body    string        `yaml:"body"`
}

// Bundled returns the day that is in the binary.
func Bundled() (Day, error) {
	var d Day
	err := yaml.NewDecoder(bytes.NewReader(bundled), yaml.DisallowUnknownField()).Decode(&d)
	return d, err
}
