package payload

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeBeforeDispatch(t *testing.T) {
	yes, no := true, false
	for _, row := range []struct {
		name, event, ctx string
		want             BeforeDispatch
	}{
		{
			"all of it", `{"messageId":"4","content":"hello","body":"[Ada] hello","sessionKey":"k","senderId":"555","isGroup":true,"timestamp":1795215559000}`, `{"agentName":"Claw"}`,
			BeforeDispatch{MessageID: "4", Text: "hello", SessionKey: "k", SenderID: "555", IsGroup: &yes, Timestamp: 1795215559000, AgentNames: []string{"Claw"}},
		},
		{
			"the context stands in", `{"body":"hello","isGroup":false}`, `{"messageId":"5","sessionKey":"k","senderId":"s","conversationId":7}`,
			BeforeDispatch{MessageID: "5", Text: "hello", SessionKey: "k", SenderID: "s", IsGroup: &no},
		},
		{
			"who is called", `{"wasMentioned":true,"replyToId":"3","replyToSender":"Claw (@claw_bot)"}`, `{"agentName":"Claw","agentNames":["Claw","@claw_bot","<@123>"],"replyToId":"9"}`,
			BeforeDispatch{AgentNames: []string{"Claw", "@claw_bot", "<@123>"}, WasMentioned: true, ReplyToID: "3", ReplyToSender: "Claw (@claw_bot)"},
		},
		{
			"a name beside the list", `{}`, `{"agentNames":["@claw_bot"],"agentName":"Claw","replyToId":"9"}`,
			BeforeDispatch{AgentNames: []string{"Claw", "@claw_bot"}, ReplyToID: "9"},
		},
		{"nothing", `{"content":null,"isGroup":null,"timestamp":null}`, `{}`, BeforeDispatch{}},
		{"a negative time", `{"timestamp":-5}`, `{}`, BeforeDispatch{}},
		{"a time in nanoseconds", `{"timestamp":1795215559000000000}`, `{}`, BeforeDispatch{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeBeforeDispatch(json.RawMessage(row.event), json.RawMessage(row.ctx))
			require.NoError(t, err)
			require.Equal(t, row.want, e)
		})
	}
}

func TestDecodeBeforeDispatchRefuses(t *testing.T) {
	for _, row := range []struct{ name, event, ctx, reason string }{
		{"a list that is not text", `{"content":["x"]}`, `{}`, "content of event must be a string"},
		{"a flag that is a string", `{"isGroup":"yes"}`, `{}`, "isGroup of event must be true or false"},
		{"a time that is text", `{"timestamp":"now"}`, `{}`, "timestamp of event must be a number"},
		{"names that are one name", `{}`, `{"agentNames":"Claw"}`, "agentNames of ctx must be an array"},
		{"a name in a list that is a number", `{}`, `{"agentNames":["Claw",5]}`, "agentNames[] of ctx must be a string"},
		{"a mention that is a count", `{"wasMentioned":1}`, `{}`, "wasMentioned of event must be a boolean"},
		{"a name that is a number", `{}`, `{"agentName":5}`, "agentName of ctx must be a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := DecodeBeforeDispatch(json.RawMessage(row.event), json.RawMessage(row.ctx))
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, row.reason)
		})
	}
}

func TestDecodeCapturedMessages(t *testing.T) {
	read := func(hook string) (samples []struct{ Event, Ctx json.RawMessage }) {
		data, err := os.ReadFile("../testdata/openclaw/" + hook + ".json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &samples))
		require.NotEmpty(t, samples)
		return samples
	}
	for _, s := range read("before_dispatch") {
		e, err := DecodeBeforeDispatch(s.Event, s.Ctx)
		require.NoError(t, err)
		require.NotEmpty(t, e.MessageID)
		require.NotEmpty(t, e.Text)
		require.NotEmpty(t, e.SessionKey)
		require.NotEmpty(t, e.SenderID)
		require.NotNil(t, e.IsGroup)
	}
	for _, s := range read("message_sent") {
		e, err := DecodeMessageSent(s.Event, s.Ctx)
		require.NoError(t, err)
		require.NotEmpty(t, e.MessageID)
		require.NotEmpty(t, e.Text)
		require.NotEmpty(t, e.SessionKey)
		require.False(t, e.Failed)
	}
}
