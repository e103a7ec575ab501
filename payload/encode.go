package payload

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"

	"intenthint/internal/text"
)

// Turns are encoded by hand: encoding/json takes several times as long.

// plain are the bytes that need no escape in a JSON string.
var plain = func() (out [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		out[c] = c != '"' && c != '\\'
	}
	return out
}()

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// fields appends the fields of an object.
type fields struct {
	dst   []byte
	first bool
}

func openObject(dst []byte) fields { return fields{append(dst, '{'), true} }

func (f *fields) close() []byte { return append(f.dst, '}') }

// name begins a field; its value follows in dst.
func (f *fields) name(name string) {
	if !f.first {
		f.dst = append(f.dst, ',')
	}
	f.first = false
	f.dst = append(append(append(f.dst, '"'), name...), '"', ':')
}

func (f *fields) text(name, value string) {
	f.name(name)
	f.dst = AppendString(f.dst, value)
}

// optional writes a field unless its value is "".
func (f *fields) optional(name, value string) {
	if value != "" {
		f.text(name, value)
	}
}

// number writes 0 for values that JSON cannot express.
func (f *fields) number(name string, value float64) {
	f.name(name)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		value = 0
	}
	f.dst = strconv.AppendFloat(f.dst, value, 'g', -1, 64)
}

// Append appends the context as JSON.
func (c Context) Append(dst []byte) []byte {
	f := openObject(dst)
	for _, field := range c.fields() {
		switch value := field.to.(type) {
		case *string:
			f.optional(field.name, *value)
		case *Provenance:
			if value.Kind != "" {
				f.name(field.name)
				p := openObject(f.dst)
				p.text("kind", value.Kind)
				f.dst = p.close()
			}
		}
	}
	return f.close()
}

// Append appends the classification as JSON.
func (c Classification) Append(dst []byte) []byte {
	f := openObject(dst)
	f.text("intent", c.Intent)
	f.text("name", c.Name)
	f.text("reason", c.Reason)
	f.text("goal", c.Goal)
	f.number("confidence", c.Confidence)
	f.text("complexity", c.Complexity)
	f.optional("suggestion", c.Suggestion)
	if c.RunnerUp != "" {
		f.text("runnerUp", c.RunnerUp)
		f.number("runnerUpConfidence", c.RunnerUpConfidence)
	}
	f.text("source", c.Source)
	f.optional("model", c.Model)
	f.number("elapsedMs", c.ElapsedMs)
	if c.ModelCalls != 0 {
		f.number("modelCalls", float64(c.ModelCalls))
	}
	if t := c.Tokens; t != nil {
		f.name("tokens")
		o := openObject(f.dst)
		o.number("in", float64(t.In))
		o.number("out", float64(t.Out))
		f.dst = o.close()
	}
	return f.close()
}

// Append appends the turn as JSON.
func (t Turn) Append(dst []byte) []byte {
	f := openObject(dst)
	f.text("role", t.Role)
	f.text("text", t.Text)
	return f.close()
}

// Append appends name and path of the skill as JSON.
func (s Skill) Append(dst []byte) []byte {
	f := openObject(dst)
	f.text("name", s.Name)
	f.text("path", s.Path)
	return f.close()
}

// Append appends the event as JSON.
func (e TurnBegun) Append(dst []byte) []byte {
	f := openObject(dst)
	f.optional("runId", e.RunID)
	f.text("prompt", e.Prompt)
	f.optional("message", e.Message)
	if len(e.Conversation) > 0 {
		f.name("conversation")
		f.dst = append(f.dst, '[')
		for i, t := range e.Conversation {
			if i > 0 {
				f.dst = append(f.dst, ',')
			}
			f.dst = t.Append(f.dst)
		}
		f.dst = append(f.dst, ']')
	}
	if e.Earlier > 0 {
		f.number("earlier", float64(e.Earlier))
	}
	if e.Result != nil {
		f.name("result")
		f.dst = e.Result.Append(f.dst)
	}
	f.optional("hint", e.Hint)
	if len(e.Skills) > 0 {
		f.name("skills")
		f.dst = append(f.dst, '[')
		for i, s := range e.Skills {
			if i > 0 {
				f.dst = append(f.dst, ',')
			}
			f.dst = s.Append(f.dst)
		}
		f.dst = append(f.dst, ']')
	}
	f.optional("skip", e.Skip)
	if e.HeldOut != nil {
		f.name("heldOut")
		f.dst = strconv.AppendBool(f.dst, *e.HeldOut)
	}
	if e.Last != nil {
		f.name("last")
		f.dst = e.Last.Append(f.dst)
	}
	if u := e.ModelUse; u != nil {
		f.name("modelUse")
		o := openObject(f.dst)
		o.number("calls", float64(u.Calls))
		if u.Failed != 0 {
			o.number("failed", float64(u.Failed))
		}
		o.number("in", float64(u.In))
		o.number("out", float64(u.Out))
		f.dst = o.close()
	}
	return f.close()
}

