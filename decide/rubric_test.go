package decide

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	const base = `{"type":"choice","instructions":{"sourceMessageId":"m1","ask":"join?"},"criteria":{"join":"take part","none":null}}`
	state := json.RawMessage(`{"messages":[{"id":"m1","text":"hi"},{"id":"m2","text":"none"}]}`)
	known := Fingerprint(question(t, base), state)
	require.Regexp(t, `^[0-9a-f]{12}$`, known)
	for _, row := range []struct {
		name, question string
		state          json.RawMessage
		same           bool
	}{
		{"the same", base, state, true},
		{"about another message", strings.Replace(base, "m1", "m2", 1), state, true},
		{"with more messages", base, json.RawMessage(`["m1"]`), true},
		{"labels in another order", `{"type":"choice","instructions":{"ask":"join?","sourceMessageId":"m1"},"criteria":{"none":null,"join":"take part"}}`, state, true},
		{"a message that is not in the state", base, json.RawMessage(`"m1 and more"`), false},
		{"other words", strings.Replace(base, "take part", "take a part", 1), state, false},
		{"another label", strings.Replace(base, `"none"`, `"wait"`, 1), state, false},
		{"no instructions", `{"type":"choice","criteria":{"join":"take part","none":null}}`, state, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := Fingerprint(question(t, row.question), row.state)
			require.Equal(t, row.same, got == known)
		})
	}
	// A label stays, also where the state has it as a value.
	a, b := Fingerprint(question(t, aChoice), json.RawMessage(`"refund"`)), Fingerprint(question(t, aChoice), json.RawMessage(`"x"`))
	require.Equal(t, a, b)
	require.NotEqual(t, Fingerprint(question(t, aNoul), nil), Fingerprint(question(t, `{"type":"noul","criteria":{"true":"x"}}`), nil))
	require.Equal(t, Fingerprint(question(t, aNoul), nil), Fingerprint(question(t, `{"type":"boolean","criteria":{"true":null},"instructions":null}`), nil))
	require.NotEqual(t, Fingerprint(question(t, `{"type":"score","criteria":["a","b"]}`), nil), Fingerprint(question(t, `{"type":"score","criteria":["b","a"]}`), nil))
}

// Rows computed by hand: the SHA-256 of the JSON on the left.
func TestFingerprintIsOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"criteria":{"other":null,"refund":"money back"},"type":"choice"}`, string(canonical(question(t, aChoice), nil)))
	require.Equal(t, `{"criteria":["can wait",{"a":1},null],"instructions":"<@>","type":"score"}`,
		string(canonical(question(t, `{"type":"score","instructions":"<@>","criteria":["can wait",{"a": 1},null]}`), nil)))
	require.Equal(t, `{"type":"boolean"}`, string(canonical(question(t, aNoul), nil)))
	require.Equal(t, `{"instructions":["@",{"m1":"@"}],"type":"boolean"}`,
		string(canonical(question(t, `{"type":"noul","instructions":["m1",{"m1":"m1"}]}`), map[string]bool{"m1": true})))
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, state, focus, want string }{
		{"a text", `" Where is it? "`, "", "Where is it?"},
		{"an object", `{"latest":"Where?","n":1,"no":null,"deep":{"a":["x",{"b":true}]}}`, "", "latest: Where?\nn: 1\na: x\nb: true"},
		{"a list", `["a","b"]`, "", "a\nb"},
		{"nothing", `null`, "", ""},
		{"a focus", `{"latest":{"text":"Where?"},"before":"no"}`, "latest.text", "Where?"},
		{"a focus on an object", `{"latest":{"text":"Where?"},"before":"no"}`, "latest", "text: Where?"},
		{"a focus that is missing", `{"before":"no"}`, "latest", "before: no"},
		{"a field with a dot is no path", `{"a.b":"no"}`, "a.b", "a.b: no"},
	} {
		require.Equal(t, row.want, textOf(json.RawMessage(row.state), row.focus), row.name)
	}
	long, err := json.Marshal("begin " + strings.Repeat("x", 5000) + " end")
	require.NoError(t, err)
	text := textOf(long, "")
	require.Len(t, []rune(text), maxText)
	require.True(t, strings.HasPrefix(text, "begin") && strings.HasSuffix(text, "end"))
	kept := recorded(strings.Repeat("y", 980) + " mail ada@example.org " + strings.Repeat("z", 50))
	require.Len(t, []rune(kept), maxRecorded)
	require.Contains(t, kept, "[EMAIL]")
	require.NotContains(t, kept, "ada@")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	id := newID("0123456789ab")
	rubric, ok := RubricOf(id)
	require.True(t, ok)
	require.Equal(t, "0123456789ab", rubric)
	for _, wrong := range []string{"", "x", "0123456789ab", "0123456789ab-", "0123456789AB-x", "0123456789a-x", "0123456789ab-a.b", "0123456789ab-a b", "0123456789ab-" + strings.Repeat("a", 65)} {
		_, ok := RubricOf(wrong)
		require.False(t, ok, wrong)
	}
}
