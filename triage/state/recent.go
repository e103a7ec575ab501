package state

import (
	"context"
	"slices"
	"time"

	"intenthint/internal/kv"
	"intenthint/subjects"
)

// RecentMessage is one recent message of a group.
type RecentMessage struct {
	ID string `json:"id"`
	// At is when it was sent, in Unix milliseconds.
	At     int64  `json:"at"`
	Sender string `json:"sender,omitempty"`
	// Text is "" if only the time is kept.
	Text string `json:"text,omitempty"`
	// Bot reports whether it is the agent's own message.
	Bot bool `json:"bot,omitempty"`
	// Answered reports whether the agent was allowed to answer it, see
	// [Store.Answered].
	Answered bool `json:"answered,omitempty"`
}

// Keep is how much of a group is kept.
type Keep struct {
	// Texts is how many messages are kept with sender and text, People how many
	// messages of people are kept with their time. They are capped at [MaxTexts]
	// and [MaxPeople].
	Texts, People int
}

// Bounds of what is kept of a group, so that each message costs a write of a
// few kilobytes.
const (
	MaxTexts  = 20
	MaxPeople = 1000
	// Spare is how many more messages than requested are kept, so that a repeated
	// message, at another process or after a crash, still finds those before it
	// although later ones have been added.
	Spare = 8
)

// Forgotten is how long after a group's last message the messages before it are
// forgotten.
const Forgotten = time.Hour

type recent struct {
	Messages []RecentMessage `json:"messages"`
}

// Remember adds a message to the recent ones of its group and returns those
// before it, oldest first. A known message is not added again.
func (s *Store) Remember(ctx context.Context, group string, m RecentMessage, k Keep) (before []RecentMessage, err error) {
	err = change(ctx, s.recent, subjects.Name(group), func(doc *recent) (bool, error) {
		if i := slices.IndexFunc(doc.Messages, func(known RecentMessage) bool { return known.ID == m.ID && known.Bot == m.Bot }); i >= 0 {
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

// Answered records that the agent was allowed to answer a recent message. It
// does nothing if the message is not kept.
func (s *Store) Answered(ctx context.Context, group, messageID string) error {
	return change(ctx, s.recent, subjects.Name(group), func(doc *recent) (bool, error) {
		i := slices.IndexFunc(doc.Messages, func(m RecentMessage) bool { return m.ID == messageID && !m.Bot })
		if i < 0 || doc.Messages[i].Answered {
			return false, nil
		}
		doc.Messages[i].Answered = true
		return true, nil
	})
}

// Recent returns the recent messages of a group, as seen by a message sent now.
func (s *Store) Recent(ctx context.Context, group string, now time.Time) ([]RecentMessage, error) {
	doc, err := kv.Get[recent](ctx, s.recent, subjects.Name(group))
	if err != nil {
		return nil, err
	}
	return since(doc.V.Messages, now.UnixMilli()), nil
}

// since returns the messages, or none if the last one is too old. After a clock
// was set back, none is too old.
func since(messages []RecentMessage, at int64) []RecentMessage {
	if n := len(messages); n > 0 && at-messages[n-1].At >= Forgotten.Milliseconds() {
		return nil
	}
	return messages
}

// trim keeps the newest messages: those that k requires and the spare ones.
// They are in order of arrival, so that a clock that was set back does not
// displace newer messages.
func trim(messages []RecentMessage, k Keep) []RecentMessage {
	k.Texts, k.People = capacity(k.Texts, MaxTexts), capacity(k.People, MaxPeople)
	var out []RecentMessage
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

// capacity returns how many messages are kept if n are required.
func capacity(n, most int) int {
	if n <= 0 {
		return 0
	}
	return min(n, most) + Spare
}
