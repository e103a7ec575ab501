package file_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

// Processes write to one store at the same time; every event is delivered to
// two processes.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	const processes, runs, calls = 3, 6, 10
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		var me int
		_, err := fmt.Sscan(os.Getenv("STORE_TEST_ME"), &me)
		require.NoError(t, err)
		s := open(t, dir, 2)
		for i := range int64(calls) {
			for run := range int64(runs) {
				if (int(run)+int(i)+me)%processes == 0 {
					continue
				}
				name := fmt.Sprint("r", run)
				apply(t, s, storetest.Call("s", name, run*100+i))
				if i == 4 {
					apply(t, s, storetest.Begin("s", name, run*100), storetest.End("s", name, run*100+50))
				}
			}
		}
		return
	}
	dir := t.TempDir()
	var commands []*exec.Cmd
	for me := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyProcesses$")
		cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, fmt.Sprint("STORE_TEST_ME=", me))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(out.String())
			}
		})
		commands = append(commands, cmd)
	}
	for _, cmd := range commands {
		require.NoError(t, cmd.Wait())
	}
	doc := storetest.Show(t, open(t, dir, 2), "s")
	_, turns := archived(t, dir, "s")
	require.Len(t, doc.History, 2)
	for i := range doc.History {
		turns[doc.History[i].RunID] = &doc.History[i]
	}
	turns[doc.Current.RunID] = doc.Current
	require.Len(t, turns, runs)
	for _, turn := range turns {
		require.Len(t, turn.ToolCalls, calls, turn.RunID)
		require.Equal(t, "result of "+turn.RunID, turn.Result)
	}
}

// A process is killed while it writes. What it had reported as stored is there
// once, and the next process continues.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	const kills = 5
	if dir := os.Getenv("STORE_TEST_KILLED"); dir != "" {
		s := open(t, dir, 1)
		// What was reported before is delivered again, then new facts follow.
		for n := int64(0); ; n++ {
			run := fmt.Sprint("r", n/10)
			f := storetest.Call("s", run, n)
			if n%10 == 3 {
				f = storetest.Begin("s", run, n-3)
			}
			apply(t, s, f)
			fmt.Println("stored", n)
		}
	}
	dir := t.TempDir()
	last := int64(-1)
	for i := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcesses$")
		cmd.Env = append(os.Environ(), "STORE_TEST_KILLED="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var n int64
			if _, err := fmt.Sscanf(lines.Text(), "stored %d", &n); err != nil {
				continue
			}
			last = max(last, n)
			if n == int64(40+20*i) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait())
	}
	s := open(t, dir, 1)
	turns := map[string]*store.Turn{}
	retired, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	for _, raw := range retired {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		turns[turn.RunID] = turn
	}
	doc := storetest.Show(t, s, "s")
	require.Len(t, doc.History, 1)
	turns[doc.History[0].RunID], turns[doc.Current.RunID] = &doc.History[0], doc.Current
	require.GreaterOrEqual(t, last, int64(120))
	for run := range last / 10 {
		turn := turns[fmt.Sprint("r", run)]
		require.NotNil(t, turn, "r%d", run)
		require.Len(t, turn.ToolCalls, 9, "r%d", run)
	}
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 0)
	locks, err := filepath.Glob(filepath.Join(dir, ".locks", "*"))
	require.NoError(t, err)
	require.Empty(t, locks)
	apply(t, s, storetest.Begin("s", "r", 0))
	locks, err = filepath.Glob(filepath.Join(dir, ".locks", "*"))
	require.NoError(t, err)
	require.Len(t, locks, 1)

	held := flock.New(locks[0])
	require.NoError(t, held.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Apply(ctx, []store.Fact{storetest.Begin("s", "q", 1)}), context.DeadlineExceeded)
	require.Equal(t, "r", storetest.Show(t, s, "s").Current.RunID, "readers do not wait")
	done := make(chan error, 1)
	go func() { done <- s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "q", 1)}) }()
	require.NoError(t, held.Unlock())
	require.NoError(t, <-done)
	require.Equal(t, "q", storetest.Show(t, s, "s").Current.RunID)
}

func TestWriteOfAnotherProcessIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir, 200), open(t, dir, 200)
	for i := range int64(60) {
		writer := a
		if i%2 == 1 {
			writer = b
		}
		apply(t, writer, storetest.Begin("s", fmt.Sprint("r", i), i))
	}
	require.Len(t, storetest.Show(t, a, "s").History, 59)
	require.NoError(t, os.Remove(filepath.Join(dir, "s.json")))
	apply(t, a, storetest.Begin("s", "anew", 100))
	require.Empty(t, storetest.Show(t, a, "s").History)
}
