package local

import "intenthint/intents"

// HasShipped reports whether training on a catalogue takes what is shipped.
func HasShipped(cat *intents.Catalog) bool { return shippedFor(samplesOf(cat.Root())) != nil }

// TrainAnew is Train without what is shipped.
func TrainAnew(cat *intents.Catalog) *Model {
	m := newModel(cat)
	m.train()
	return m
}
