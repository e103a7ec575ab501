package payload

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// DecodeHeldMessages returns heldMessageIds of the ctx of before_prompt_build,
// which the plugin adds: the messages of a group that the gateway itself gives
// to the model in this turn. Anything but a list of strings means no messages.
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
