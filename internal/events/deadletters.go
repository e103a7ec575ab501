package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/subjects"
)

// DeadLetter is an event that could not be decoded or applied.
type DeadLetter struct {
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"`
	Hook     string    `json:"hook"`
	// Reason is the error, Subject the original subject of the event.
	Reason  string `json:"reason"`
	Subject string `json:"subject"`
	// Durable is the durable of the sink that could not apply the event; "" in
	// dead letters of older versions.
	Durable string `json:"durable,omitempty"`
	// MsgID is the Nats-Msg-Id of its first publication, "" for none.
	MsgID string `json:"msgId,omitempty"`
	Body  []byte `json:"-"`

	traceparent string
}

// Errors of dead letters.
var (
	// ErrNoDeadLetter reports a sequence without a dead letter.
	ErrNoDeadLetter = errors.New("no such dead letter")
	// ErrNotAnEvent reports a dead letter whose subject is not an event subject.
	ErrNotAnEvent = errors.New("not an event subject")
)

// Selection selects dead letters; the zero value selects all of them.
type Selection struct {
	// Hook, if not nil, selects by hook; "" selects letters whose hook is
	// unknown.
	Hook *string
	// Sequences, if any, selects by sequence in the dead-letter stream.
	Sequences []uint64
	// After, without Sequences, selects letters with a greater sequence.
	// [DeadLetters.Count] ignores it.
	After uint64
}

// DeadLetters is the dead-letter stream.
type DeadLetters struct {
	js     jetstream.JetStream
	layout bus.Layout
	stream jetstream.Stream // nil if it does not exist
}

// OpenDeadLetters looks up the dead-letter stream. A missing stream counts as
// empty.
func OpenDeadLetters(ctx context.Context, js jetstream.JetStream, l bus.Layout) (*DeadLetters, error) {
	s, err := bus.FindStream(ctx, js, l.DeadLetterStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return &DeadLetters{js: js, layout: l}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", l.DeadLetterStream(), err)
	}
	return &DeadLetters{js: js, layout: l, stream: s}, nil
}

// subject matches the letters of a selection.
func (d *DeadLetters) subject(s Selection) string {
	if s.Hook != nil {
		return d.layout.Prefix.DeadLetter(*s.Hook)
	}
	return d.layout.Prefix.DeadLetters()
}

// Count returns the current number of letters in a selection.
func (d *DeadLetters) Count(ctx context.Context, s Selection) (int, error) {
	switch {
	case len(s.Sequences) > 0:
		return len(s.Sequences), nil
	case d.stream == nil:
		return 0, nil
	}
	info, err := d.info(ctx, jetstream.WithSubjectFilter(d.subject(s)))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, letters := range info.State.Subjects {
		n += int(letters)
	}
	return n, nil
}

func (d *DeadLetters) info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	info, err := bus.Call(ctx, d.js.Conn(), func(ctx context.Context) (*jetstream.StreamInfo, error) { return d.stream.Info(ctx, opts...) })
	if err != nil {
		return nil, d.failed("read", err)
	}
	return info, nil
}

// Each calls yield for every letter of a selection, oldest first, until it
// returns false. Letters may be added or removed meanwhile. Missing sequences
// are reported at the end as [ErrNoDeadLetter].
func (d *DeadLetters) Each(ctx context.Context, s Selection, yield func(DeadLetter) bool) error {
	if len(s.Sequences) > 0 {
		return d.each(ctx, s.Sequences, yield)
	}
	if d.stream == nil {
		return nil
	}
	info, err := d.info(ctx)
	if err != nil {
		return err
	}
	// Letters added from now on are left out, above all replayed ones that
	// fail again.
	last := info.State.LastSeq
	for next := max(info.State.FirstSeq, s.After+1); next <= last; {
		m, err := d.get(ctx, next, jetstream.WithGetMsgSubject(d.subject(s)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return d.failed("read", err)
		}
		if m.Sequence > last || !yield(d.letter(m)) {
			return nil
		}
		next = m.Sequence + 1
	}
	return nil
}

func (d *DeadLetters) each(ctx context.Context, sequences []uint64, yield func(DeadLetter) bool) error {
	var missing []error
	for _, n := range slices.Compact(slices.Sorted(slices.Values(sequences))) {
		m, err := d.get(ctx, n)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			missing = append(missing, fmt.Errorf("%w: %d", ErrNoDeadLetter, n))
		case err != nil:
			return d.failed("read", err)
		case !yield(d.letter(m)):
			return errors.Join(missing...)
		}
	}
	return errors.Join(missing...)
}

