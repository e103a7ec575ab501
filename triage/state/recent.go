package state

import (
	"context"
	"slices"
	"time"

	"intenthint/internal/bus"
	"intenthint/subjects"
)

// Said is one recent message of a group.
type Said struct {
	ID string `json:"id"`
	// At is when it was sent, in Unix milliseconds.
	At     int64  `json:"at"`
	Sender string `json:"sender,omitempty"`
	// Text is "" where only the time is kept.
	Text string `json:"text,omitempty"`
	// Bot: it is the agent's own.
	Bot bool `json:"bot,omitempty"`
	// Answered: the agent was let answer it, see [Store.Answered].
	Answered bool `json:"answered,omitempty"`
}

// Keep is how much of a group is kept.
type Keep struct {
	// Texts is how many messages keep sender and text, People how many of people
	// keep their time. More than [MaxTexts] and [MaxPeople] are those.
	Texts, People int
}

// Bounds of what is kept of a group, so that one message costs a write of some
// kilobytes.
const (
	MaxTexts  = 20
	MaxPeople = 1000
	// Spare is how many more than asked for are kept, so that a message which comes
	// again, to another process or after a crash, finds those before it although
	// it and later ones have been added since.
	Spare = 8
)

// Forgotten is how long after a group's last message the messages before it are
// forgotten.
const Forgotten = time.Hour

type recent struct {
	Messages []Said `json:"messages"`
}

// Remember adds a message to the recent ones of its group and returns those
// before it, oldest first. A message that is known already is not added again.
func (s *Store) Remember(ctx context.Context, group string, m Said, k Keep) (before []Said, err error) {
	err = change(ctx, s.recent, subjects.Name(group), func(doc *recent) (bool, error) {
		if i := slices.IndexFunc(doc.Messages, func(known Said) bool { return known.ID == m.ID && known.Bot == m.Bot }); i >= 0 {
			before = doc.Messages[:i]
			return false, nil
		}
		doc.Messages = since(doc.Messages, m.At)
		before = slices.Clone(doc.Messages)
		doc.Messages = trim(append(doc.Messages, m), k)
		return true, nil
	})
	return before, err
}

// Answered notes that the agent was let answer a recent message. It does nothing
// when the message is not kept.
func (s *Store) Answered(ctx context.Context, group, messageID string) error {
	return change(ctx, s.recent, subjects.Name(group), func(doc *recent) (bool, error) {
		i := slices.IndexFunc(doc.Messages, func(m Said) bool { return m.ID == messageID && !m.Bot })
		if i < 0 || doc.Messages[i].Answered {
			return false, nil
		}
		doc.Messages[i].Answered = true
		return true, nil
	})
}

// Recent returns the recent messages of a group as a message that is sent now
// would find them.
func (s *Store) Recent(ctx context.Context, group string, now time.Time) ([]Said, error) {
	doc, err := bus.Get[recent](ctx, s.recent, subjects.Name(group))
	if err != nil {
		return nil, err
	}
	return since(doc.V.Messages, now.UnixMilli()), nil
}

// since returns the messages, or none when the last one is too old. A clock that
// was set back makes none too old.
func since(messages []Said, at int64) []Said {
	if n := len(messages); n > 0 && at-messages[n-1].At >= Forgotten.Milliseconds() {
		return nil
	}
	return messages
}

// trim keeps what k asks for and the spare ones, the newest of it. The order is
// that of arrival, so that a clock that was set back does not displace newer
// messages.
func trim(messages []Said, k Keep) []Said {
	k.Texts, k.People = kept(k.Texts, MaxTexts), kept(k.People, MaxPeople)
	var out []Said
	texts, people := 0, 0
	for _, m := range slices.Backward(messages) {
		withText := m.Text != "" && texts < k.Texts
		counts := !m.Bot && people < k.People
		if withText {
			texts++
		} else {
			m.Text, m.Sender = "", ""
		}
		if counts {
			people++
		}
		if withText || counts {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return out
}

// kept is how many messages are kept for n that are asked for.
func kept(n, most int) int {
	if n <= 0 {
		return 0
	}
	return min(n, most) + Spare
}
