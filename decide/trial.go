package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"intenthint/part"
)

// trialState and trialKey are those of the question of a trial.
const (
	trialState = `"Remind me to water the plants tomorrow at nine."`
	trialKey   = "reminder"
)

// teacherTrials asks each teacher one question.
func teacherTrials(p part.Program) (out []part.Trial) {
	s := Declared.In(p.Values)
	add := func(setting, ref string) {
		known := slices.ContainsFunc(out, func(t part.Trial) bool { return t.Ref == ref })
		if ref != "" && !known {
			out = append(out, part.Trial{Setting: setting, Ref: ref, Ask: ask})
		}
	}
	if s.Model == "" {
		add("HINT_DECIDE_MODEL", p.DecideModel)
	}
	add("model of HINT_DECIDE", s.Model)
	for _, name := range slices.Sorted(maps.Keys(s.Rubrics)) {
		add("teacher of a rubric in HINT_DECIDE", s.Rubrics[name].Teacher)
	}
	return out
}

// ask puts the question of a trial to a teacher, and returns the answer in words.
func ask(ctx context.Context, asked part.Asked) (string, error) {
	q := Question{
		Key: trialKey, Type: Boolean, Instructions: marshal("Does the user ask for a reminder?"),
		Labels: []string{"true", "false"}, Criteria: make([]json.RawMessage, 2),
	}
	answers, _, err := teacherBy(asked).Teach(ctx, json.RawMessage(trialState), []Question{q})
	if err != nil {
		return "", err
	}
	at := best(answers[0])
	return fmt.Sprintf("%s (%.2f)", q.Labels[at], answers[0][at]), nil
}
