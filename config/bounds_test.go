package config

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/triage"
)

const maxInt32 = "2147483647"

// bounds are, for each setting that is a number or a duration, the values at both
// ends: the lowest and highest that are taken, as text and as [effective] shows
// them, and those beyond them that are refused.
var bounds = map[string]struct {
	taken   map[string]string
	refused []string
}{
	"natsPort":       {map[string]string{"-1": "-1", "1": "1", "65535": "65535"}, []string{"-2", "0", "65536", "x"}},
	"streamReplicas": {map[string]string{"1": "1", "5": "5"}, []string{"0", "6", "1.5"}},
	"streamMaxBytes": {
		map[string]string{"-1": "-1", "1": "1", "1B": "1", "8388607TiB": "9223370937343148032", "999999999999999999": "999999999999999999"},
		[]string{"-2", "0", "0GiB", "8388608TiB", "9223372036854775807", "9223373TB"},
	},
	"repeatAfter":      {map[string]string{"0": "0", maxInt32: maxInt32}, []string{"-1", "2147483648"}},
	"budget":           {map[string]string{"0": "0", maxInt32: maxInt32}, []string{"-1", "2147483648", "16kB"}},
	"historyLimit":     {map[string]string{"0": "0", maxInt32: maxInt32}, []string{"-1", "2147483648"}},
	"maxInflight":      {map[string]string{"1": "1", maxInt32: maxInt32}, []string{"0", "2147483648"}},
	"localAccept":      {map[string]string{"0": "0", "1": "1"}, []string{"-0.0001", "1.0001", "NaN", "+Inf"}},
	"minConfidence":    {map[string]string{"0": "0", "1": "1"}, []string{"-0.0001", "1.0001", "NaN", "-Inf"}},
	"holdout":          {map[string]string{"0": "0", "1": "1"}, []string{"-0.0001", "1.0001", "NaN"}},
	"timeoutMs":        {map[string]string{"500": "500ms", "499": "500ms", "-1": "500ms", "501": "501ms", "59999": "59.999s", "60000": "1m0s", "60001": "1m0s", "1e999": "1m0s"}, []string{"NaN", "3s"}},
	"streamMaxAge":     {map[string]string{"0": "0s", "100ms": "100ms", "99999d": "2399976h0m0s", "2562047h": "2562047h0m0s"}, []string{"99ms", "99999999ns", "-1ns", "100000d", "99999d2562047h", "2562048h"}},
	"sessionRetention": {map[string]string{"0": "0s", "100ms": "100ms", "99999d": "2399976h0m0s", "2562047h": "2562047h0m0s"}, []string{"99ms", "99999999ns", "-1ns", "100000d", "99999d2562047h", "2562048h"}},
}

// bounded reports whether a value is a number or a duration.
func bounded(v any) bool {
	switch v.(type) {
	case int, int64, float64, time.Duration:
		return true
	}
	return false
}

func TestBoundsOfSettings(t *testing.T) {
	var want []string
	for _, s := range settings {
		if !bounded(s.get(new(Config))) {
			continue
		}
		want = append(want, s.field)
		t.Run(s.field, func(t *testing.T) {
			row := bounds[s.field]
			for text, shown := range row.taken {
				c := new(Config)
				require.NoError(t, s.set(c, text), text)
				require.Equal(t, shown, effective(s.get(c)), text)
			}
			for _, text := range row.refused {
				c := new(Config)
				require.ErrorContains(t, s.set(c, text), "must be ", text)
				require.Zero(t, s.get(c), text)
			}
		})
	}
	for field := range bounds {
		require.Contains(t, want, field)
	}
	for _, field := range want {
		require.Contains(t, bounds, field, "both bounds of every number and duration")
	}
}

