package repetition

import (
	"cmp"
	"slices"

	"intenthint/payload"
)

// maxPrompts bounds the prompts that are remembered of a conversation. There are
// fewer built-in intents; a forgotten prompt is said again.
const maxPrompts = 64

// with returns prompts with another one, oldest first. It does not change prompts.
func with(prompts []payload.KeptPrompt, p payload.KeptPrompt) []payload.KeptPrompt {
	out := make([]payload.KeptPrompt, 0, len(prompts)+1)
	for _, other := range prompts {
		if other.Text == p.Text {
			p.At = max(p.At, other.At)
		} else {
			out = append(out, other)
		}
	}
	at, _ := slices.BinarySearchFunc(out, p, func(a, b payload.KeptPrompt) int { return cmp.Compare(a.At, b.At) })
	out = slices.Insert(out, at, p)
	return out[max(0, len(out)-maxPrompts):]
}

// Kept returns what the conversation of a session holds of its hints. The gateway
// has kept hints since a time, in Unix milliseconds; 0 if unknown.
func (s *Sessions) Kept(session string, since int64) payload.KeptHints {
	s.change(session, func(k *known) { k.since = max(k.since, since) })
	k, _ := s.cache.Get(session)
	return k.standing()
}

// standing returns what the conversation holds: nothing from before a reset or the
// gateway's start, and no hint that did not arrive.
func (k known) standing() payload.KeptHints {
	kept, from := k.kept, max(k.reset, k.since)
	kept.Prompts = slices.DeleteFunc(slices.Clone(kept.Prompts), func(p payload.KeptPrompt) bool { return p.At <= from || p.At == k.lost })
	switch {
	case kept.Since <= from:
		kept.Bytes, kept.Since = 0, 0
	case k.last != nil && k.last.At == k.lost:
		kept.Bytes = max(0, kept.Bytes-k.last.Bytes)
	}
	return kept
}

// Keep records that the conversation of a session holds its last hint, which [Sessions.Begin]
// returned, and what that hint says: the intent's prompt, or less. It returns what
// the conversation holds after that.
func (s *Sessions) Keep(session string, last payload.LastHint, prompt bool) (kept payload.KeptHints) {
	s.change(session, func(k *known) {
		kept = k.standing()
		kept.Bytes, kept.Since = kept.Bytes+last.Bytes, cmp.Or(kept.Since, last.At)
		if prompt {
			kept.Prompts = with(kept.Prompts, payload.KeptPrompt{Text: last.Text, At: last.At})
		}
		k.kept = kept
	})
	return kept
}
