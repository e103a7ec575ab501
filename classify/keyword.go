package classify

import (
	"cmp"

	"intenthint/intents"
	"intenthint/payload"
)

// keyword returns the intent of which the message as a whole is a keyword (contract §6).
func (in *Input) keyword() (intent intents.Intent, ok bool) {
	if in.Catalog == nil {
		return intent, false
	}
	return in.Catalog.Keyword(in.Latest)
}

// byKeyword is the answer to a keyword of an intent, in every mode.
func byKeyword(intent intents.Intent) payload.Classification {
	name := cmp.Or(intent.Name, intent.ID)
	return payload.Classification{
		Intent: intent.ID, Name: name, Reason: "the message is a keyword of this intent", Goal: name,
		Confidence: 1, Complexity: payload.ComplexityLow, Source: payload.SourceFastpath,
	}
}
