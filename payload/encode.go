package payload

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"sort"

	"intenthint/internal/text"
)

// hookTurnBegun is the hook that the consumer itself publishes.
const hookTurnBegun = "turn_begun"

// message is an [Envelope] before its parts are encoded.
type message struct {
	Hook  string  `json:"hook"`
	TS    int64   `json:"ts"`
	ID    string  `json:"id"`
	Ctx   Context `json:"ctx"`
	Event any     `json:"event"`
}

// EncodeTurnBegun returns the message of a turn_begun event (contract §2) in at
// most limit bytes; 0 means no limit. id is the event's own id, ts the
// beginning of the turn in Unix milliseconds. If the message is too long, the
// oldest turns of the conversation are left out, as gateways do with theirs,
// then the end of the prompt, and then the end of the user's message. Even then
// the result may be too long.
func EncodeTurnBegun(id string, ts int64, ctx Context, event TurnBegun, limit int) []byte {
	if r := event.Result; r != nil {
		result := *r
		result.Confidence, result.RunnerUpConfidence, result.ElapsedMs = finite(r.Confidence), finite(r.RunnerUpConfidence), finite(r.ElapsedMs)
		event.Result = &result
	}
	encode := func() []byte { return JSON(message{hookTurnBegun, ts, id, ctx, &event}) }
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

// EncodeSignal returns the message of an event without its content: only that
// it was fired, when and where.
func EncodeSignal(hook, id string, ts int64, ctx Context) []byte {
	return JSON(message{hook, ts, id, ctx, struct{}{}})
}

// EncodeUnanswered returns a before_prompt_build event with only what other processes
// need: the run that got no answer, and the user's message.
func EncodeUnanswered(hook, id string, ts int64, ctx Context, prompt string) []byte {
	return JSON(message{hook, ts, id, ctx, struct {
		Prompt string `json:"prompt"`
	}{prompt}})
}

// newest returns the last turns whose JSON, with commas, fits into room bytes.
func newest(turns []Turn, room int) []Turn {
	for i, turn := range slices.Backward(turns) {
		if room -= len(JSON(turn)) + 1; room < -1 {
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
		return len(JSON(rest))-len(`""`) >= less
	})
	return text.CutBytes(s, len(s)-n) + text.Truncated
}

// JSON returns v as JSON; nil if v cannot be encoded. Texts keep <, > and & as
// they are: no reader is a web page.
func JSON(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// finite returns f, or 0 for values that JSON cannot express.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
