package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/internal/golden"
)

func TestLintAdvises(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("light.md", "---\nid: LIGHT\ntriggers: [lamps]\nexamples: [turn on the lamp, lamp off please, switch the lamp on, next song please now, play the next song, stop this song]\n---\nx\n")
	write("music.md", "---\nid: MUSIC\ntriggers: [songs]\nexamples: [play a song, next song please, stop the song, play the song again, play this song, next song, song off, play that song, play my song, song please]\n---\nx\n")
	write("other.md", "---\nid: OTHER\ntriggers: [nothing]\n---\nx\n")
	var stdout, stderr apptest.Buffer
	require.Equal(t, exitOK, env.run(t.Context(), []string{"intents", "lint", dir}, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "1 intent with fewer than 10 examples, so hints are fewer and less sure: LIGHT 6\n")
	require.Equal(t, exitOK, env.run(t.Context(), []string{"intents", "lint", "--advise", dir}, &stdout, &stderr))
	golden.Equal(t, "advice.txt", stdout.String())
}

func TestLintOfADirectoryWithoutAUsableFileFails(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	dir := t.TempDir()
	var stdout, stderr apptest.Buffer
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"intents", "lint", dir}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "no usable intent file in "+dir)
}
