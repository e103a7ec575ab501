package classify

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/payload"
)

func with(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(goodAnswer)
}

func TestParseAnswerAccepts(t *testing.T) {
	tests := []struct{ name, text string }{
		{"bare", goodAnswer},
		{"prose with a brace and a quote behind it", goodAnswer + ` Note: the "{" char, and {"so on`},
		{"white space around", "\n\t " + goodAnswer + " \r\n"},
		{"byte order mark", "\ufeff" + goodAnswer},
		{"json fence", "```json\n" + goodAnswer + "\n```"},
		{"plain fence", "```\n" + goodAnswer + "\n```\n"},
		{"upper-case fence", "```JSON\n" + goodAnswer + "\n```"},
		{"fence on one line", "```json" + goodAnswer + "```"},
		{"stray mark before", "```json\n" + goodAnswer},
		{"stray mark after", goodAnswer + "\n```"},
		{"stray marks both sides", "``` ```" + goodAnswer + "`\n```\n```"},
		{"think", "<think>Let me see.</think>\n" + goodAnswer},
		{"empty think", "<think></think>" + goodAnswer},
		{"think and fence", "<think>\nhm\n</think>\n```json\n" + goodAnswer + "\n```"},
		{"several think blocks", "<think>a</think><think>b</think>" + goodAnswer},
		{"think that was never closed", "<think>\nThis is about memory.\n" + goodAnswer},
		{"think that was never opened", "This is about memory.\n</think>\n" + goodAnswer},
		{"think in other letters", "<THINK>x</Think>" + goodAnswer},
		{"thinking", "<thinking>x</thinking>" + goodAnswer},
		{"draft in think", "<think>" + with("MEMORY_LOOKUP", "CODE_CHANGE") + "</think>" + goodAnswer},
		{"array in think", "<think>[" + goodAnswer + "]</think>" + goodAnswer},
		{"broken draft in think", `<think>{"intent": "CODE</think>` + goodAnswer},
		{"many braces in think", "<think>" + strings.Repeat("{", 200) + "</think>" + goodAnswer},
		{"prose before", "Here is the classification:\n" + goodAnswer},
		{"prose after", goodAnswer + "\nI hope this helps!"},
		{"prose with braces", "The set {a, b} and {\"x\", \"y\"} do not matter: " + goodAnswer + " Use {curly} braces."},
		{"prose with an empty object", "Not {} but " + goodAnswer},
		{"prose with another object", `Given {"lang": "en"}: ` + goodAnswer},
		{"prose with an open brace at the end", goodAnswer + " {"},
		{"prose with stray closing braces", "} " + goodAnswer + " }"},
		{"doubled braces", "{" + goodAnswer + "}"},
		{"prose with brackets", "[1] " + goodAnswer + " [2]"},
		{"prose with a quote", `The user said "hi {there" so ` + goodAnswer},
		{"unknown fields", with(`{"intent"`, `{"extra": {"a": [1, {"b": "}"}]}, "intent"`)},
		{"fields in other order", `{"suggestion": "search the memory first", "complexity": "medium", "confidence": 0.9, "goal": "recall the logo decision", "reason": "asks about an earlier decision", "intent": "MEMORY_LOOKUP (Memory Lookup)"}`},
		{"escapes", with("earlier", `\u0065arlier`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAnswer(tt.text, testCatalog())
			require.NoError(t, err)
			require.Equal(t, goodClassification(), got)
		})
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	tests := []struct{ name, text, reason string }{
		{"empty", "", "no JSON object"},
		{"prose", "I think it is MEMORY_LOOKUP.", "no JSON object"},
		{"think only", "<think>" + goodAnswer + "</think>", "no JSON object"},
		{"array", "[" + goodAnswer + "]", "an array"},
		{"array of two", "[" + goodAnswer + ", " + goodAnswer + "]", "an array"},
		{"string", `"` + strings.ReplaceAll(goodAnswer, `"`, `\"`) + `"`, "no JSON object"},
		{"nested", `{"answer": ` + goodAnswer + `}`, "no JSON object"},
		{"two objects", goodAnswer + with("MEMORY_LOOKUP", "MEMORY_SAVE"), "more than one"},
		{"the same object twice", goodAnswer + "\n" + goodAnswer, "more than one"},
		{"two objects, one incomplete", goodAnswer + ` {"intent": "CODE_CHANGE"}`, "more than one"},
		{"cut off", goodAnswer[:len(goodAnswer)-20], "cut off"},
		{"cut off in a string with a brace", `{"intent": "MEMORY_LOOKUP", "reason": "the set {"`, "cut off"},
		{"second object cut off", goodAnswer + `{"intent": "CODE_CHANGE", "rea`, "cut off"},
		{"object in a cut-off one", `{"answer": ` + goodAnswer, "cut off"},
		{"single quotes", strings.ReplaceAll(goodAnswer, `"`, `'`), "no JSON object"},
		{"trailing comma", strings.Replace(goodAnswer, `"}`, `",}`, 1), "no JSON object"},
		{"comment", strings.Replace(goodAnswer, `, "goal"`, `, /* x */ "goal"`, 1), "no JSON object"},
		{"raw line break in a string", with("earlier decision", "earlier\ndecision"), "no JSON object"},
		{"only braces", strings.Repeat("{", 500), "too many braces"},
		{"too long", strings.Repeat(" ", maxAnswer) + goodAnswer, "bytes of text"},

		{"no intent", with(`"intent": "MEMORY_LOOKUP (Memory Lookup)", `, ""), "intent is missing"},
		{"no reason", with(`"reason": "asks about an earlier decision", `, ""), "reason is missing"},
		{"no goal", with(`"goal": "recall the logo decision", `, ""), "goal is missing"},
		{"no confidence", with(`"confidence": 0.9, `, ""), "confidence is missing"},
		{"no complexity", with(`"complexity": "medium", `, ""), "complexity is missing"},
		{"keys in other letters", with(`"intent"`, `"Intent"`), "intent is missing"},
		{"intent null", with(`"MEMORY_LOOKUP (Memory Lookup)"`, "null"), "intent is not a string"},
		{"intent number", with(`"MEMORY_LOOKUP (Memory Lookup)"`, "7"), "intent is not a string"},
		{"intent array", with(`"MEMORY_LOOKUP (Memory Lookup)"`, `["MEMORY_LOOKUP"]`), "intent is not a string"},
		{"reason object", with(`"asks about an earlier decision"`, "{}"), "reason is not a string"},
		{"goal null", with(`"recall the logo decision"`, "null"), "goal is not a string"},
		{"confidence string", with("0.9", `"0.9"`), "confidence is not a number"},
		{"confidence null", with("0.9", "null"), "confidence is not a number"},
		{"confidence true", with("0.9", "true"), "confidence is not a number"},
		{"confidence percent", with("0.9", "90"), "not between 0 and 1"},
		{"confidence above one", with("0.9", "1.0000001"), "not between 0 and 1"},
		{"confidence negative", with("0.9", "-0.1"), "not between 0 and 1"},
		{"confidence huge", with("0.9", "1e999"), "not between 0 and 1"},
		{"complexity other", with(`"medium"`, `"hard"`), "complexity is"},
		{"complexity upper case", with(`"medium"`, `"Medium"`), "complexity is"},
		{"complexity blank", with(`"medium"`, `""`), "complexity is"},
		{"complexity number", with(`"medium"`, `2`), "complexity is not a string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAnswer(tt.text, testCatalog())
			require.ErrorIs(t, err, model.ErrUnparsable)
			require.ErrorContains(t, err, tt.reason)
			require.Zero(t, got)
		})
	}
}