// Append appends the last hint as JSON.
func (l LastHint) Append(dst []byte) []byte {
	f := openObject(dst)
	f.text("intent", l.Intent)
	f.text("complexity", l.Complexity)
	f.text("text", l.Text)
	if l.Full {
		f.name("full")
		f.dst = append(f.dst, "true"...)
	}
	f.number("turns", float64(l.Turns))
	f.number("at", float64(l.At))
	return f.close()
}

// EncodeTurnBegun returns the message of a turn_begun event (contract §2) in at
// most limit bytes; 0 means no limit. id is the event's own id, ts the
// beginning of the turn in Unix milliseconds. If the message is too long, the
// oldest turns of the conversation are left out, as gateways do with theirs,
// then the end of the prompt, and then the end of the user's message. Even then
// the result may be too long.
func EncodeTurnBegun(id string, ts int64, ctx Context, event TurnBegun, limit int) []byte {
	encode := func() []byte { return turnBegun(id, ts, ctx, event) }
	said := 0 // texts do not get shorter in JSON, so a history that is too long need not be encoded
	for _, t := range event.Conversation {
		said += len(t.Text)
	}
	if limit <= 0 || said <= limit {
		if body := encode(); limit <= 0 || len(body) <= limit {
			return body
		}
	}
	turns := event.Conversation
	event.Conversation = nil
	body := encode()
	event.Conversation = newest(turns, limit-len(body)-len(`"conversation":[],`))
	if event.Conversation == nil && len(body) > limit {
		event.Prompt = shorten(event.Prompt, len(body)-limit)
		if over := len(encode()) - limit; over > 0 && event.Message != "" {
			event.Message = shorten(event.Message, over)
		}
	}
	return encode()
}

// turnRoom is the size of most messages of turn_begun, in bytes.
const turnRoom = 4096

// hookTurnBegun is the hook that the consumer itself publishes.
const hookTurnBegun = "turn_begun"

// newest returns the last turns whose JSON, with commas, fits into room bytes.
func newest(turns []Turn, room int) []Turn {
	var buf []byte
	for i, turn := range slices.Backward(turns) {
		buf = turn.Append(buf[:0])
		if room -= len(buf) + 1; room < -1 {
			turns = turns[i+1:]
			break
		}
	}
	if len(turns) == 0 {
		return nil
	}
	return turns
}

// shorten cuts s so that it takes at least less fewer bytes in JSON. If that is
// impossible, only the truncation mark is left. Every byte takes at least one
// byte in JSON.
func shorten(s string, less int) string {
	less += len(text.Truncated)
	from := max(0, len(s)-less)
	n := sort.Search(len(s)-from, func(n int) bool {
		rest := s[len(text.CutBytes(s, len(s)-n)):]
		return len(AppendString(nil, rest))-len(`""`) >= less
	})
	return text.CutBytes(s, len(s)-n) + text.Truncated
}

// turnBegun makes the message of a turn_begun event.
func turnBegun(id string, ts int64, ctx Context, event TurnBegun) []byte {
	f := openMessage(make([]byte, 0, turnRoom), hookTurnBegun, id, ts, ctx)
	f.dst = event.Append(f.dst)
	return f.close()
}

// EncodeSignal returns the message of an event without its content: only that
// it was fired, when and where.
func EncodeSignal(hook, id string, ts int64, ctx Context) []byte {
	f := openMessage(nil, hook, id, ts, ctx)
	f.dst = append(f.dst, "{}"...)
	return f.close()
}

// EncodeUnanswered returns a before_prompt_build event with only what other processes
// need: the run that got no answer, and the user's message.
func EncodeUnanswered(hook, id string, ts int64, ctx Context, message string) []byte {
	f := openMessage(nil, hook, id, ts, ctx)
	event := openObject(f.dst)
	event.text("prompt", message)
	f.dst = event.close()
	return f.close()
}

// openMessage begins a message; its event follows.
func openMessage(dst []byte, hook, id string, ts int64, ctx Context) fields {
	f := openObject(dst)
	f.text("hook", hook)
	f.name("ts")
	f.dst = strconv.AppendInt(f.dst, ts, 10)
	f.text("id", id)
	f.name("ctx")
	f.dst = ctx.Append(f.dst)
	f.name("event")
	return f
}
