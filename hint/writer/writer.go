// Package writer turns an intent's prompt and the conversation into an
// instruction for one turn, with a language model (HINT_WRITER, contract §6).
// The model's text is bounded and escaped; the intent is not changed.
package writer

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/intents"
	"intenthint/model"
	"intenthint/payload"
)

// Task is the input for an instruction.
type Task struct {
	// Session names the conversation; without one nothing is cached.
	Session string
	Result  payload.Classification
	// Intent is the intent of Result, with the prompt that the hint would contain.
	Intent intents.Intent
	// Skills are the skills that the prompt names, a line each, with path and
	// description of those that have one.
	Skills       []string
	Conversation []payload.Turn
	Latest       string
}

// Outcome is the outcome of a task.
type Outcome string

// Outcomes. For all but the first two the hint keeps the intent's own prompt.
const (
	Written    Outcome = "written"
	Cached     Outcome = "cached" // written earlier in the session
	Late       Outcome = "late"
	Failed     Outcome = "failed"
	Overloaded Outcome = "overloaded"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Written, Cached, Late, Failed, Overloaded} }

// maxKept bounds the cached instructions, at a few kilobytes each.
const maxKept = 2048

// Writer writes instructions. It is safe for concurrent use.
type Writer struct {
	chain *model.Chain
	limit *model.Limit
	kept  *lru.Cache[string, string]
}

// New returns a writer that asks a chain, within the limit.
func New(chain *model.Chain, limit *model.Limit) *Writer {
	kept, _ := lru.New[string, string](maxKept) // fails only for a size that is not positive
	return &Writer{chain: chain, limit: limit, kept: kept}
}

// Write returns the instruction for a turn, or "" with the reason. It returns
// when ctx is done, at the latest.
func (w *Writer) Write(ctx context.Context, t Task) (string, Outcome) {
	if body, ok := w.Cached(t); ok {
		return body, Cached
	}
	body, err := model.Start(ctx, w.limit, 1, func(ctx context.Context) (string, error) { return Ask(ctx, w.chain, t) })()
	switch {
	case errors.Is(err, model.ErrOverloaded):
		return "", Overloaded
	case errors.Is(err, model.ErrDeadline):
		return "", Late
	case err != nil:
		return "", Failed
	}
	if t.Session != "" {
		w.kept.Add(key(t), body)
	}
	return body, Written
}

// Ask asks a chain for the instruction for a turn. Errors are those of [model.Ask].
func Ask(ctx context.Context, chain *model.Chain, t Task) (string, error) {
	answer, err := model.Ask(ctx, chain, model.Question[[]string]{Request: request(t), Parse: parse})
	if err != nil {
		return "", err
	}
	return layOut(answer.Value, t.Skills), nil
}

// Cached returns the instruction that was written for the intent, complexity and
// skills earlier in the session. It does not ask a model.
func (w *Writer) Cached(t Task) (body string, ok bool) { return w.kept.Get(key(t)) }

// key identifies the turns that share an instruction. The session is part of
// it: an instruction may reveal what was said there.
func key(t Task) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(t.Intent.Prompt)) // paths and descriptions of its skills included
	return strings.Join([]string{t.Session, t.Intent.ID, t.Result.Complexity, strconv.FormatUint(sum.Sum64(), 36)}, "\x00")
}

// layOut makes the body of a hint. It adds the skills' paths itself, so that
// the model cannot change them.
func layOut(lines, skills []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(lines) > 1 {
			b.WriteString("- ")
		}
		b.WriteString(line)
	}
	for i, s := range skills {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("\n" + s)
	}
	return b.String()
}
