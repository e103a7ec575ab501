package handlers

import (
	"encoding/json"
	"strings"

	"intenthint/conversation"
	"intenthint/internal/text"
	"intenthint/redact"
	"intenthint/store"
)

// redactFact redacts the texts of a fact in place. Ids, keys and the names of
// tools and intents are unchanged. It is idempotent, as turns may be redacted
// already.
func redactFact(f *store.Fact) {
	var texts []*string
	if b := f.Begin; b != nil {
		texts = append(texts, &b.Input, &b.Message)
		for i := range b.Conversation {
			texts = append(texts, &b.Conversation[i].Text)
		}
		for i := range b.Skills {
			texts = append(texts, &b.Skills[i].Name, &b.Skills[i].Path)
		}
		if r := b.Result; r != nil {
			texts = append(texts, &r.Reason, &r.Goal, &r.Suggestion)
		}
	}
	if c := f.Call; c != nil {
		texts = append(texts, &c.Result, &c.Error)
		if len(c.Params) > 0 {
			c.Params = json.RawMessage(redact.JSON(c.Params))
		}
		if c.Skill != nil {
			texts = append(texts, &c.Skill.Name, &c.Skill.Path)
		}
	}
	if e := f.End; e != nil {
		texts = append(texts, &e.Result, &e.Error)
	}
	if v := f.Feedback; v != nil {
		texts = append(texts, &v.By)
	}
	if c := f.Close; c != nil {
		texts = append(texts, &c.Reason)
	}
	for _, s := range texts {
		*s = redact.Text(*s)
	}
}

// stored returns a text of a turn as it is stored. The copy does not hold the event,
// which may be megabytes.
func (d Decoder) stored(s string) string {
	if len(s) <= conversation.MaxStored {
		return s
	}
	return strings.Clone(conversation.Stored(s, d.Redact))
}

// head returns the first n characters of a text. Redaction comes before the
// cut.
func (d Decoder) head(s string, n int) string {
	if d.Redact {
		return redact.Head(s, n)
	}
	return text.Cut(s, n)
}