// boundsOf are the lowest and highest value of each number in the settings that are
// objects, by setting and field.
var boundsOf = map[string]map[string][2]float64{
	"triage": {
		"confidenceThreshold": {1, 10}, "historyCount": {0, 20}, "examples": {0, 20}, "recallSkipped": {0, 50},
		"maxTriageTokens": {1, math.MaxInt32}, "timeoutMs": {1, math.MaxInt32}, "quiet.messages": {0, math.MaxInt32},
	},
	"decide":  {"target": {0.5, 0.999}, "sample": {0, 1000}},
	"knowhub": {"remindEvery": {0, math.MaxInt32}, "recall": {0, math.MaxInt32}, "minConfidence": {0, 1}},
}

func TestBoundsOfObjects(t *testing.T) {
	for _, o := range objects {
		name, s, fields := o.Name(), objectSetting(o), boundsOf[o.Name()]
		for _, f := range o.Fields() {
			switch f.Get(o.New()).(type) {
			case int, int64, float64:
				require.Contains(t, fields, f.Name, "both bounds of every number of %s", name)
			}
		}
		for field, b := range fields {
			t.Run(name+" "+field, func(t *testing.T) {
				set := func(n float64) error {
					text := fmt.Sprintf(`{%q: %s}`, field, strconv.FormatFloat(n, 'f', -1, 64))
					if field == "quiet.messages" {
						text = `{"quiet": {"messages": ` + strconv.FormatFloat(n, 'f', -1, 64) + `}}`
					}
					return s.set(new(Config), text)
				}
				step := 1.0
				if b[1] == 1 {
					step = 0.0001
				}
				require.NoError(t, set(b[0]))
				require.NoError(t, set(b[1]))
				require.Error(t, set(b[0]-step))
				require.Error(t, set(b[1]+step))
				if step == 1 {
					require.Error(t, set(b[0]+0.5), "a whole number")
				}
			})
		}
	}
	t.Run("triage quiet.per", func(t *testing.T) {
		s := objectSetting(triage.Declared)
		for text, taken := range map[string]bool{`"1ns"`: true, `"60m"`: true, `"1h"`: true, `"3600001ms"`: false, `"0"`: false, `"-1ns"`: false, `5`: false} {
			require.Equal(t, taken, s.set(new(Config), `{"quiet": {"per": `+text+`}}`) == nil, text)
		}
	})
	t.Run("hookTimeouts", func(t *testing.T) {
		s, _ := find("hookTimeouts")
		for text, taken := range map[string]bool{"1": true, "600000": true, "0": false, "600001": false, "1.5": false, `"1"`: false, "null": false} {
			c := new(Config)
			err := s.set(c, `{"before_prompt_build": `+text+`}`)
			require.Equal(t, taken, err == nil, text)
			if n, err := strconv.Atoi(text); taken {
				require.NoError(t, err)
				require.Equal(t, time.Duration(n)*time.Millisecond, c.HookTimeouts["before_prompt_build"])
			}
		}
	})
	t.Run("contextWindow", func(t *testing.T) { // its numbers are clamped
		s, _ := find("contextWindow")
		for _, side := range []struct {
			name  string
			turns int
			get   func(c *Config) (turns, chars int)
		}{
			{"user", 20, func(c *Config) (int, int) { return c.Query.Window.User.Turns, c.Query.Window.User.Chars }},
			{"assistant", 10, func(c *Config) (int, int) { return c.Query.Window.Assistant.Turns, c.Query.Window.Assistant.Chars }},
		} {
			for _, row := range []struct{ turns, chars, wantTurns, wantChars int }{
				{0, 40, 0, 40}, {-1, 39, 0, 40}, {side.turns, 1000, side.turns, 1000}, {side.turns + 1, 1001, side.turns, 1000}, {side.turns - 1, 999, side.turns - 1, 999},
			} {
				c := new(Config)
				require.NoError(t, s.set(c, fmt.Sprintf(`{%q: {"turns": %d, "chars": %d}}`, side.name, row.turns, row.chars)))
				turns, chars := side.get(c)
				require.Equal(t, []int{row.wantTurns, row.wantChars}, []int{turns, chars}, "%s %+v", side.name, row)
			}
		}
	})
}
