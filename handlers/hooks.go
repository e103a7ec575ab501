package handlers

import (
	"slices"

	"intenthint/internal/bus"
	"intenthint/part"
)

// Hooks joins what parts contribute to decision hooks: each hook once, with the
// handlers of all parts, in the order of the parts.
func Hooks(parts ...*part.Running) []part.Hook {
	var out []part.Hook
	for _, p := range parts {
		for _, h := range p.Hooks {
			i := slices.IndexFunc(out, func(o part.Hook) bool { return o.Name == h.Name })
			if i < 0 {
				h.Handlers = slices.Clone(h.Handlers)
				out = append(out, h)
				continue
			}
			o := &out[i]
			o.Handlers = append(o.Handlers, h.Handlers...)
			if o.Bound == (bus.Bound{}) {
				o.Bound = h.Bound
			}
			if o.Unasked == nil {
				o.Unasked = h.Unasked
			}
			if o.Timeout == nil {
				o.Timeout = h.Timeout
			}
		}
	}
	return out
}
