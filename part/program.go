package part

import (
	"intenthint/model"
	"intenthint/payload"
)

// Program is what a part's settings are made from: its own and the program's settings,
// and the program's models.
type Program struct {
	Values
	Model       string // HINT_MODEL, as provider/model; "" for none
	PromptModel string // HINT_MODEL, or its fallback where that answers typed questions only
	DecideModel string // HINT_DECIDE_MODEL, likewise
	MaxInflight int    // HINT_MAX_INFLIGHT
	Redact      bool   // HINT_REDACT=strict
	Learn       bool   // HINT_LEARN=auto
	AsksModels  bool   // hints may be made with a model
	// RepeatAfter is how many turns later the same text may be put in front of a
	// session's prompt again; 0 means never, [RepeatAlways] means no such rule.
	RepeatAfter int
	// Serves reports whether the rules about agents and chats admit a turn (contract §4),
	// Admits the same whatever the type of the chat.
	Serves, Admits func(payload.Context) bool
	// Chain returns a model to ask. Its failures count for the whole process.
	Chain func(ref string) (*model.Chain, error)
	// Decider is [Program.Chain] for a model that answers typed questions; nil without
	// an error for one that answers prompts.
	Decider func(ref string) (*model.Decider, error)
}

// Asked is a model to ask: one of the two is set.
type Asked struct {
	Chain   *model.Chain   // one that answers prompts
	Decider *model.Decider // one that answers typed questions
}

// Asked returns the model of a reference.
func (p Program) Asked(ref string) (a Asked, err error) {
	if a.Decider, err = p.Decider(ref); err == nil && a.Decider == nil {
		a.Chain, err = p.Chain(ref)
	}
	return a, err
}

// RepeatAlways is the [Program.RepeatAfter] of HINT_REPEAT=always.
const RepeatAlways = -1
