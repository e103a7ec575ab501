package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Document is a session with all its turns, also those that were moved to its
// .history.jsonl, oldest first.
type Document struct {
	Turns []Turn
	// Ended is when the session ended, in Unix milliseconds, 0 when it did not.
	Ended int64
}

// Turn is one turn of a session.
type Turn struct {
	Run, Input    string
	Classified    bool
	Calls         []Call
	Result, Error string
	// Start and End are Unix milliseconds, 0 for none.
	Start, End int64
}

// Call is a tool call of a turn.
type Call struct {
	ID, Result, Error string
}

// fileTurn is a turn as it stands in a file (contract §8).
type fileTurn struct {
	RunID  string `json:"runId"`
	Input  string `json:"input"`
	Intent struct {
		Result *struct {
			Intent string `json:"intent"`
		} `json:"result"`
	} `json:"intent"`
	ToolCalls []struct {
		ToolCallID string `json:"toolCallId"`
		Result     string `json:"result"`
		Error      string `json:"error"`
	} `json:"toolCalls"`
	Result     string `json:"result"`
	Error      string `json:"error"`
	Timestamps struct {
		Start string `json:"start"`
		End   string `json:"end"`
	} `json:"timestamps"`
}

// Documents reads a directory of session files by session id. A file that is
// none is an error.
func Documents(dir string) (map[string]Document, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Document, len(paths))
	for _, path := range paths {
		session, d, err := readDocument(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		if _, twice := out[session]; twice {
			return nil, fmt.Errorf("%s: session %s has two files", filepath.Base(path), session)
		}
		out[session] = d
	}
	return out, nil
}

func readDocument(path string) (session string, d Document, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", d, err
	}
	var file struct {
		SessionID string     `json:"sessionId"`
		Current   *fileTurn  `json:"current"`
		History   []fileTurn `json:"history"`
		Ended     *struct {
			At string `json:"at"`
		} `json:"ended"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", d, err
	}
	turns := file.History
	if file.Current != nil {
		turns = append(turns, *file.Current)
	}
	archived, err := readArchive(strings.TrimSuffix(path, ".json")+".history.jsonl", turns)
	if err != nil {
		return "", d, err
	}
	for _, t := range append(archived, turns...) {
		turn, err := t.turn()
		if err != nil {
			return "", d, err
		}
		d.Turns = append(d.Turns, turn)
	}
	if file.Ended != nil {
		if d.Ended, err = millis(file.Ended.At); err != nil {
			return "", d, err
		}
	}
	return file.SessionID, d, nil
}

// readArchive returns the retired turns in the order of their beginnings. The
// last line of a run counts, and the session file more than that: a process
// that dies between the two writes repeats a turn.
func readArchive(path string, shown []fileTurn) ([]fileTurn, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last := map[string]fileTurn{}
	for line := range bytes.Lines(data) {
		var t fileTurn
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("a line of the history: %w", err)
		}
		last[t.RunID] = t
	}
	for _, t := range shown {
		delete(last, t.RunID)
	}
	return inOrder(last), nil
}

func (t fileTurn) turn() (Turn, error) {
	out := Turn{Run: t.RunID, Input: t.Input, Classified: t.Intent.Result != nil, Result: t.Result, Error: t.Error}
	for _, c := range t.ToolCalls {
		out.Calls = append(out.Calls, Call{ID: c.ToolCallID, Result: c.Result, Error: c.Error})
	}
	var err error
	if out.Start, err = millis(t.Timestamps.Start); err != nil {
		return out, fmt.Errorf("run %s: %w", t.RunID, err)
	}
	if t.Timestamps.End != "" {
		if out.End, err = millis(t.Timestamps.End); err != nil {
			return out, fmt.Errorf("run %s: %w", t.RunID, err)
		}
	}
	return out, nil
}

func millis(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	return at.UnixMilli(), err
}
