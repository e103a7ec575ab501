//go:build e2e && linux

package e2e

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIntentsExpandOnATerminal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		say     string
		written bool
		code    int
	}{
		"yes":         {"y\r", true, 0},
		"no":          {"n\r", false, 1},
		"return":      {"\r", false, 1},
		"interrupted": {"", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, examples := expandable(t)
			cmd, screen, user, gone := onTerminal(t, s, "intents", "expand", "LAMP")
			require.Eventually(t, func() bool {
				return strings.Contains(screen.String(), "[y/N] ")
			}, patient, tick, "%q", screen)
			if tc.say == "" {
				require.NoError(t, cmd.Process.Signal(os.Interrupt))
			} else {
				_, err := io.WriteString(user, tc.say)
				require.NoError(t, err)
			}
			select {
			case <-gone:
			case <-time.After(patient):
				require.FailNow(t, "the program goes on", "%q", screen.String())
			}
			_ = cmd.Wait()
			require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), screen.String())
			shown := screen.String()
			require.Contains(t, shown, "[                              ] 0/1 LAMP", "progress bar")
			require.Contains(t, shown, "Add 1 example to 1 file in ")
			require.Contains(t, shown, "\n+it is too dark in here\r\n")
			if tc.written {
				require.FileExists(t, examples)
			} else {
				require.NoFileExists(t, examples)
				require.Contains(t, shown, "nothing was changed")
			}
		})
	}
}
