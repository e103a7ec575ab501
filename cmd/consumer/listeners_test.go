package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWrongServerConfigurationIsAWrongSetting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, conf string
		command    []string
		want       []string
	}{
		{"run, open to everybody", `listen: "0.0.0.0:4222"`, []string{"run"}, []string{"clients on 0.0.0.0:", "HINT_ALLOW_OPEN=1"}},
		{"ask, open to everybody", `listen: "0.0.0.0:4222"`, []string{"ask", "hello"}, []string{"clients on 0.0.0.0:", "HINT_ALLOW_OPEN=1"}},
		{"run, no configuration", `listen: {`, []string{"run"}, []string{"must be a NATS configuration file: "}},
		{"ask, no configuration", `listen: {`, []string{"ask", "hello"}, []string{"must be a NATS configuration file: "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "own.conf")
			require.NoError(t, os.WriteFile(file, []byte(row.conf), 0o600))
			data := filepath.Join(t.TempDir(), "data")
			env := settle(t, map[string]string{"HINT_NATS_CONF": file, "HINT_DATA_DIR": data})
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, env.run(t.Context(), row.command, &stdout, &stderr))
			require.Empty(t, stdout.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.True(t, strings.HasPrefix(stderr.String(), `HINT_NATS_CONF="`+file+`": must `), stderr.String())
			for _, want := range row.want {
				require.Contains(t, stderr.String(), want)
			}
			require.NoDirExists(t, data, "nothing was begun")
		})
	}
}
