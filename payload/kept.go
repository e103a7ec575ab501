package payload

import "github.com/tidwall/gjson"

// KeptHints is what the conversation of a session holds of the hints that it was
// given, where the gateway keeps hints in the history that it sends to models.
type KeptHints struct {
	// Bytes is the size of the hints, of which the first was given at Since, in Unix
	// milliseconds.
	Bytes int   `json:"bytes"`
	Since int64 `json:"since"`
	// Prompts are the prompts of intents that were said, oldest first.
	Prompts []KeptPrompt `json:"prompts,omitempty"`
}

// KeptPrompt is an intent's prompt in a conversation.
type KeptPrompt struct {
	// Text identifies the intent's own text, as that of a [LastHint] does.
	Text string `json:"text"`
	// At is when the turn of its hint began, in Unix milliseconds.
	At int64 `json:"at"`
}

// keptHints reads kept hints; null counts as nil.
func (o object) keptHints(name string, value gjson.Result, to **KeptHints) error {
	if *to = nil; value.Type == gjson.Null {
		return nil
	}
	k := &KeptHints{}
	*to = k
	var bytes, since float64
	prompts := func(o object, list gjson.Result) error {
		return o.elements("prompts", list, func(element object) error {
			var p KeptPrompt
			var at float64
			err := element.read(field{"text", &p.Text}, field{"at", &at})
			p.At = int64(at)
			k.Prompts = append(k.Prompts, p)
			return err
		})
	}
	err := o.part(name, value, field{"bytes", &bytes}, field{"since", &since}, field{"prompts", prompts})
	k.Bytes, k.Since = int(bytes), int64(since)
	return err
}
