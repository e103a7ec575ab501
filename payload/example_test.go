package payload_test

import (
	"errors"
	"fmt"

	"intenthint/payload"
)

func ExampleDecodeRequest() {
	env, err := payload.DecodeRequest([]byte(`{"hook": "before_prompt_build", "event": {"prompt": "remind me", "messages": []}, "ctx": {"sessionKey": "agent:work:main"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	event, err := payload.DecodeBeforePromptBuild(env.Event)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	fmt.Println(event.Prompt, ctx.Agent(), err)

	_, err = payload.DecodeBeforePromptBuild([]byte(`{"prompt": 5}`))
	fmt.Println(errors.Is(err, payload.ErrInvalid), err)
	// Output:
	// remind me work <nil>
	// true invalid message: prompt of event must be a string, not a number
}

func ExampleEncodeTurnBegun() {
	event := payload.TurnBegun{
		Prompt:       "and tomorrow?",
		Conversation: []payload.Turn{{Role: payload.RoleUser, Text: "will it rain"}, {Role: payload.RoleAssistant, Text: "No."}},
	}
	for _, limit := range []int{0, 150} {
		fmt.Printf("%s\n", payload.EncodeTurnBegun("e1", 1763680000123, payload.Context{}, event, limit))
	}
	// Output:
	// {"hook":"turn_begun","ts":1763680000123,"id":"e1","ctx":{},"event":{"prompt":"and tomorrow?","conversation":[{"role":"user","text":"will it rain"},{"role":"assistant","text":"No."}]}}
	// {"hook":"turn_begun","ts":1763680000123,"id":"e1","ctx":{},"event":{"prompt":"and tomorrow?","conversation":[{"role":"assistant","text":"No."}]}}
}
