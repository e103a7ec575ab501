package payload

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// RecallsLater reports whether the ctx of before_prompt_build says that experiences
// for this prompt are asked for apart (recallLater), which the plugin adds.
func RecallsLater(ctx json.RawMessage) bool {
	o, err := view(ctx, "ctx")
	return err == nil && o.Get("recallLater").Type == gjson.True
}

// DecodeHeldMessages returns heldMessageIds of the ctx of before_prompt_build: the
// messages of a group that the gateway itself puts before the model in this turn,
// which the plugin adds. What is no list of strings is no message.
func DecodeHeldMessages(ctx json.RawMessage) map[string]bool {
	o, err := view(ctx, "ctx")
	if err != nil {
		return nil
	}
	held := make(map[string]bool)
	ids := o.Get("heldMessageIds")
	if !ids.IsArray() {
		return held
	}
	for _, id := range ids.Array() {
		if id.Type == gjson.String {
			held[strings.Clone(id.Str)] = true
		}
	}
	return held
}
