package main

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/cmd/consumer/reference"
	"intenthint/config"
)

// printed runs a command under wrong settings, which these commands must not mind.
func printed(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := environment{"HINT_STORE": "nowhere"}.run(t.Context(), args, &out, &errs)
	require.Equal(t, want, code, errs.String())
	return out.String(), errs.String()
}

func TestHelpIsThatOfTheFlag(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "run", "sessions", "sessions rm", "intents learnt ls", "help"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			want, _ := printed(t, exitOK, append(strings.Fields(command), "--help")...)
			got, _ := printed(t, exitOK, append([]string{"help"}, strings.Fields(command)...)...)
			require.Equal(t, want, got)
			require.Contains(t, got, "Usage: consumer")
		})
	}
	_, stderr := printed(t, exitUsage, "help", "nothing")
	require.Equal(t, "consumer: unexpected argument nothing\nTry \"consumer --help\".\n", stderr)
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	script, _ := printed(t, exitOK, "completion", "bash")
	for line, want := range map[string][]string{
		"consumer se":                   {"sessions"},
		"consumer sessions r":           {"rebuild", "rm"},
		"consumer sessions rm --":       {"--help", "--yes"},
		"consumer sessions rm x --y":    {"--yes"},
		"consumer intents learnt ":      {"ls", "rm", "--help"},
		"consumer help intents learnt ": {"ls", "rm", "--help"},
		"consumer completion ":          {"bash", "zsh", "fish", "--help"},
		"consumer ask sess":             nil,
		"consumer nothing ru":           {"run"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			words := strings.Split(line, " ")
			quoted := make([]string, len(words))
			for i, w := range words {
				quoted[i] = strconv.Quote(w)
			}
			ask := fmt.Sprintf("%s\nCOMP_WORDS=(%s) COMP_CWORD=%d\n_consumer\nprintf '%%s\\n' \"${COMPREPLY[@]}\"\ncomplete -p consumer >&2", script, strings.Join(quoted, " "), len(words)-1)
			var stderr bytes.Buffer
			command := exec.CommandContext(t.Context(), bash, "--norc", "-c", ask)
			command.Stderr = &stderr
			out, err := command.Output()
			require.NoError(t, err, stderr.String())
			require.Equal(t, want, nilIfEmpty(strings.Fields(string(out))))
			require.Contains(t, stderr.String(), "-F _consumer consumer")
		})
	}
}

func nilIfEmpty(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return words
}

func TestEveryShellKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, shell := range reference.Shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			script, _ := printed(t, exitOK, "completion", shell)
			for _, want := range []string{"consumer sessions rm", "consumer intents learnt ls", "consumer stream apply", "--exit-code", "--predictions"} {
				if shell == "fish" {
					want = strings.Replace(want, "--", "-l ", 1)
				}
				require.Contains(t, script, want)
			}
			if path, err := exec.LookPath(shell); err == nil {
				check := exec.CommandContext(t.Context(), path, "-n")
				check.Stdin = strings.NewReader(script)
				out, err := check.CombinedOutput()
				require.NoError(t, err, string(out))
			}
		})
	}
	_, stderr := printed(t, exitUsage, "completion", "csh")
	require.Contains(t, stderr, "bash")
}

func TestTheManualPage(t *testing.T) {
	t.Parallel()
	page, _ := printed(t, exitOK, "man")
	for _, want := range []string{".TH CONSUMER 1", ".SS sessions rm <id> ...", ".SS stream plan", `.B \-\-exit\-code`, ".SH EXIT STATUS"} {
		require.Contains(t, page, want)
	}
	for _, v := range config.Variables(app.Objects()...) {
		require.Contains(t, page, ".B "+v.Name+"\n")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	format := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww")
	format.Stdin = strings.NewReader(page)
	var warnings bytes.Buffer
	format.Stderr = &warnings
	out, err := format.Output()
	require.NoError(t, err)
	require.Empty(t, warnings.String())
	require.Greater(t, len(out), 20_000)
}

// The reader of a log looks for the last error before the end.
func TestAFailedStartIsInTheLog(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	env := settle(t, map[string]string{"HINT_LOG_FORMAT": "json", "HINT_HTTP_ADDR": taken.Addr().String()})
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"run"}, &stdout, &stderr))
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	at := func(message string) int {
		for i, line := range lines {
			if strings.Contains(line, `"msg":"`+message+`"`) {
				return i
			}
		}
		t.Fatalf("no %q in %s", message, stderr.String())
		return -1
	}
	require.Contains(t, lines[at("start failed")], `"level":"ERROR"`)
	require.Less(t, at("start failed"), at("stopped"))
	require.NotContains(t, stderr.String(), "\nconsumer: ", "said once")
}

func TestLicencesOfEverything(t *testing.T) {
	t.Parallel()
	text, _ := printed(t, exitOK, "licenses")
	require.Contains(t, text, "github.com/nats-io/nats.go v1.")
	require.Greater(t, len(text), 50_000)
}
