//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// previousCommit is the release before this one.
const previousCommit = "542f6d2"

// previousBinary builds the release before this one from the history, once a machine. It
// skips the test where the history ends earlier, as in a shallow clone.
func previousBinary(t *testing.T) string {
	t.Helper()
	path, err := buildPrevious()
	if errors.Is(err, errNoHistory) {
		t.Skipf("skipped: the history has no commit %s, the previous release (a shallow clone?)", previousCommit)
	}
	require.NoError(t, err)
	return path
}

var errNoHistory = errors.New("not in the history")

var buildPrevious = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if exec.Command("git", "-C", root, "cat-file", "-e", previousCommit+"^{commit}").Run() != nil {
		return "", errNoHistory
	}
	path := filepath.Join(root, ".cache", "previous", previousCommit)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	source, err := os.MkdirTemp("", "intenthint-previous-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(source) //nolint:errcheck // a temporary directory
	files, err := exec.Command("git", "-C", root, "archive", previousCommit).Output()
	if err != nil {
		return "", err
	}
	if err := unpack(bytes.NewReader(files), source); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", path+".new", "./cmd/consumer")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, os.Rename(path+".new", path)
})

func unpack(r io.Reader, dir string) error {
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(files)
		path := filepath.Join(dir, filepath.FromSlash(h.Name)) //nolint:gosec // of this repository
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			return err
		}
	}
}

// serveBinary starts another program as a process of the system.
func (s *system) serveBinary(path string, inAll int) *process {
	s.t.Helper()
	cmd, stdout, stderr := s.command()
	cmd.Path, cmd.Args[0] = path, path
	p := launch(s.t, cmd, stdout, stderr)
	s.ready(inAll, p)
	return p
}

// recorded is what a test of versions reads of a document.
type recorded struct {
	SessionID string         `json:"sessionId"`
	Current   recordedTurn   `json:"current"`
	History   []recordedTurn `json:"history"`
}

type recordedTurn struct {
	RunID  string `json:"runId"`
	Intent struct {
		Result *struct{} `json:"result"`
		Skip   string    `json:"skip"`
	} `json:"intent"`
	ToolCalls []struct {
		ToolCallID string `json:"toolCallId"`
	} `json:"toolCalls"`
	Result   string `json:"result"`
	Feedback struct {
		Verdict string `json:"verdict"`
	} `json:"feedback"`
	AgentUse []struct {
		ID string `json:"id"`
	} `json:"agentUse"`
}

// line is the turn in one line.
func (r recordedTurn) line() string {
	var calls, used []string
	for _, c := range r.ToolCalls {
		calls = append(calls, c.ToolCallID)
	}
	for _, u := range r.AgentUse {
		used = append(used, u.ID)
	}
	slices.Sort(used)
	return fmt.Sprintf("%s classified=%t skip=%s calls=%v result=%s feedback=%s used=%v",
		r.RunID, r.Intent.Result != nil, r.Intent.Skip, calls, r.Result, r.Feedback.Verdict, used)
}

// recordedTurns returns the turns of all sessions, by session.
func (s *system) recordedTurns() map[string][]string {
	s.t.Helper()
	dir := s.t.TempDir()
	cmd, _, _ := s.command("sessions", "export", dir)
	if cmd.Run() != nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(s.t, err)
	out := map[string][]string{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(s.t, err)
		var d recorded
		require.NoError(s.t, json.Unmarshal(data, &d))
		for _, turn := range append(d.History, d.Current) {
			out[d.SessionID] = append(out[d.SessionID], turn.line())
		}
	}
	return out
}

// conversations are sessions of three turns: one answered, one that nobody answered, and
// one that was answered too late.
type conversations struct {
	s     *system
	g     *gateway
	names []string
	start int64
}

func newConversations(s *system, prefix string, n int) conversations {
	c := conversations{s: s, g: s.gateway(), start: time.Now().UnixMilli()}
	for i := range n {
		c.names = append(c.names, fmt.Sprintf("%s-%02d", prefix, i))
	}
	return c
}

