package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/triage/local"
)

const chat = `{"seq":"a","sender":"Ann","text":"hahaha","to_agent":false}
{"seq":"a","sender":"Bo","text":"6.1.50 and later","from_agent":true}
{"seq":"a","sender":"Ann","text":"Bo, thank you","to_agent":true}
{"seq":"b","sender":"Cleo","text":"ok cool","to_agent":true}
`

func TestReadGivesWhatWasSaidBefore(t *testing.T) {
	t.Parallel()
	got, err := read([]byte(chat))
	require.NoError(t, err)
	require.Len(t, got, 2, "sequences")
	require.Len(t, got[0], 2, "messages of people")
	last := got[0][1]
	require.True(t, last.wanted)
	require.Equal(t, "Bo", last.BotName)
	require.Equal(t, []local.Earlier{{Sender: "Ann", Text: "hahaha"}, {Sender: "Bo", Text: "6.1.50 and later", Bot: true}}, last.Recent)
	require.Empty(t, got[1][0].Recent)
	_, err = read([]byte("{"))
	require.ErrorContains(t, err, "line 1")
}

func TestRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains a gate for each group")
	}
	file := filepath.Join(t.TempDir(), "chat.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(chat), 0o600))
	var out bytes.Buffer
	require.NoError(t, run([]string{file}, true, &out))
	require.Contains(t, out.String(), "chat.jsonl                    3       2        1        2 (66.7 %)      1 (50.0 %)         0       0\n  missed: \"ok cool\"\n")
	require.Contains(t, out.String(), "own set ")
	require.Error(t, run([]string{file + ".none"}, false, &out))
}
