package store

import "slices"

// Outline is a document whose turns are left encoded. It takes little memory,
// and restores the document from that encoding without parsing it.
type Outline struct {
	doc   Document // without turns and facts that wait
	turns []outlined
}

type outlined struct {
	run      string
	key      Key
	from, to int // in the encoding
	loose    bool
}

// Outline makes o the outline of the document as it was last encoded.
func (d *Document) Outline(o *Outline) {
	o.doc = Document{id: d.id, sessionKey: d.sessionKey, agent: d.agent, last: d.last}
	o.turns = slices.Grow(o.turns[:0], len(d.turns))
	for _, h := range d.turns {
		o.turns = append(o.turns, outlined{h.run, h.key, h.at, h.at + len(h.raw), h.loose})
	}
}

// Document returns the document of the encoding, which it retains.
func (o *Outline) Document(encoded []byte) *Document {
	d := o.doc
	d.turns = make([]*held, len(o.turns))
	all := make([]held, len(o.turns))
	for i, t := range o.turns {
		all[i] = held{run: t.run, key: t.key, raw: encoded[t.from:t.to:t.to], loose: t.loose}
		d.turns[i] = &all[i]
	}
	return &d
}

// Bytes estimates the memory that the outline takes.
func (o *Outline) Bytes() int64 {
	const turn, rest = 120, 300 // bytes of a turn, and of everything else
	return int64(cap(o.turns))*turn + rest
}
