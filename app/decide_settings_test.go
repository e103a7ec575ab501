package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/config"
	"intenthint/decide"
)

// What is wrong in HINT_DECIDE is named, also in the settings of one rubric.
func TestWrongDecideSettings(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"enabled":"yes"}`:                         `enabled must be true or false`,
		`{"model":"gpt"}`:                           `model must be provider/model`,
		`{"another":"a/b"}`:                         `unknown field "another"`,
		`{"target":1}`:                              `target must be a number from 0.5 to 0.999`,
		`{"record":"all"}`:                          `record must be text or hash or off`,
		`{"sample":1.5}`:                            `sample must be a whole number from 0 to 1000`,
		`{"rubrics":[]}`:                            `rubrics must be {"<fingerprint or name>"`,
		`{"rubrics":{"b":7}}`:                       `rubrics: "b": must be an object`,
		`{"rubrics":{"b":{"target":2}}}`:            `rubrics: "b": target must be a number from 0.5 to 0.999`,
		`{"rubrics":{"b":{"target":"0.9"}}}`:        `rubrics: "b": target must be a number`,
		`{"rubrics":{"a":{},"b":{"tagret":0.9}}}`:   `rubrics: "b": unknown field "tagret"`,
		`{"rubrics":{"b":{"zero":"yes"}}}`:          `rubrics: "b": zero must be topic or off`,
		`{"rubrics":{"b":{"teacher":"gpt"}}}`:       `rubrics: "b": teacher must be provider/model`,
		`{"rubrics":{"b":{"record":"all"}}}`:        `rubrics: "b": record must be text or hash or off`,
		`{"rubrics":{"b":{"focus":7}}}`:             `rubrics: "b": focus must be a string`,
		`{"rubrics":{"b":{"name":null}}}`:           `rubrics: "b": name must be a string`,
		`{"target":2,"rubrics":{"b":{"target":2}}}`: `target must be a number from 0.5 to 0.999`,
		`{"enabled":true`:                           `must be a JSON object`,
		`[]`:                                        `must be a JSON object`,
		`{"sample":1,"sample":2}`:                   `sample`,
	} {
		_, _, err := config.LoadFrom(apptest.Settings(t, map[string]string{"HINT_DECIDE": value}), app.Objects()...)
		require.ErrorContains(t, err, "HINT_DECIDE", value)
		require.ErrorContains(t, err, want, value)
	}
	s := decide.Declared.New().(*decide.Settings)
	for _, f := range decide.Declared.Fields() {
		if f.Name == "rubrics" {
			require.True(t, f.Put(s, map[string]any{"b": map[string]any{"name": "n", "focus": "f", "teacher": "a/b", "target": 0.9, "record": "hash", "zero": "topic"}}))
		}
	}
	require.Equal(t, decide.Rule{Name: "n", Focus: "f", Teacher: "a/b", Target: 0.9, Record: "hash", Zero: "topic"}, s.Rubrics["b"])
}