func TestParseAnswerIntent(t *testing.T) {
	tests := []struct{ name, intent, id, label string }{
		{"id and name", "MEMORY_LOOKUP (Memory Lookup)", "MEMORY_LOOKUP", "Memory Lookup"},
		{"id only", "MEMORY_SAVE", "MEMORY_SAVE", "Memory Save"},
		{"lower case", "memory_save", "MEMORY_SAVE", "Memory Save"},
		{"white space", "  code_Change\\t( x )", "CODE_CHANGE", "Code Change"},
		{"no space before the bracket", "CODE_CHANGE(Code)", "CODE_CHANGE", "Code Change"},
		{"the name is not what counts", "CODE_CHANGE (Memory Lookup)", "CODE_CHANGE", "Code Change"},
		{"several brackets", "CODE_CHANGE (a) (b)", "CODE_CHANGE", "Code Change"},
		{"fallback", "OTHER (Other)", "OTHER", "Other"},
		{"fallback in lower case", "other", "OTHER", "Other"},
		{"unknown", "PIZZA (Pizza)", "OTHER", "Other"},
		{"blank", " ", "OTHER", "Other"},
		{"only a name", "(Memory Lookup)", "OTHER", "Other"},
		{"a name for an id", "Memory Lookup", "OTHER", "Other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAnswer(with("MEMORY_LOOKUP (Memory Lookup)", tt.intent), testCatalog())
			require.NoError(t, err)
			require.Equal(t, tt.id, got.Intent)
			require.Equal(t, tt.label, got.Name)
		})
	}
	t.Run("denied", func(t *testing.T) {
		got, err := parseAnswer(goodAnswer, testCatalog().Without([]string{"MEMORY_*"}))
		require.NoError(t, err)
		require.Equal(t, "OTHER", got.Intent)
	})
}

