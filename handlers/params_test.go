package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParametersAreCutAsResultsAre(t *testing.T) {
	t.Parallel()
	long, wide := strings.Repeat("x", 300_000), strings.Repeat("語", 250)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf(`"p%d":"%s"`, i, long[:100]))
	}
	for _, row := range []struct {
		name, params, want string
		redact             bool
	}{
		{"none", `{}`, `{}`, false},
		{"short ones, as they are", `{ "path":"/tmp/x", "n":1.0 }`, `{ "path":"/tmp/x", "n":1.0 }`, false},
		{"a file's content", `{"path":"/tmp/x","content":"` + long + `","mode":420}`, `{"path":"/tmp/x","content":"` + long[:200] + `","mode":420}`, false},
		{"in characters", `{"content":"` + wide + `"}`, `{"content":"` + wide[:600] + `"}`, false},
		{"a list", `{"edits":[{"old":"` + long + `"}],"n":1}`, `{"edits":"[{\"old\":\"` + long[:191] + `","n":1}`, false},
		{"many", "{" + strings.Join(many, ",") + "}", "{" + strings.Join(many[:37], ",") + "}", false},
		{"text alone", `"` + long + `"`, `"` + long[:200] + `"`, false},
		{"redacted before they are cut", `{"content":"` + long[:190] + ` annika@example.com","password":"` + strings.Repeat("ab12", 99) + `"}`, `{"content":"` + long[:190] + ` [EMAIL]","password":"[API_KEY]"}`, true},
		{"a list that is redacted", `{"edits":["annika@example.com","` + long + `"]}`, `{"edits":"[\"[EMAIL]\",\"` + long[:188] + `"}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := Decoder{Redact: row.redact}
			_, _, fact, err := d.Fact("", "", event("after_tool_call", `{"toolName":"write","params":`+row.params+`,"result":"ok"}`, `{"sessionId":"s","runId":"r"}`))
			require.NoError(t, err)
			require.Equal(t, row.want, string(fact.Call.Params))
		})
	}
}

// What gateways send of megabytes stands cut in the document, with its length.
func TestTextsOfMegabytesAreStoredCut(t *testing.T) {
	t.Parallel()
	text := "begin " + strings.Repeat("/home/", 400_000) + " end"
	for _, row := range []struct{ name, hook, event string }{
		{"turn_begun", "turn_begun", `{"prompt":"%s","message":"%s","conversation":[{"role":"user","text":"%s"}]}`},
		{"a turn without an answer", "before_prompt_build", `{"prompt":"%s","currentUserMessage":"%s 2"}`},
		{"the end of a run", "agent_end", `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"%s"}]}`},
		{"a run that failed", "agent_end", `{"error":"%s"}`},
		{"a call that failed", "after_tool_call", `{"toolName":"write","error":"%s"}`},
	} {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprint(row.name, ", redacted: ", strict), func(t *testing.T) {
				t.Parallel()
				d := decoder
				d.Redact = strict
				_, _, fact, err := d.Fact("", "", event(row.hook, strings.ReplaceAll(row.event, "%s", text), `{"sessionId":"s","runId":"r"}`))
				require.NoError(t, err)
				shown := fmt.Sprintf("%+v %+v %+v", fact.Begin, fact.Call, fact.End)
				require.Less(t, len(shown), 150_000)
				for _, part := range []string{"begin /home/", "/home/ end", "(truncated..., 24000"} {
					require.True(t, strings.Contains(shown, part), part)
				}
			})
		}
	}
}
