package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"intenthint/subjects"
)

// Summary is a session in a list.
type Summary struct {
	// Token is the name of the session in files and subjects.
	Token      string `json:"token"`
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	// RunID, Input and Intent belong to the current turn; Intent is "" if the turn
	// could not be classified.
	RunID  string `json:"runId,omitempty"`
	Input  string `json:"input"`
	Intent string `json:"intent,omitempty"`
	// Skip is why the current turn got no hint, "" if it got one or none was requested.
	Skip string `json:"-"`
	// Turns counts those in the document, without retired ones.
	Turns int `json:"turns"`
	// Ended is the reason why the session ended; "" while it goes on.
	Ended string `json:"ended,omitempty"`
	// Updated is when the document last changed.
	Updated time.Time `json:"updated"`
}

// Name returns a name to find the session by: the id or key that its token is
// made from, else the token.
func (s Summary) Name() string {
	for _, name := range []string{s.SessionID, s.SessionKey} {
		if name != "" && subjects.Name(name) == s.Token {
			return name
		}
	}
	return s.Token
}

// Compare orders the most recently changed session first.
func (s Summary) Compare(other Summary) int {
	return cmp.Or(other.Updated.Compare(s.Updated), strings.Compare(s.Token, other.Token))
}

// Summarize reads a summary from a session document without checking the turns
// of the history. The backend fills in Token and Updated.
func Summarize(document []byte) (Summary, error) {
	var in struct {
		head
		Current *summarized `json:"current"`
		History []skipped   `json:"history"`
		Ended   struct {
			Reason string `json:"reason"`
		} `json:"ended"`
	}
	var current []byte
	turns := 0
	small, ok := split(document, func(isCurrent bool, rest []byte) ([]byte, bool) {
		n := valueLen(rest)
		if isCurrent {
			current = rest[:n]
		} else if n > 0 {
			turns++
		}
		return rest[n:], n > 0
	})
	var err error
	if ok {
		err = json.Unmarshal(small, &in)
		if err == nil && current != nil {
			err = json.Unmarshal(current, &in.Current)
		}
	} else {
		err = json.Unmarshal(document, &in)
		turns = len(in.History)
	}
	if trimmed := bytes.TrimSpace(document); err == nil && (len(trimmed) == 0 || trimmed[0] != '{') {
		err = errors.New("not an object")
	}
	if err != nil {
		return Summary{}, shapeError(err)
	}
	s := Summary{
		SessionID:  in.SessionID,
		SessionKey: in.SessionKey,
		AgentID:    in.AgentID,
		Turns:      turns,
		Ended:      in.Ended.Reason,
	}
	if c := in.Current; c != nil {
		s.Turns++
		s.RunID, s.Input, s.Intent, s.Skip = c.RunID, c.Input, c.Intent.Result.Intent, c.Intent.Skip
	}
	return s, nil
}

// summarized is what a list shows of the current turn.
type summarized struct {
	RunID  string `json:"runId"`
	Input  string `json:"input"`
	Intent struct {
		Result struct {
			Intent string `json:"intent"`
		} `json:"result"`
		Skip string `json:"skip"`
	} `json:"intent"`
}

// skipped is a value that is counted but not read.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }
