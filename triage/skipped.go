package triage

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"intenthint/internal/hook"
	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/triage/state"
)

// SkippedState stores the skipped messages.
type SkippedState interface {
	Take(ctx context.Context, turn state.Turn, most int, now time.Time) (out []state.Decision, left int, again bool, err error)
	PutBack(ctx context.Context, turn state.Turn) error
}

// Skipped tells the next turn of a group which messages were skipped since the
// last one.
type Skipped struct {
	State    SkippedState
	Metrics  *Metrics
	Log      *slog.Logger
	settings atomic.Pointer[Settings]
}

// Use makes later requests use other settings.
func (s *Skipped) Use(set *Settings) { s.settings.Store(set) }

// skippedPriority puts the block after the hint.
const skippedPriority = -10

// Handler returns the handler of before_prompt_build.
func (s *Skipped) Handler() hook.Handler {
	return hook.Handler{Name: "skipped messages", Priority: skippedPriority, Handle: s.handle}
}

func (s *Skipped) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	set := s.settings.Load()
	turn := state.Turn{Group: req.Context.SessionKey, Run: req.Context.RunID, Request: req.Envelope.ID}
	if set.Recall == 0 || !set.tells(req.Context) {
		return hook.Result{}, nil
	}
	if err := ctx.Err(); err != nil {
		return hook.Result{}, err // the time ran out before anything was taken
	}
	own, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	messages, left, again, err := s.State.Take(own, turn, set.Recall, time.Now())
	if err != nil {
		s.Metrics.failures.WithLabelValues(opSkipped).Inc()
		if own.Err() != nil && !again {
			s.putBack(ctx, turn) // the write may have been carried out
		}
		return hook.Result{}, err
	}
	if len(messages) == 0 {
		return hook.Result{}, nil
	}
	e, err := payload.DecodeBeforePromptBuild(req.Envelope.Event)
	if err == nil && !req.Commit() {
		err = errLeftOut
	}
	if err != nil {
		if !again {
			s.putBack(ctx, turn)
		}
		return hook.Result{}, err
	}
	messages = set.withoutPrompted(messages, e, payload.DecodeHeldMessages(req.Envelope.Ctx))
	s.Metrics.recalled.Add(float64(len(messages)))
	block := Block(messages, left)
	if block == "" {
		return hook.Result{}, nil
	}
	return hook.Result{Decision: hook.PrependContext{Text: block}}, nil
}

var errLeftOut = errors.New("answer no longer needed")

func (s *Skipped) putBack(ctx context.Context, turn state.Turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTime)
	defer cancel()
	if err := s.State.PutBack(ctx, turn); err != nil {
		s.Metrics.failures.WithLabelValues(opSkipped).Inc()
		s.Log.Warn("skipped messages lost", "group", turn.Group, "run", turn.Run, "error", err)
	}
}

// tells reports whether a turn may be told what was skipped: a turn of a person
// in a chat that may be a group. A chat may be a group even if its key does not
// say so.
func (s *Settings) tells(ctx payload.Context) bool {
	key := strings.ToLower(ctx.SessionKey)
	if !ctx.OfPerson() || strings.Contains(key, ":direct:") || strings.Contains(key, ":dm:") {
		return false
	}
	group := true
	_, outside := s.Outside(Message{Group: ctx.SessionKey, IsGroup: &group})
	return !outside
}

// withoutPrompted leaves out messages that are already in the prompt, in the gateway's
// transcript, or in its additions to the request (held). An older message of
// the transcript does not count: it is another message with the same text, such
// as "ok".
func (s *Settings) withoutPrompted(messages []state.Decision, e payload.BeforePromptBuild, held map[string]bool) []state.Decision {
	var t transcript
	t.add(e.Prompt, timeless, s.Redact)
	left := transcriptMessages
	for _, m := range slices.Backward(e.Messages) {
		if m.Role != payload.RoleUser {
			continue
		}
		if left--; left < 0 {
			break
		}
		at := timeless
		if m.Timestamp > 0 {
			at = m.Timestamp
		}
		for _, part := range m.Content.Texts() {
			t.add(part, at, s.Redact)
		}
	}
	var out []state.Decision
	for _, m := range messages {
		if !held[m.MessageID] && !t.holds(m.Text, m.At-clocksApart.Milliseconds()) {
			out = append(out, m)
		}
	}
	return out
}

// transcriptMessages is how many of the newest messages of people are compared.
// A message that was just skipped is not older than these.
const transcriptMessages = 100

const (
	// timeless is the time of a text that may contain any message.
	timeless int64 = math.MaxInt64
	// clocksApart is how far the clock of a chat's messages may be ahead of the
	// transcript's, which is the gateway's own. Chats often tell whole seconds only.
	clocksApart = time.Minute
)

// transcript is what the agent already sees of people's messages: texts on one
// line, and their lines.
type transcript struct{ texts, lines []spoken }

// spoken is a text and when it was said, in Unix milliseconds.
type spoken struct {
	text string
	at   int64
}

func (t *transcript) add(s string, at int64, redacted bool) {
	if redacted {
		s = redact.Text(s)
	}
	for l := range strings.Lines(s) {
		t.lines = append(t.lines, spoken{text.OneLine(l, len(l)), at})
	}
	t.texts = append(t.texts, spoken{text.OneLine(s, len(s)), at})
}

// longText is the length in bytes from which a text counts as held if it is
// part of another text. A shorter one must be a whole text or line, apart from a
// sender in front of it: "ok" is part of many texts.
const longText = 40

// holds reports whether a text occurs in the transcript at the given time or
// later.
func (t *transcript) holds(s string, since int64) bool {
	if s == "" {
		return true
	}
	said := func(l spoken) bool {
		before, ok := strings.CutSuffix(l.text, s)
		return ok && l.at >= since && (before == "" || strings.HasSuffix(before, ": ") || strings.HasSuffix(before, "] "))
	}
	return slices.ContainsFunc(t.lines, said) || slices.ContainsFunc(t.texts, func(whole spoken) bool {
		return said(whole) || whole.at >= since && len(s) >= longText && strings.Contains(whole.text, s)
	})
}

const (
	skippedOpen  = "<" + payload.SkippedTag + ">"
	skippedClose = "</" + payload.SkippedTag + ">"
	skippedNote  = "Messages of this group that were not answered, oldest first"
)

// Block returns the text to put in front of a prompt, "" without messages. left is how
// many older ones are not among them.
func Block(messages []state.Decision, left int) string {
	if len(messages) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(payload.UntrustedHeader + "\n" + skippedOpen + "\n" + skippedNote)
	if left > 0 {
		b.WriteString(" (" + strconv.Itoa(left) + " older left out)")
	}
	b.WriteByte(':')
	for _, m := range messages {
		b.WriteString("\n- " + text.Escape(speaker(m.Sender)) + ": " + text.Escape(text.Cut(text.OneLine(m.Text, len(m.Text)), maxText)))
	}
	b.WriteString("\n" + skippedClose)
	return b.String()
}
