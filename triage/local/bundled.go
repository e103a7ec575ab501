package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"intenthint/triage/testdata"
)

// MaxMarks is how many marks, the newest ones, a gate is trained on in addition
// to the labelled set.
const MaxMarks = 2000

// forgotten is the silence after which a group's messages are forgotten
// (contract §11).
const forgotten = time.Hour

var bundled = sync.OnceValue(func() []Example {
	examples, err := Read(testdata.Groups)
	if err != nil {
		panic(err) // embedded, and read by a test
	}
	return examples
})

// Bundled returns the labelled set of triage/testdata. The caller must not
// modify it.
func Bundled() []Example { return bundled() }

// New returns a gate that is trained on the labelled set and on the newest
// [MaxMarks] of the marks, which are ordered from old to new.
func New(marks []Example) *Gate {
	return Train(slices.Concat(Bundled(), marked(marks[max(0, len(marks)-MaxMarks):])))
}

func marked(examples []Example) []Example {
	examples = slices.Clone(examples)
	for i := range examples {
		examples[i].Mark = true
	}
	return examples
}

// line is a line of the labelled set, see triage/testdata/README.md.
type line struct {
	Group, Sender, Text, BotName, Label, Lang string
	At                                        int64
	Bot                                       bool
}

// Read returns the labelled messages of all *.jsonl files in the root of a file
// system, by file name. Each has the messages before it, as far as the gate
// would know them: at most [MaxRecent], and none from before an hour of
// silence.
func Read(files fs.FS) ([]Example, error) {
	names, err := fs.Glob(files, "*.jsonl")
	if err != nil {
		return nil, err
	}
	var examples []Example
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		group, err := readGroup(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		examples = append(examples, group...)
	}
	return examples, nil
}

func readGroup(data []byte) ([]Example, error) {
	var examples []Example
	var recent []Earlier
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		at := time.UnixMilli(l.At)
		if l.Group == "" { // a message without a thread
			at, recent = time.Time{}, nil
		}
		if len(recent) > 0 && at.Sub(recent[len(recent)-1].At) > forgotten {
			recent = nil
		}
		switch {
		case l.Bot:
		case l.Label != "respond" && l.Label != "skip":
			return nil, fmt.Errorf("line %d: label %q is not respond or skip", n, l.Label)
		default:
			examples = append(examples, Example{
				Input: Input{
					Group: l.Group, Text: l.Text, Sender: l.Sender, BotName: l.BotName, At: at,
					Recent: recent[max(0, len(recent)-MaxRecent):len(recent):len(recent)],
				},
				Respond: l.Label == "respond", Weight: 1, Language: l.Lang,
			})
		}
		recent = append(recent, Earlier{Sender: l.Sender, Text: l.Text, At: at, Bot: l.Bot})
	}
	return examples, lines.Err()
}
