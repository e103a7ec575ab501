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

// ShippedSizes are the bytes of the parts of what is shipped, by their names in
// docs/scaling.md.
func ShippedSizes() map[string]int {
	s := openShipped(shippedFile)
	l, p, w, f := &s.lexicon, &s.postings, &s.weights, &s.floats
	sum := func(parts ...[]byte) (n int) {
		for _, part := range parts {
			n += len(part)
		}
		return n
	}
	out := map[string]int{
		"dictionary of features":      sum(l.worths, l.common.starts, l.common.marks, l.rare.starts, l.rare.marks, l.single.starts, l.single.marks),
		"texts by feature":            sum(p.common, p.rare, p.single, p.lists, p.scales),
		"weights of common features":  sum(w.common, w.commonScale, f.constant, f.absent),
		"dual variables of the texts": sum(w.dual, w.dualClass, w.dualValue, w.dualScale),
	}
	of := sum(f.linear, f.bias, f.mean, s.rows.places, s.rows.inverse)
	for i := range f.head {
		of += sum(f.head[i], f.headConstant[i])
	}
	out["what is learnt of the vectors"] = of
	return out
}
