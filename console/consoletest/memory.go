// Package consoletest holds experiences for tests of the pages.
package consoletest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"intenthint/console"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
)

// ErrBroken is the error of a [Memory] after [Memory.Break].
var ErrBroken = errors.New("broken")

// Memory is [console.Reviewed] in memory.
type Memory struct {
	mu      sync.Mutex
	entries []experience.Experience // newest first
	broken  bool
}

var _ console.Reviewed = (*Memory)(nil)

// Add adds an experience as the oldest one and returns its id.
func (m *Memory) Add(e experience.Experience) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.ID = experience.ID(e, true)
	if e.Status == "" {
		e.Status = experience.Pending
	}
	m.entries = append(m.entries, e)
	return e.ID
}

// Break makes every method fail.
func (m *Memory) Break() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = true
}

// Status returns the status of an experience, "" for an unknown one.
func (m *Memory) Status(id string) experience.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.index(id); i >= 0 {
		return m.entries[i].Status
	}
	return ""
}

func (m *Memory) index(id string) int {
	return slices.IndexFunc(m.entries, func(e experience.Experience) bool { return e.ID == id })
}

func (m *Memory) filter(limit int, keep func(experience.Experience) bool) ([]experience.Experience, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, ErrBroken
	}
	var out []experience.Experience
	for _, e := range m.entries {
		if keep(e) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// List implements [console.Experiences].
func (m *Memory) List(_ context.Context, status experience.Status, after experience.Experience, limit int) ([]experience.Experience, error) {
	come := after.ID == ""
	return m.filter(limit, func(e experience.Experience) bool {
		take := come && e.Status == status
		come = come || e.ID == after.ID
		return take
	})
}

// Waiting implements [console.Experiences].
func (m *Memory) Waiting(ctx context.Context) (int, error) {
	pending, err := m.List(ctx, experience.Pending, experience.Experience{}, knowhub.MaxShown)
	return len(pending), err
}

// Find implements [console.Experiences]: words are in the task.
func (m *Memory) Find(_ context.Context, words, agent string, limit int) ([]experience.Experience, error) {
	return m.filter(min(limit, knowhub.MaxShown), func(e experience.Experience) bool {
		return e.Status == experience.Approved && strings.Contains(e.Task, words) && (agent == "" || agent == e.AgentID)
	})
}

// Content implements [console.Experiences].
func (m *Memory) Content(_ context.Context, id string) (experience.Experience, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(id)
	switch {
	case m.broken:
		return experience.Experience{}, ErrBroken
	case i < 0:
		return experience.Experience{}, knowhub.ErrUnknown
	}
	return m.entries[i], nil
}

// Approve implements [console.Experiences].
func (m *Memory) Approve(_ context.Context, id, by string) (experience.Experience, error) {
	return m.decide(id, by, experience.Approved)
}

// Reject implements [console.Experiences].
func (m *Memory) Reject(_ context.Context, id, by string) (experience.Experience, error) {
	return m.decide(id, by, experience.Rejected)
}

// Withdraw implements [console.Experiences].
func (m *Memory) Withdraw(_ context.Context, id, by string) (experience.Experience, error) {
	return m.change(id, func(e *experience.Experience) error {
		if e.Status == experience.Pending {
			return knowhub.ErrDecided
		}
		e.Status, e.DecidedAt, e.DecidedBy = experience.Rejected, time.Now(), by
		return nil
	})
}

// Delete implements [console.Experiences].
func (m *Memory) Delete(ctx context.Context, id string) (experience.Experience, error) {
	e, err := m.Content(ctx, id)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.entries = slices.DeleteFunc(m.entries, func(e experience.Experience) bool { return e.ID == id })
	}
	return e, err
}

// Undo implements [console.Experiences].
func (m *Memory) Undo(_ context.Context, id, _ string) (experience.Experience, error) {
	return m.change(id, func(e *experience.Experience) error {
		if e.DecidedAt.IsZero() || time.Since(e.DecidedAt) >= knowhub.UndoTime {
			return knowhub.ErrDecided
		}
		e.Status, e.DecidedAt, e.DecidedBy = experience.Pending, time.Time{}, ""
		return nil
	})
}

func (m *Memory) decide(id, by string, status experience.Status) (experience.Experience, error) {
	return m.change(id, func(e *experience.Experience) error {
		switch {
		case e.Status == status:
			return nil
		case e.Status != experience.Pending && !e.DecidedAt.IsZero():
			return knowhub.ErrDecided
		}
		e.Status, e.DecidedAt, e.DecidedBy = status, time.Now(), by
		return nil
	})
}

func (m *Memory) change(id string, change func(*experience.Experience) error) (experience.Experience, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(id)
	switch {
	case m.broken:
		return experience.Experience{}, ErrBroken
	case i < 0:
		return experience.Experience{}, knowhub.ErrUnknown
	}
	return m.entries[i], change(&m.entries[i])
}
