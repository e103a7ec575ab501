package local

// The labelled threads are cleaner than real groups: questions to the bot come
// when the group is quiet, and seldom while two people discuss their dinner. A
// classifier would learn that nothing is ever asked in the middle of a
// conversation. So messages that stand alone are also trained on as copies at
// another moment of their group: whether they deserve an answer does not depend
// on the moment.
const (
	// copies of a message that deserves an answer, and of one that does not.
	copiesRespond = 2
	copiesSkip    = 1
	// minMoments is how many moments of a group there must be to choose from.
	minMoments = 10
)

// transplanted returns copies of the messages that stand alone, with the
// history of another message of the same group. For messages without a thread,
// or if the group has too few moments, that is a message of the same language,
// or at least the same script. It is chosen by position in the list.
func transplanted(list []reading) []reading {
	moments := map[string][]*Example{}
	for _, r := range list {
		if r.scene.place == placeFar || r.scene.place == placeNear {
			for _, key := range r.likeness() {
				moments[key] = append(moments[key], r.Example)
			}
		}
	}
	var copies []reading
	for i, r := range list {
		if r.scene.place != placeFar && r.scene.place != placeNone {
			continue
		}
		keys := r.likeness()
		if !r.isSingle() {
			keys = keys[:1]
		}
		var from []*Example
		for _, key := range keys {
			if from = moments[key]; len(from) >= minMoments {
				break
			}
		}
		if len(from) < minMoments {
			continue
		}
		n := copiesSkip
		if r.Respond || r.isSingle() {
			n = copiesRespond
		}
		for k := range n {
			moment := from[(i*7919+k*104729+13)%len(from)]
			e := *r.Example
			e.Recent, e.At = moment.Recent, moment.At
			if e.Sender == "" {
				e.Sender = moment.Sender
			}
			copies = append(copies, reading{
				Example: &e, number: r.number, text: r.text, copied: true,
				scene: readScene(r.text, &e.Input, newest(e.Recent)),
			})
		}
	}
	return copies
}

// likeness returns the keys by which other messages count as similar to this
// one, the closest first.
func (r *reading) likeness() []string {
	script := "Latin"
	switch {
	case r.text.kana > 0:
		script = "kana"
	case r.text.han > 0:
		script = "Han"
	}
	return []string{"group " + r.Group, "language " + r.Language, "script " + script}
}

// isSingle reports whether the example is a message without a thread.
func (e *Example) isSingle() bool { return len(e.Recent) == 0 && e.At.IsZero() }
