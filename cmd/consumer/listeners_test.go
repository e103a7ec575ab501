package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerOpenToEverybodyIsAWrongSetting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "open.conf")
	require.NoError(t, os.WriteFile(file, []byte(`listen: "0.0.0.0:4222"`), 0o600))
	for _, command := range [][]string{{"run"}, {"ask", "hello"}} {
		t.Run(command[0], func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			settle(t, map[string]string{"HINT_NATS_CONF": file, "HINT_DATA_DIR": data})
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, runContext(t.Context(), command, &stdout, &stderr))
			require.Empty(t, stdout.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.True(t, strings.HasPrefix(stderr.String(), `HINT_NATS_CONF="`+file+`": must `), stderr.String())
			require.Contains(t, stderr.String(), "clients on 0.0.0.0:")
			require.Contains(t, stderr.String(), "HINT_ALLOW_OPEN=1")
			require.NoDirExists(t, data, "nothing was begun")
		})
	}
}
