package main

import (
	"bytes"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
)

func TestNohupIsRespected(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests themselves ignore SIGHUP")
	}
	require.Contains(t, endings(), syscall.SIGHUP)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	require.NotContains(t, endings(), syscall.SIGHUP)
}

func TestUsageErrorsNameTheHelpOfTheirCommand(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	for _, row := range []struct{ name, args, help string }{
		{"an unknown command", "juggle", "consumer"},
		{"a command of a group is missing", "sessions", "consumer sessions"},
		{"an unknown command of a group", "sessions juggle", "consumer sessions"},
		{"an unknown flag", "stream plan --juggle", "consumer stream plan"},
		{"a missing argument", "sessions show", "consumer sessions show"},
		{"a value of the wrong type", "dlq rm --seq one", "consumer dlq rm"},
		{"a number that no dead letter has", "dlq rm --yes --seq 0", "consumer dlq rm"},
		{"an empty shell variable for numbers", "dlq replay --seq=", "consumer dlq replay"},
		{"an empty shell variable for a hook", "dlq replay --hook=", "consumer dlq replay"},
		{"unknown feedback", "sessions turns --feedback maybe", "consumer sessions turns"},
		{"an unknown status", "knowhub ls --status maybe", "consumer knowhub ls"},
		{"flags that exclude each other", "intents expand --yes --dry-run", "consumer intents expand"},
		{"a selection is missing", "dlq rm", "consumer dlq rm"},
		{"a blank message to ask about", "ask \u00a0", "consumer ask"},
		{"a blank message to classify", "classify \u00a0", "consumer classify"},
		{"a blank text to search", "knowhub search \u00a0", "consumer knowhub search"},
		{"a search for nothing", "knowhub search --limit 0 shop", "consumer knowhub search"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stdout, stderr apptest.Buffer
			require.Equal(t, exitUsage, env.run(t.Context(), strings.Split(row.args, " "), &stdout, &stderr))
			require.Empty(t, stdout.String())
			require.True(t, strings.HasSuffix(stderr.String(), "\nTry \""+row.help+" --help\".\n"), stderr.String())
		})
	}
}

func TestUsageErrorsAreInPlainWords(t *testing.T) {
	t.Parallel()
	env := settle(t, nil)
	for args, want := range map[string]string{
		"dlq rm --seq 1,0":                "--seq: must be dead-letter numbers from 1 (SEQ of dlq ls), comma-separated, not \"1,0\"",
		"feedback r right --intent CHAT":  "--intent names what would have been right: use it with wrong",
		"improve --limit many":            `--limit: must be a number, not "many"`,
		"sessions turns --below half":     `--below: must be a number, not "half"`,
		"sessions turns --feedback maybe": "--feedback must be one of right, wrong, any and none, not \"maybe\"",
		"knowhub export --status maybe":   "--status must be one of pending, approved and rejected, not \"maybe\"",
	} {
		var stdout, stderr apptest.Buffer
		require.Equal(t, exitUsage, env.run(t.Context(), strings.Split(args, " "), &stdout, &stderr))
		require.Contains(t, stderr.String(), want)
	}
}

func TestSequencesCountOnce(t *testing.T) {
	var s sequences
	require.NoError(t, s.UnmarshalText([]byte("3, 1,3")))
	require.NoError(t, s.UnmarshalText([]byte("1,2")))
	require.Equal(t, sequences{3, 1, 2}, s)
}

func TestEveryYesHasAShortForm(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commandLine{}, kong.Vars{"version": about()})
	require.NoError(t, err)
	found := 0
	require.NoError(t, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && flag.Name == "yes" {
			found++
			require.Equal(t, 'y', flag.Short)
		}
		return next(nil)
	}))
	require.Equal(t, 15, found, "expand, learn, learnt rm, import, replay, improve, dlq replay, dlq rm, sessions rm, apply, examples rm, knowhub rm, knowhub extract, decide replay, decide rm")
}

// fullDisk is an output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	env := settle(t, nil)
	for _, args := range []string{"--help", "sessions --help", "--version", "version", "classify --json hello"} {
		t.Run(args, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, exitFailed, env.run(t.Context(), strings.Split(args, " "), fullDisk{}, &stderr))
			require.Contains(t, stderr.String(), syscall.ENOSPC.Error())
		})
	}
}
