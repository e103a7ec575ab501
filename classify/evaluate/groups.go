package evaluate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Label is an optional text of a line. A value that is no text counts as absent, since
// the data of others has fields of the same names.
type Label string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *Label) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*l = Label(strings.TrimSpace(text))
	}
	return nil
}

// Group is how messages with one label were answered.
type Group struct {
	// By is the field of the label: lang, kind or src.
	By   string `json:"by"`
	Name string `json:"name"`
	N    int    `json:"n"`
	// Accuracy is that of [Metrics].
	Accuracy float64 `json:"accuracy"`
	// RightHint is the share of messages that get a hint that is right.
	RightHint float64 `json:"rightHint"`
	Hints
}

// Groups returns the groups of every field that lines have, the largest first. Lines
// and outcomes are in the same order.
func Groups(lines []Line, outcomes []Outcome, minConfidence float64) []Group {
	var groups []Group
	for _, field := range []struct {
		name string
		of   func(Line) Label
	}{
		{"lang", func(l Line) Label { return l.Lang }},
		{"kind", func(l Line) Label { return l.Kind }},
		{"src", func(l Line) Label { return l.Src }},
	} {
		members := map[Label][]Outcome{}
		for i, l := range lines {
			if name := field.of(l); name != "" {
				members[name] = append(members[name], outcomes[i]) //nolint:gosec // as many as lines
			}
		}
		start := len(groups)
		for name, some := range members {
			hints := HintsAt(some, minConfidence).Hints
			groups = append(groups, Group{
				By: field.name, Name: string(name), N: len(some), Accuracy: Measure(some).Accuracy,
				RightHint: hints.Hinted * hints.Precision, Hints: hints,
			})
		}
		slices.SortFunc(groups[start:], func(a, b Group) int {
			return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
		})
	}
	return groups
}
