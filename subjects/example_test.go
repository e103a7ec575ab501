package subjects_test

import (
	"fmt"

	"intenthint/subjects"
)

func ExamplePrefix() {
	p := subjects.Prefix(subjects.DefaultPrefix)
	fmt.Println(p.Request(subjects.HookBeforePromptBuild, "main"))
	fmt.Println(p.Event(subjects.HookAfterToolCall, "main", "agent:main:telegram"))
	fmt.Println(p.Event(subjects.HookAgentEnd, "main", ""))
	// Output:
	// openclaw.request.before_prompt_build.main
	// openclaw.event.after_tool_call.main.agent=3Amain=3Atelegram
	// openclaw.event.agent_end.main._
}

func ExampleDecodeToken() {
	token := subjects.EncodeToken("天 x_1")
	value, err := subjects.DecodeToken(token)
	fmt.Println(token, value, err)
	// Output: =E5=A4=A9=20x_1 天 x_1 <nil>
}
