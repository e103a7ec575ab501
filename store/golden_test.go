package store_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

var update = flag.Bool("update", false, "write the golden files anew")

// captured turns the hook calls of a captured turn into facts; a request for a
// hint stands for the turn_begun that follows it.
func captured(t *testing.T, name string) (facts []store.Fact) {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "testdata", "openclaw", name+".jsonl"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for i := 0; scanner.Scan(); i++ {
		var line struct {
			Hook     string          `json:"hook"`
			OffsetMs int64           `json:"offsetMs"`
			Event    json.RawMessage `json:"event"`
			Ctx      json.RawMessage `json:"ctx"`
		}
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &line))
		ctx, err := payload.DecodeContext(line.Ctx)
		require.NoError(t, err)
		f := store.Fact{
			ID:         fmt.Sprintf("event-%02d", i),
			TS:         1_795_215_559_799 + line.OffsetMs,
			RunID:      ctx.RunID,
			SessionID:  ctx.SessionID,
			SessionKey: ctx.SessionKey,
			AgentID:    ctx.Agent(),
		}
		switch line.Hook {
		case subjects.HookBeforePromptBuild:
			e, err := payload.DecodeBeforePromptBuild(line.Event)
			require.NoError(t, err)
			f.Begin = &store.Begin{
				Input:        e.Prompt,
				Conversation: []payload.Turn{{Role: "user", Text: "hello"}, {Role: "assistant", Text: "<hi> & welcome"}},
				Result: &payload.Classification{
					Intent: "READ", Name: "Read", Reason: "asks for a note", Goal: "know it", Confidence: 0.9,
					Complexity: "low", Source: payload.SourceLocal, ElapsedMs: 0.25,
				},
			}
		case subjects.HookAfterToolCall:
			e, err := payload.DecodeAfterToolCall(line.Event)
			require.NoError(t, err)
			f.RunID = e.RunID
			f.Call = &store.Call{
				ToolCallID: e.ToolCallID, Name: e.ToolName, Params: e.Params, Result: e.Text,
				Error: e.Error, DurationMs: e.DurationMs,
			}
		case subjects.HookAgentEnd:
			e, err := payload.DecodeAgentEnd(line.Event)
			require.NoError(t, err)
			f.RunID = e.RunID
			f.End = &store.End{}
			f.End.Result, f.End.Error = e.Outcome()
		case subjects.HookSessionEnd:
			e, err := payload.DecodeSessionEnd(line.Event)
			require.NoError(t, err)
			f.Close = &store.Close{Reason: e.Reason}
		default:
			continue
		}
		facts = append(facts, f)
	}
	require.NoError(t, scanner.Err())
	return facts
}

func TestCapturedTurns(t *testing.T) {
	for _, name := range []string{"turn-with-tool", "turn-model-error-retry"} {
		facts := captured(t, name)
		golden := func(t *testing.T, file string, facts []store.Fact) {
			t.Helper()
			d := &store.Document{}
			for _, f := range facts {
				d.Apply(f)
			}
			raw, err := d.Session()
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, raw, "", "  "))
			got.WriteByte('\n')
			path := filepath.Join("testdata", file+".golden.json")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		}
		t.Run(name, func(t *testing.T) { golden(t, name, facts) })
		t.Run(name+" backwards", func(t *testing.T) {
			backwards := make([]store.Fact, 0, len(facts))
			for _, fact := range slices.Backward(facts) {
				backwards = append(backwards, fact)
			}
			golden(t, name, backwards)
		})
		t.Run(name+" with feedback", func(t *testing.T) {
			judged := slices.Clone(facts)
			begun := facts[slices.IndexFunc(facts, func(f store.Fact) bool { return f.Begin != nil })]
			for i, said := range []store.Feedback{{Verdict: "wrong", Intent: "MEMORY_LOOKUP", By: "<ada> & bob"}, {Verdict: "right"}} {
				judged = append(judged, store.Fact{
					ID: fmt.Sprint("feedback-", i), TS: begun.TS + 60_000 - int64(i), RunID: begun.RunID, SessionID: begun.SessionID, Feedback: &said,
				})
			}
			golden(t, name+"-feedback", judged)
		})
		t.Run(name+" up to its first end", func(t *testing.T) {
			for i, f := range facts {
				if f.End != nil {
					golden(t, name+"-first-end", facts[:i+1])
					return
				}
			}
			t.Fatal("no agent_end was captured")
		})
	}
}
