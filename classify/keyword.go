package classify

import (
	"cmp"

	"intenthint/intents"
	"intenthint/payload"
)

// keyword returns the intent that has the whole message as a keyword (contract §6).
func (in *Input) keyword() (intent intents.Intent, ok bool) {
	if in.Catalog == nil {
		return intent, false
	}
	return in.Catalog.Keyword(in.Latest)
}

// byKeyword returns the classification of a message that is a keyword of an intent.
// It is the same in every mode.
func byKeyword(intent intents.Intent) payload.Classification {
	name := cmp.Or(intent.Name, intent.ID)
	return payload.Classification{
		Intent: intent.ID, Name: name, Reason: "the message is a keyword of this intent", Goal: name,
		Confidence: 1, Complexity: payload.ComplexityLow, Source: payload.SourceFastpath,
	}
}
