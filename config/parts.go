package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"

	"intenthint/subjects"
)

// rule is the rule for a field of a JSON object.
type rule struct {
	allowed string
	holds   func(value any) bool
}

// is returns the rule for values of a JSON type; check may be nil.
func is[T any](allowed string, check func(T) bool) rule {
	return rule{allowed, func(value any) bool {
		v, ok := value.(T)
		return ok && (check == nil || check(v))
	}}
}

func whole(lowest, highest float64) rule {
	return is(fmt.Sprintf("a whole number from %.0f to %.0f", lowest, highest), func(n float64) bool {
		return n == math.Trunc(n) && n >= lowest && n <= highest
	})
}

func either(a, b string) rule {
	return is(a+" or "+b, func(word string) bool { return word == a || word == b })
}

var (
	flag     = is[bool]("true or false", nil)
	words    = is[string]("a string", nil)
	modelOf  = is("provider/model", func(ref string) bool { return ref == "" || model.MatchString(ref) })
	wordList = is("an array of strings", func(list []any) bool {
		return !slices.ContainsFunc(list, func(v any) bool { return !words.holds(v) })
	})
)

var triageFields = map[string]rule{
	"enabled": flag, "useConfidenceScores": flag, "local": flag, "logDecisions": flag,
	"triageModel": modelOf, "triagePrompt": words, "botName": words,
	"groups": wordList, "excludeGroups": wordList, "bypassKeywords": wordList,
	"confidenceThreshold": whole(1, 10), "historyCount": whole(0, 20), "examples": whole(0, 20), "recallSkipped": whole(0, 50),
	"maxTriageTokens": whole(1, math.MaxInt32), "timeoutMs": whole(1, math.MaxInt32),
	"groupPrompts": is(`{"<group>": "…"}`, func(prompts map[string]any) bool {
		return wordList.holds(slices.Collect(maps.Values(prompts)))
	}),
	"quiet": is(`{"messages": 0 or more, "per": "1h"}`, func(quiet map[string]any) bool {
		return checkFields(quiet, map[string]rule{
			"messages": whole(0, math.MaxInt32),
			"per":      is("a duration", func(text string) bool { d, err := duration(0)(text); return err == nil && d > 0 }),
		}) == nil
	}),
}

var knowHubFields = map[string]rule{
	"enabled": flag, "remindAtStart": flag, "enableServerExtraction": flag, "requireApproval": flag, "shareExperiences": flag, "redactIPs": flag,
	"token": is(tokenRule, isToken), "submittedBy": words, "model": modelOf,
	"listen": is("host:port", func(addr string) bool {
		_, port, err := net.SplitHostPort(addr)
		return err == nil && isPort(port, 0)
	}),
	"remindEvery": whole(0, math.MaxInt32), "recall": whole(0, math.MaxInt32),
	"extractionTrigger": either(subjects.HookAgentEnd, subjects.HookBeforeCompaction),
	"privacyMode":       either(PrivacyStrict, PrivacyRelaxed),
	"minConfidence":     is("a number from 0 to 1", func(n float64) bool { return n >= 0 && n <= 1 }),
}

// fieldsOf returns the fields that are set in a JSON object, after validation.
func fieldsOf(text string, fields map[string]rule) (map[string]any, error) {
	var values map[string]any
	if err := decodeObject(text, &values); err != nil {
		return nil, fmt.Errorf("must be a JSON object (%w)", err)
	}
	if err := checkFields(values, fields); err != nil {
		return nil, fmt.Errorf("must be a JSON object with valid fields: %w", err)
	}
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil })
	return values, nil
}

// checkFields returns an error that names the unknown and invalid fields. null
// counts as not set.
func checkFields(values map[string]any, fields map[string]rule) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rule, known := fields[name]
		switch {
		case !known:
			wrong = append(wrong, fmt.Sprintf("unknown field %q", name))
		case values[name] != nil && !rule.holds(values[name]):
			wrong = append(wrong, name+" must be "+rule.allowed)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}
