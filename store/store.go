package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"intenthint/subjects"
)

var (
	// ErrNotFound reports a session that the store does not have.
	ErrNotFound = errors.New("no such session")
	// ErrCorrupt reports a document that is not one (not JSON, or of another
	// shape).
	ErrCorrupt = errors.New("corrupt session document")
	// ErrNoSession reports a fact with neither a session id nor a session key;
	// such facts are not tracked (contract §8).
	ErrNoSession = errors.New("fact names no session")
	// ErrMixedSessions reports facts of several sessions in one Apply.
	ErrMixedSessions = errors.New("facts of several sessions")
)

// Applier folds facts into the stored sessions.
type Applier interface {
	// Apply folds facts of one session. When it returns nil they are stored;
	// facts that were applied before change nothing, so that a failed Apply is
	// repeated as a whole.
	Apply(ctx context.Context, facts []Fact) error
}

// Reader shows the stored sessions.
type Reader interface {
	// Get returns the session document, one JSON object as in contract §8, of
	// a session id, session key or token. A session that is not there is
	// [ErrNotFound].
	Get(ctx context.Context, session string) (json.RawMessage, error)
	// List returns all sessions, the one that changed last first.
	List(ctx context.Context) ([]Summary, error)
}

// Store is what every backend is; package storetest holds them to it.
type Store interface {
	Applier
	Reader
}

// Source is the event stream that sessions are made of. A store that knows none
// is new, or has lost what it held.
type Source struct {
	Stream string `json:"stream"`
	// Created tells a stream from one of the same name that was there before.
	Created time.Time `json:"created"`
}

// Rebuild is the turn of one process to make a store again from the stream.
type Rebuild struct {
	// Finish notes that the store contains all that was applied of the source.
	// It fails when the store was lost since the rebuild began.
	Finish func(ctx context.Context, source Source) error
	// Release ends the turn.
	Release func()
}

// Loss is a session that lacks events which were applied to it. It stands in
// the store until the session has been made again.
type Loss struct {
	// Token is the session's; Mark tells its losses apart.
	Token, Mark string
}

// Summary is a session in a list.
type Summary struct {
	// Token names the session in files and subjects.
	Token      string `json:"token"`
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	// RunID, Input and Intent are the current turn's; Intent is "" when it
	// could not be classified.
	RunID  string `json:"runId,omitempty"`
	Input  string `json:"input"`
	Intent string `json:"intent,omitempty"`
	// Turns counts those in the document, without retired ones.
	Turns int `json:"turns"`
	// Ended is the reason why the session ended; "" while it goes on.
	Ended string `json:"ended,omitempty"`
	// Updated is when the document changed last.
	Updated time.Time `json:"updated"`
}

// Name is what finds the session in a store: the id or key that its token is
// made of, else the token.
func (s Summary) Name() string {
	for _, name := range []string{s.SessionID, s.SessionKey} {
		if name != "" && subjects.Name(name) == s.Token {
			return name
		}
	}
	return s.Token
}

// Compare puts the session that changed last first.
func (s Summary) Compare(other Summary) int {
	return cmp.Or(other.Updated.Compare(s.Updated), strings.Compare(s.Token, other.Token))
}

// Summarize reads what a list shows from a session document; it does not check
// the turns of the history. Token and Updated are the backend's to fill in.
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
		s.RunID, s.Input, s.Intent = c.RunID, c.Input, c.Intent.Result.Intent
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
	} `json:"intent"`
}

// skipped stands for a value that is counted, not read.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// SessionOf returns the session of facts: the session id, else the session
// key. Its errors are [ErrNoSession] and [ErrMixedSessions].
func SessionOf(facts []Fact) (string, error) {
	session := ""
	for i, f := range facts {
		switch s := f.Session(); {
		case s == "":
			return "", fmt.Errorf("%w: event %q", ErrNoSession, f.ID)
		case i > 0 && s != session:
			return "", fmt.Errorf("%w: %q and %q", ErrMixedSessions, session, s)
		default:
			session = s
		}
	}
	return session, nil
}

// Tokens are the tokens that the name of a session may mean: that of an id or a
// key, else the token itself (contract §8).
func Tokens(session string) []string {
	out := []string{subjects.Name(session)}
	if IsToken(session) && session != out[0] {
		out = append(out, session)
	}
	return out
}

// IsToken says whether name can be the token of a session, full or shortened.
func IsToken(name string) bool {
	if name == "" || len(name) > subjects.MaxNameBytes {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '=' {
			return false
		}
	}
	return true
}

func shapeError(err error) error { return fmt.Errorf("%w: %w", ErrCorrupt, err) }