// hold publishes all events, in steps that documents show apart.
func (c conversations) hold() {
	c.s.t.Helper()
	const prompt = "Hello there."
	steps := []func(session string){
		func(session string) {
			c.g.ask(turn{session: session, run: session + "-1", prompt: prompt, ts: c.start})
		},
		func(session string) {
			c.g.publish(used("llm_output", session, session+"-1", c.start+5), toolCall(session, session+"-1", session+"-c1", "read", c.start+6))
		},
		func(session string) {
			c.g.publish(feedback(session, session+"-1", c.start+20), agentEnd(session, session+"-1", prompt, "Hi.", c.start+10))
		},
		func(session string) {
			c.g.unanswered(turn{session: session, run: session + "-2", prompt: prompt, ts: c.start + 100})
			c.g.publish(used("model_call_ended", session, session+"-2", c.start+110))
		},
		func(session string) {
			late := turn{session: session, run: session + "-3", prompt: prompt, ts: c.start + 200}
			c.g.ask(late)
			c.g.unanswered(late)
		},
		func(session string) {
			c.g.publish(toolCall(session, session+"-1", session+"-c2", "read", c.start+7), toolCall(session, session+"-2", session+"-c3", "read", c.start+107))
			c.g.publish(used("model_call_ended", session, session+"-3", c.start+210), toolCall(session, session+"-3", session+"-c4", "read", c.start+211))
		},
	}
	for _, step := range steps {
		for _, session := range c.names {
			step(session)
		}
	}
	c.g.drained()
}

// want is what the documents must show.
func (c conversations) want() map[string][]string {
	out := map[string][]string{}
	for _, s := range c.names {
		out[s] = []string{
			fmt.Sprintf("%[1]s-1 classified=true skip= calls=[%[1]s-c1 %[1]s-c2] result=Hi. feedback=right used=[llm_output-%[1]s-1]", s),
			fmt.Sprintf("%[1]s-2 classified=false skip= calls=[%[1]s-c3] result= feedback= used=[model_call_ended-%[1]s-2]", s),
			fmt.Sprintf("%[1]s-3 classified=true skip=late calls=[%[1]s-c4] result= feedback= used=[model_call_ended-%[1]s-3]", s),
		}
	}
	return out
}

func (c conversations) shown(s *system, what string) {
	s.t.Helper()
	want := c.want()
	var wrong []string
	require.Eventually(s.t, func() bool {
		got := s.recordedTurns()
		wrong = nil
		for _, name := range c.names {
			if !slices.Equal(got[name], want[name]) {
				wrong = append(wrong, strings.Join(got[name], "\n"))
			}
		}
		return len(wrong) == 0
	}, patient, 500*time.Millisecond, "%s: %s", what, lazy(func() string {
		return fmt.Sprintf("%d of %d sessions are not complete; one has\n%s\ninstead of\n%s", len(wrong), len(c.names), strings.Join(wrong[:min(1, len(wrong))], ""), strings.Join(want[c.names[0]], "\n"))
	}))
}

// used is an event about the agent's own model.
func used(hook, session, run string, ts int64) event {
	return event{
		hook: hook, agent: "main", session: session, ctx: directChat(session, run), ts: ts, id: hook + "-" + run,
		event: object{"runId": run, "provider": "p", "model": "m", "usage": object{"input": 10, "output": 2}},
	}
}

func feedback(session, run string, ts int64) event {
	return event{
		hook: "feedback", agent: "main", session: session, ctx: directChat(session, run), ts: ts, id: "feedback-" + run,
		event: object{"kind": "hint", "runId": run, "verdict": "right", "by": "somebody"},
	}
}

// The previous release acknowledges hooks that it does not know, and writes documents
// without what it does not know. Nothing of that is missing after it, and nothing twice.
func TestTwoVersionsOnOneDurable(t *testing.T) {
	t.Parallel()
	previous := previousBinary(t)
	for _, store := range []string{"file", "kv"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s, e := newExternalSystem(t, settings{"HINT_STORE": store})
			e.start()
			old := s.serveBinary(previous, 1)
			before := newConversations(s, "before", 10)
			before.hold()
			p := s.serve(1, 2)[0]
			before.shown(s, "what the previous release left out before the upgrade")

			both := newConversations(s, "both", 30)
			both.hold()
			both.shown(s, "while both run")
			old.stop()

			after := newConversations(s, "after", 3)
			after.hold()
			for _, c := range []conversations{before, both, after} {
				c.shown(s, "after the upgrade")
			}
			p.stop()

			// Back to the previous release, and forth again.
			old = s.serveBinary(previous, 1)
			back := newConversations(s, "back", 5)
			back.hold()
			old.stop()
			s.serve(1, 1)
			for _, c := range []conversations{before, both, after, back} {
				c.shown(s, "after going back")
			}
		})
	}
}
