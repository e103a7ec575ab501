package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"intenthint/internal/bus"
	"intenthint/internal/hook"
)

type beforeToolCall struct {
	ToolName string `json:"toolName"`
}

// block ends the tool call. Its JSON is what the gateway's handler would return.
type block struct {
	Block  bool   `json:"block"`
	Reason string `json:"blockReason"`
}

func (b block) Join(hook.Decision) hook.Decision { return b }
func (block) Final() bool                        { return true }

func beforeToolCallHook(denied string) hook.Hook {
	return hook.Hook{
		Name:  "before_tool_call",
		Bound: bus.Bound{Requests: 256, Bytes: 32 << 20, PerCaller: 64, PerCallerBytes: 8 << 20},
		Handlers: []hook.Handler{{Name: "policy", Handle: func(_ context.Context, req *hook.Request) (hook.Result, error) {
			var e beforeToolCall
			if err := json.Unmarshal(req.Envelope.Event, &e); err != nil {
				return hook.Result{}, err
			}
			if e.ToolName != denied {
				return hook.Result{}, nil // no decision
			}
			return hook.Result{Decision: block{true, e.ToolName + " is not allowed here"}}, nil
		}}},
	}
}

// A decision hook is a name, and handlers that each read what they need of the event.
func ExampleHook() {
	runner := hook.NewRunner(beforeToolCallHook("exec"), hook.Options{
		Timeout: func() time.Duration { return time.Second },
		Budget:  func(string) time.Duration { return 0 },
		Log:     slog.New(slog.DiscardHandler),
	})
	fmt.Println("subscribed to", runner.Endpoint("openclaw").Subject)
	for _, tool := range []string{"read", "exec"} {
		request := `{"hook":"before_tool_call","event":{"toolName":"` + tool + `"},"ctx":{}}`
		runner.Answer(context.Background(), bus.Request{Data: []byte(request), Received: time.Now()}, func(r bus.Reply) {
			fmt.Println(tool, string(r.Body))
		})
	}
	// Output:
	// subscribed to openclaw.request.before_tool_call.*
	// read {}
	// exec {"block":true,"blockReason":"exec is not allowed here"}
}
