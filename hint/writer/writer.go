// Package writer makes of an intent's prompt and the conversation an instruction
// for one turn, with a language model (HINT_WRITER, contract §6). What a model writes
// is bounded and escaped; the intent stays that of the classification.
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

// Task is what an instruction is made of.
type Task struct {
	// Session names the conversation; without one nothing is kept.
	Session string
	Result  payload.Classification
	// Intent is that of the result, with the prompt that the hint would have.
	Intent intents.Intent
	// Skills are those that the prompt names with their path.
	Skills       []payload.Skill
	Conversation []payload.Turn
	Latest       string
}

// Outcome is what became of a task.
type Outcome string

// Outcomes. With all but the first two the hint keeps the intent's own prompt.
const (
	Written    Outcome = "written"
	Cached     Outcome = "cached" // written earlier in the session
	Late       Outcome = "late"
	Failed     Outcome = "failed"
	Overloaded Outcome = "overloaded"
)

// Outcomes are all outcomes.
func Outcomes() []Outcome { return []Outcome{Written, Cached, Late, Failed, Overloaded} }

// maxKept bounds the instructions that are kept, at some kilobytes each.
const maxKept = 2048

// Writer writes instructions. It is safe for concurrent use.
type Writer struct {
	chain *model.Chain
	limit model.Limit
	kept  *lru.Cache[string, string]
}

// New returns a writer that asks a chain, within the limit.
func New(chain *model.Chain, limit model.Limit) *Writer {
	kept, _ := lru.New[string, string](maxKept) // fails only for a size that is not positive
	return &Writer{chain: chain, limit: limit, kept: kept}
}

// Write returns the instruction for a turn, or "" with the reason. It returns at the
// latest when ctx is done.
func (w *Writer) Write(ctx context.Context, t Task) (string, Outcome) {
	if body, ok := w.Kept(t); ok {
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

// Kept returns the instruction that was written for the intent, complexity and
// skills earlier in the session. It does not ask a model.
func (w *Writer) Kept(t Task) (body string, ok bool) { return w.kept.Get(key(t)) }

// key is what makes an instruction that of another turn as well. The session is a
// part of it: an instruction may tell what was said there.
func key(t Task) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(t.Intent.Prompt)) // paths and descriptions of its skills included
	return strings.Join([]string{t.Session, t.Intent.ID, t.Result.Complexity, strconv.FormatUint(sum.Sum64(), 36)}, "\x00")
}

// layOut makes the body of a hint. The skills' paths are not left to the model.
func layOut(lines []string, skills []payload.Skill) string {
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
		b.WriteString("\nskill: " + s.Name + " (read " + s.Path + ")")
	}
	return b.String()
}
