package local

// Threads are cleaner than life: what a bot should answer comes when the room
// is quiet, and seldom while two people discuss their dinner. A classifier
// would learn that nothing is asked in the midst of a talk. So messages that
// stand alone are trained on a second time, as if they had come at another
// moment of their group: whether they deserve an answer does not depend on it.
const (
	// copies of a message that deserves an answer, and of one that does not.
	copiesRespond = 2
	copiesSkip    = 1
	// minMoments is how many moments of a group there must be to choose from.
	minMoments = 10
)

// transplanted returns copies of the messages that stand alone, with what was
// said before another message of the same group. For those without a thread
// that is a message of the same language, or at least the same script, where
// the group has too few. Which one, is a matter of their place in the list.
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

// likeness names what other messages are like this one, the closest first.
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
