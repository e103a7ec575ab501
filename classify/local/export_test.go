package local

import "intenthint/intents"

// HasShipped reports whether training on a catalogue takes what is shipped.
func HasShipped(cat *intents.Catalog) bool { return shippedFor(samplesOf(cat.Root())) != nil }

// IsShipped reports whether the model is what is shipped.
func (e *Embedded) IsShipped() bool {
	return &e.linear.weights[0] == &readShipped().Embedded.Linear[0]
}
