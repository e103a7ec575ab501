package faults

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Document is a session with all its turns.
type Document struct {
	// Turns are oldest first, and include those of the .history.jsonl file.
	Turns []Turn
	// Ended is when the session ended, in Unix milliseconds; 0 if it did not.
	Ended int64
}

// Turn is one turn of a session.
type Turn struct {
	Run, Input    string
	Classified    bool
	Calls         []Call
	Result, Error string
	// Start and End are Unix milliseconds; an End of 0 means that it has none.
	Start, End int64
}

// Call is a tool call of a turn.
type Call struct {
	ID, Result, Error string
}

// fileTurn is a turn in a session file (contract §8).
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
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
	} `json:"timestamps"`
}

// Documents reads a directory of session files, by session id. It fails when
// one of them cannot be read.
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
			At time.Time `json:"at"`
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
		d.Turns = append(d.Turns, t.turn())
	}
	if file.Ended != nil {
		d.Ended = file.Ended.At.UnixMilli()
	}
	return file.SessionID, d, nil
}

// readArchive returns the retired turns, oldest first. A process that dies
// between writing a turn to the archive and removing it from the session file
// leaves it in both: the session file counts, and of the lines of a run the last.
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
			return nil, fmt.Errorf("line of the history: %w", err)
		}
		last[t.RunID] = t
	}
	for _, t := range shown {
		delete(last, t.RunID)
	}
	return slices.SortedFunc(maps.Values(last), func(a, b fileTurn) int {
		return cmp.Or(a.Timestamps.Start.Compare(b.Timestamps.Start), strings.Compare(a.RunID, b.RunID))
	}), nil
}

func (t fileTurn) turn() Turn {
	out := Turn{Run: t.RunID, Input: t.Input, Classified: t.Intent.Result != nil, Result: t.Result, Error: t.Error}
	for _, c := range t.ToolCalls {
		out.Calls = append(out.Calls, Call{ID: c.ToolCallID, Result: c.Result, Error: c.Error})
	}
	out.Start = t.Timestamps.Start.UnixMilli()
	if !t.Timestamps.End.IsZero() {
		out.End = t.Timestamps.End.UnixMilli()
	}
	return out
}
