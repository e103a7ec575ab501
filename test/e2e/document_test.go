//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// document is a session file (contract §8).
type document struct {
	SessionID  string         `json:"sessionId"`
	SessionKey string         `json:"sessionKey"`
	AgentID    string         `json:"agentId"`
	Current    *documentTurn  `json:"current"`
	History    []documentTurn `json:"history"`
	Ended      *struct {
		Reason string `json:"reason"`
		At     string `json:"at"`
	} `json:"ended"`
}

type documentTurn struct {
	RunID  string `json:"runId"`
	Input  string `json:"input"`
	Intent *struct {
		Input []struct {
			Role string `json:"role"`
			Text string `json:"text"`
		} `json:"input"`
		Result *struct {
			Intent     string   `json:"intent"`
			Name       string   `json:"name"`
			Reason     string   `json:"reason"`
			Goal       string   `json:"goal"`
			Confidence *float64 `json:"confidence"`
			Complexity string   `json:"complexity"`
			Suggestion string   `json:"suggestion"`
			Source     string   `json:"source"`
			Model      string   `json:"model"`
			ElapsedMs  *float64 `json:"elapsedMs"`
		} `json:"result"`
	} `json:"intent"`
	SkillsUsed []struct {
		Name string `json:"name"`
		Path string `json:"path"`
	} `json:"skillsUsed"`
	ToolCalls []struct {
		ToolCallID string          `json:"toolCallId"`
		Name       string          `json:"name"`
		Params     json.RawMessage `json:"params"`
		Result     string          `json:"result"`
		Error      string          `json:"error"`
		DurationMs float64         `json:"durationMs"`
	} `json:"toolCalls"`
	Result     string `json:"result"`
	Error      string `json:"error"`
	Timestamps struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"timestamps"`
}

// toolCallIDs returns the ids of a turn's calls, in order.
func (t documentTurn) toolCallIDs() []string {
	out := []string{}
	for _, c := range t.ToolCalls {
		out = append(out, c.ToolCallID)
	}
	return out
}

// turn returns the turn of a run, current or past, and whether there is one.
func (d document) turn(run string) (documentTurn, bool) {
	if d.Current != nil && d.Current.RunID == run {
		return *d.Current, true
	}
	for _, t := range d.History {
		if t.RunID == run {
			return t, true
		}
	}
	return documentTurn{}, false
}

func (s *system) sessionFile(session string) string {
	return filepath.Join(s.sessionsDir(), token(session)+".json")
}

// document reads a session file, and reports whether there is one. It must be
// valid JSON at any time.
func (s *system) document(session string) (document, bool) {
	s.t.Helper()
	data, err := os.ReadFile(s.sessionFile(session))
	if errors.Is(err, os.ErrNotExist) {
		return document{}, false
	}
	require.NoError(s.t, err)
	var d document
	dec := json.NewDecoder(bytes.NewReader(data))
	require.NoError(s.t, dec.Decode(&d), "session file of %s:\n%s", session, data)
	return d, true
}

// shows waits until a session file meets want, and returns it. It fails the test
// when that takes too long.
func (s *system) shows(session string, within time.Duration, what string, want func(document) bool) document {
	s.t.Helper()
	var d document
	until := time.Now().Add(within)
	for {
		var there bool
		if d, there = s.document(session); there && want(d) {
			return d
		}
		if time.Now().After(until) {
			text, _ := os.ReadFile(s.sessionFile(session))
			require.FailNow(s.t, "session "+session+" does not show "+what, "after %s:\n%s", within, text)
		}
		time.Sleep(tick)
	}
}

// showsRun waits until a session has a turn of the run, and returns it.
func (s *system) showsRun(session, run string, within time.Duration) documentTurn {
	s.t.Helper()
	d := s.shows(session, within, "run "+run, func(d document) bool {
		_, there := d.turn(run)
		return there
	})
	turn, _ := d.turn(run)
	return turn
}

// sessions returns the names of the session files.
func (s *system) sessions() []string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.sessionsDir(), "*.json"))
	require.NoError(s.t, err)
	out := []string{}
	for _, p := range paths {
		out = append(out, filepath.Base(p))
	}
	return out
}

// sameTime reports whether a time in a session file is that of Unix milliseconds.
func sameTime(text string, ms int64) bool {
	at, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && at.UnixMilli() == ms
}
