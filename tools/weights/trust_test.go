package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"intenthint/classify/evaluate"
)

func TestReadPeople(t *testing.T) {
	line := []byte(`{"text": "play jazz", "intent": "MEDIA"}` + "\n")
	got, err := readPeople(fstest.MapFS{"user-a.jsonl": {Data: line}, "crowd-b.jsonl": {Data: line}, "README.md": {Data: []byte("no lines")}})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "MEDIA", got["user-a"][0].Intent)

	_, err = readPeople(fstest.MapFS{})
	require.ErrorIs(t, err, evaluate.ErrNoLines)
	_, err = readPeople(fstest.MapFS{"user-a.jsonl": {Data: []byte("{\n")}})
	require.ErrorContains(t, err, "user-a.jsonl:1:")
}

func TestReadStrange(t *testing.T) {
	lines := `{"text": "qwe", "intent": "OTHER"}
{"text": "play jazz", "intent": "MEDIA"}
{"text": "it is late", "intent": "OTHER", "intents": ["OTHER", "CHAT"]}
{"text": "and then", "intent": "OTHER", "history": [{"role": "user", "text": "play jazz"}]}
`
	fsys := fstest.MapFS{}
	for _, name := range strangeFiles {
		fsys[name] = &fstest.MapFile{Data: []byte(lines)}
	}
	got, err := readStrange(fsys)
	require.NoError(t, err)
	require.Len(t, got, len(strangeFiles))
	for i := range got {
		require.Equal(t, "qwe", got[i].Text)
	}

	got, err = readStrange(os.DirFS("../../classify/evaluate/testdata"))
	require.NoError(t, err)
	require.Greater(t, len(got), 500)

	_, err = readStrange(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Without people's messages the numbers that were fitted to them stay.
func TestTrustStaysWithoutPeople(t *testing.T) {
	into := t.TempDir()
	path := filepath.Join(into, filepath.FromSlash(trustFile))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.NoError(t, trustWeights(t.Context(), tree{root: into}))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "{}", string(data))
}