func TestParseAnswerFields(t *testing.T) {
	tests := []struct {
		name, text string
		change     func(*payload.Classification)
	}{
		{"blank reason and goal are strings", with("asks about an earlier decision", "", "recall the logo decision", " "), func(c *payload.Classification) { c.Reason, c.Goal = "", " " }},
		{"no suggestion", with(`, "suggestion": "search the memory first"`, ""), func(c *payload.Classification) { c.Suggestion = "" }},
		{"blank suggestion", with("search the memory first", ` \n`), func(c *payload.Classification) { c.Suggestion = "" }},
		{"null suggestion", with(`"search the memory first"`, "null"), func(c *payload.Classification) { c.Suggestion = "" }},
		{"suggestion of another type", with(`"search the memory first"`, `["a"]`), func(c *payload.Classification) { c.Suggestion = "" }},
		{"confidence zero", with("0.9", "0"), func(c *payload.Classification) { c.Confidence = 0 }},
		{"confidence one", with("0.9", "1"), func(c *payload.Classification) { c.Confidence = 1 }},
		{"confidence with an exponent", with("0.9", "5E-1"), func(c *payload.Classification) { c.Confidence = 0.5 }},
		{"braces and quotes in strings", with("recall the logo decision", `a } { \" </think> \\`), func(c *payload.Classification) { c.Goal = `a } { " </think> \` }},
		{"long reason", with("asks about an earlier decision", strings.Repeat("ä", 5000)), func(c *payload.Classification) { c.Reason = strings.Repeat("ä", maxField-1) + "…" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := goodClassification()
			tt.change(&want)
			got, err := parseAnswer(tt.text, testCatalog())
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	t.Run("negative zero", func(t *testing.T) {
		got, err := parseAnswer(with("0.9", "-0.0"), testCatalog())
		require.NoError(t, err)
		require.False(t, math.Signbit(got.Confidence))
	})
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		goodAnswer, "```json\n" + goodAnswer + "\n```", "<think>{</think>" + goodAnswer,
		goodAnswer + goodAnswer, `{"intent":{}}`, `{{{"a":[{]}`, goodAnswer[:50], "[" + goodAnswer + "]",
	} {
		f.Add(seed)
	}
	cat := testCatalog()
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseAnswer(text, cat)
		if err != nil {
			require.ErrorIs(t, err, model.ErrUnparsable)
			require.Zero(t, got)
			return
		}
		_, known := cat.Lookup(got.Intent)
		require.True(t, known)
		require.GreaterOrEqual(t, got.Confidence, 0.0)
		require.LessOrEqual(t, got.Confidence, 1.0)
		require.Contains(t, []string{"low", "medium", "high"}, got.Complexity)
		again, err := parseAnswer("Sure:\n```json\n"+text+"\n```", cat)
		if err == nil {
			require.Equal(t, got, again)
		}
	})
}

func BenchmarkParseAnswer(b *testing.B) {
	cat := testCatalog()
	for name, text := range map[string]string{
		"bare":  goodAnswer,
		"think": "<think>" + strings.Repeat("The user asks. ", 100) + "</think>\n```json\n" + goodAnswer + "\n```",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parseAnswer(text, cat); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseAnswerHostile(b *testing.B) {
	cat := testCatalog()
	text := strings.Repeat(`{"a":`, maxAnswer/5-2) + "x"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseAnswer(text, cat); err == nil {
			b.Fatal("accepted")
		}
	}
}