func (d *DeadLetters) get(ctx context.Context, sequence uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if d.stream == nil {
		return nil, jetstream.ErrMsgNotFound
	}
	return bus.Call(ctx, d.js.Conn(), func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return d.stream.GetMsg(ctx, sequence, opts...)
	})
}

func (d *DeadLetters) letter(m *jetstream.RawStreamMsg) DeadLetter {
	hook, _ := subjects.DecodeToken(strings.TrimPrefix(m.Subject, string(d.layout.Prefix)+".dlq."))
	return DeadLetter{
		Sequence:    m.Sequence,
		Time:        m.Time,
		Hook:        hook,
		Reason:      m.Header.Get(subjects.HeaderDLQReason),
		Subject:     m.Header.Get(subjects.HeaderDLQSubject),
		Durable:     m.Header.Get(subjects.HeaderDLQDurable),
		MsgID:       m.Header.Get(subjects.HeaderDLQMsgID),
		Body:        m.Data,
		traceparent: m.Header.Get(subjects.HeaderTraceparent),
	}
}

// Replayable returns an error that wraps [ErrNotAnEvent] if the letter cannot be
// an event of this layout.
func (d *DeadLetters) Replayable(letter DeadLetter) error {
	// A server accepts literal wildcards in published subjects, so they are valid.
	valid := server.IsValidSubject(letter.Subject) && !strings.ContainsAny(letter.Subject, " \t")
	if !valid || !server.SubjectMatchesFilter(letter.Subject, d.layout.Prefix.Events()) {
		return fmt.Errorf("%w: %q", ErrNotAnEvent, letter.Subject)
	}
	return nil
}

// replayTime bounds the publication of a letter.
const replayTime = 5 * time.Second

// Replay publishes a letter to its original subject, with its body unchanged, and
// removes it once the event stream has stored it. The Nats-Msg-Id is derived from
// the letter's stream, sequence and time, so that a repeated or concurrent replay
// is one event; the original id is in another header (see [subjects.EventID]). The event
// reaches every sink, not only the one that failed: sinks must be idempotent. A
// letter that fails again becomes a new one.
func (d *DeadLetters) Replay(ctx context.Context, letter DeadLetter) error {
	if err := d.Replayable(letter); err != nil {
		return err
	}
	m := &nats.Msg{Subject: letter.Subject, Data: letter.Body, Header: nats.Header{}}
	// The time distinguishes the letter from one of a recreated stream.
	time36 := strconv.FormatInt(letter.Time.UnixNano(), 36)
	m.Header.Set(subjects.HeaderMsgID, fmt.Sprintf("replay-%s-%d-%s", d.layout.DeadLetterStream(), letter.Sequence, time36))
	m.Header.Set(subjects.HeaderDLQMsgID, letter.MsgID)
	if letter.traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, letter.traceparent)
	}
	publish, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	if _, err := d.js.PublishMsg(publish, m, jetstream.WithExpectStream(d.layout.Stream)); err != nil {
		return fmt.Errorf("publish %s: %w", letter.Subject, err)
	}
	return d.Remove(ctx, letter.Sequence)
}

// Remove deletes a letter and makes the server overwrite it in its files. A letter that
// is already deleted is not an error.
func (d *DeadLetters) Remove(ctx context.Context, sequence uint64) error {
	if err := erase(ctx, d.js, d.stream, sequence); err != nil {
		return d.failed("remove from", err)
	}
	return nil
}

func (d *DeadLetters) failed(what string, err error) error {
	return fmt.Errorf("%s %s: %w", what, d.layout.DeadLetterStream(), err)
}

// oneLine makes text valid as a header value.
func oneLine(s string) string {
	const most = 500 // bytes: an error, not a document
	s = text.Fold(s)
	if len(s) > most {
		s = text.CutBytes(s, most) + "…"
	}
	return s
}
