package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/config"
	"intenthint/internal/natsserver"
)

// Exit codes (contract §9, §10).
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2 // an invalid setting or command line
	exitDiffers = 3 // stream plan --exit-code: something is missing or differs
)

// commandLine is the command line (contract §10).
type commandLine struct {
	Run      runCmd             `cmd:"" default:"1" help:"Serve until SIGINT or SIGTERM, then finish work in progress (the default)."`
	Ask      askCmd             `cmd:"" help:"Ask the running system for a hint, as a gateway does, and print it."`
	Classify workbench.Classify `cmd:"" help:"Classify a text in this process and show the confidence."`
	Eval     workbench.Eval     `cmd:"" help:"Measure the classifier's accuracy on labelled messages."`
	Replay   workbench.Replay   `cmd:"" help:"Show what hints recorded turns would get under another catalogue, model or threshold."`
	Intents  struct {
		Lint   workbench.Lint   `cmd:"" help:"Check intent files."`
		Expand workbench.Expand `cmd:"" help:"Ask a model for more examples and add the good ones to intent files."`
		Learn  workbench.Learn  `cmd:"" help:"Propose examples from recorded turns and add them to intent files."`
		Learnt struct {
			Ls workbench.LearntLs `cmd:"" help:"List the examples, those that people marked first, then newest first."`
			Rm workbench.LearntRm `cmd:"" help:"Remove examples."`
		} `cmd:"" help:"Manage the examples that HINT_LEARN=auto learns while consumers run."`
		Import workbench.Import `cmd:"" help:"Show what a directory of intent files contains, and copy it to HINT_INTENTS_DIR."`
	} `cmd:"" help:"Manage intent files."`
	Sessions struct {
		Ls      sessionsLsCmd           `cmd:"" help:"List sessions, most recently changed first."`
		Show    sessionsShowCmd         `cmd:"" help:"Print a session document."`
		Export  sessionsExportCmd       `cmd:"" help:"Write every session to a directory, as HINT_STORE=file keeps them."`
		Rebuild sessionsRebuildCmd      `cmd:"" help:"Rebuild sessions from the event stream."`
		Turns   workbench.SessionsTurns `cmd:"" help:"List the turns of all sessions, optionally as data for eval."`
		Rm      sessionsRmCmd           `cmd:"" help:"Forget sessions for good, with their events in the stream."`
	} `cmd:"" help:"Inspect, rebuild and forget sessions."`
	Feedback feedbackCmd       `cmd:"" help:"Mark the hint of a turn as right or wrong."`
	Sample   workbench.Sample  `cmd:"" help:"Draw random turns for marking."`
	Stats    workbench.Stats   `cmd:"" help:"Count recorded turns, and show whether hints help."`
	Improve  workbench.Improve `cmd:"" help:"Show where edits of the intents may improve hints, from the recorded turns."`
	DLQ      struct {
		Ls     dlqLsCmd     `cmd:"" help:"List dead letters, oldest first."`
		Replay dlqReplayCmd `cmd:"" help:"Put dead letters back into the event stream, after a fix."`
		Rm     dlqRmCmd     `cmd:"" help:"Delete dead letters."`
	} `cmd:"" name:"dlq" help:"Manage events that could not be decoded or applied."`
	Stream struct {
		Plan  streamPlanCmd  `cmd:"" help:"Show how streams, durable and buckets differ from the settings, and change none."`
		Apply streamApplyCmd `cmd:"" help:"Create what is missing and change what differs."`
	} `cmd:"" help:"Compare the NATS server with the settings."`
	Triage struct {
		Stats    triageStatsCmd    `cmd:"" help:"Show what was answered and skipped, why, and what that saves."`
		Feedback triageFeedbackCmd `cmd:"" help:"Mark a message as deserving an answer or not."`
		Try      triageTryCmd      `cmd:"" help:"Show what would be decided about a message, and why. Stores nothing."`
		Examples struct {
			Ls triageExamplesLsCmd `cmd:"" help:"List the messages that people marked, newest first."`
			Rm triageExamplesRmCmd `cmd:"" help:"Remove marks."`
		} `cmd:"" help:"Manage the marked messages, which the model is given as examples."`
	} `cmd:"" help:"Inspect and teach the gate that decides which group messages are answered."`
	Knowhub struct {
		Ls       knowhubLsCmd       `cmd:"" help:"List experiences, newest first."`
		Show     knowhubShowCmd     `cmd:"" help:"Print an experience."`
		Approve  knowhubApproveCmd  `cmd:"" help:"Let agents find experiences."`
		Reject   knowhubRejectCmd   `cmd:"" help:"Keep experiences from agents."`
		Withdraw knowhubWithdrawCmd `cmd:"" help:"Take the approval of experiences back."`
		Rm       knowhubRmCmd       `cmd:"" help:"Delete experiences for good."`
		Search   knowhubSearchCmd   `cmd:"" help:"Search as an agent does."`
		Import   knowhubImportCmd   `cmd:"" help:"Add the experiences of a file."`
		Extract  knowhubExtractCmd  `cmd:"" help:"Extract experiences from recorded turns."`
		Export   knowhubExportCmd   `cmd:"" help:"Print experiences as JSON lines."`
		Audit    knowhubAuditCmd    `cmd:"" help:"Count duplicates, secrets, recall loops and stale experiences."`
	} `cmd:"" help:"Inspect, review and move the experiences of agents."`
	Decide struct {
		Ask    decideAskCmd    `cmd:"" help:"Put typed questions to a running consumer."`
		Ls     decideLsCmd     `cmd:"" help:"List what was decided about, the latest first."`
		Show   decideShowCmd   `cmd:"" help:"Show a rubric: its question, decisions, student, and what to mark."`
		Mark   decideMarkCmd   `cmd:"" help:"Mark the right answer of a decision."`
		Same   decideSameCmd   `cmd:"" help:"Say that a rubric continues an earlier one."`
		Eval   decideEvalCmd   `cmd:"" help:"Measure the answers on labelled states."`
		Replay decideReplayCmd `cmd:"" help:"Answer recorded states again, and show what differs."`
		Rm     decideRmCmd     `cmd:"" help:"Forget a rubric for good."`
	} `cmd:"" help:"Ask, inspect and teach the engine that answers typed questions."`
	Open       openCmd       `cmd:"" help:"Print the link to the pages that signs in, or open it."`
	Demo       demoCmd       `cmd:"" help:"Show the pages with a day of believable traffic, in a system of its own."`
	Health     healthCmd     `cmd:"" help:"Ask the running consumer whether it is healthy."`
	Doctor     doctorCmd     `cmd:"" help:"Check NATS, models, intents, directories and the HTTP port."`
	Licenses   licensesCmd   `cmd:"" help:"Print the licence texts of what the binary holds."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	HelpOf     helpCmd       `cmd:"" name:"help" help:"Show what a command does and its flags, as --help."`
	Completion completionCmd `cmd:"" help:"Print a script with which a shell completes commands and flags."`
	Man        manCmd        `cmd:"" help:"Print the manual page, in roff."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

const description = `Routing hints for OpenClaw gateways over NATS.

Everything is set by environment variables, see "consumer run --help". Without any, a NATS server starts inside this process and messages are classified without a model.`

// run is main without the process: it takes the arguments and returns the exit
// code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return runContext(ctx, load, args, stdout, stderr)
}

// endings returns the signals that stop the process gracefully. SIGHUP is one
// of them, unless the process was started with nohup.
func endings() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}

// load reads the settings of the program and its parts.
func load() (*config.Config, []config.Warning, error) { return config.Load(app.Objects()...) }

// runContext is run until ctx ends, under the settings that load returns, so that tests
// need neither a signal nor an environment.
func runContext(ctx context.Context, load func() (*config.Config, []config.Warning, error), args []string, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	code := command(ctx, load, args, out, stderr)
	if code == exitOK && out.err != nil {
		return report(stderr, fmt.Errorf("output not written: %w", out.err), exitFailed)
	}
	return code
}

// output remembers the first failed write, as on a full disk: most commands do
// not check for errors when they print.
type output struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// command is runContext without the check that the output was written.
func command(ctx context.Context, load func() (*config.Config, []config.Warning, error), args []string, stdout *output, stderr io.Writer) int {
	var commands commandLine
	left := -1
	parser, err := kong.New(&commands,
		kong.Name("consumer"),
		kong.Description(description),
		kong.Vars{"version": about()},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { left = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.NamedMapper("path", kong.MapperFunc(givenPath)),
	)
	if err != nil {
		return report(stderr, err, exitFailed)
	}
	parsed, err := parser.Parse(args)
	if left >= 0 {
		return left // --help or --version was answered
	}
	if err != nil && stdout.err != nil {
		return exitOK // --help could not be written; the command line is right
	}
	if err != nil {
		return misused(stderr, err)
	}
	inv := &cli.Invocation{Ctx: ctx, Version: version, Stdin: os.Stdin, Stdout: stdout, Stderr: stderr}
	if !withoutSettings[parsed.Command()] {
		if inv.Config, inv.Warnings, err = load(); err != nil {
			return fail(inv, err)
		}
		app.UseFrames(inv.Config)
	}
	err = parsed.Run(inv, parser)
	switch wrong, ok := errors.AsType[*kong.ParseError](err); {
	case left >= 0:
		return left // help was shown
	case ok:
		return misused(stderr, wrong)
	case err != nil:
		return fail(inv, err)
	}
	return exitOK
}

// misused reports a wrong command line.
func misused(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintln(stderr, "consumer:", notANumber.ReplaceAllString(err.Error(), "must be a number, not $1"))
	_, _ = fmt.Fprintf(stderr, "Try \"%s --help\".\n", commandOf(err))
	return exitUsage
}

// notANumber matches the parser's error for a flag value that is not a number.
var notANumber = regexp.MustCompile(`expected a(?: valid \d+ bit)? (?:u?int|float) but got (".*")`)

// commandOf returns the command of an invalid command line.
func commandOf(err error) string {
	command := []string{"consumer"}
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, step := range parse.Context.Path {
			if step.Command != nil {
				command = append(command, step.Command.Name)
			}
		}
	}
	return strings.Join(command, " ")
}

// givenPath reads a path argument. Kong's own mapper takes "", such as a script's
// unset variable, for the current directory.
func givenPath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("path", &path); err != nil {
		return err
	}
	if path == "" {
		return errors.New("the path must not be blank")
	}
	target.SetString(kong.ExpandPath(path))
	return nil
}

// fail reports why a command failed and returns its exit code.
func fail(inv *cli.Invocation, err error) int {
	switch {
	case errors.Is(err, errDiffers):
		return exitDiffers
	case errors.Is(err, cli.ErrReported):
		return exitFailed
	}
	if settings, wrong := misconfigured(inv, err); wrong {
		_, _ = fmt.Fprintln(inv.Stderr, settings)
		return exitUsage
	}
	if _, ok := errors.AsType[cli.UsageError](err); ok {
		return report(inv.Stderr, err, exitUsage)
	}
	return report(inv.Stderr, err, exitFailed)
}

// misconfigured returns the wrong settings that an error is about, if it is.
func misconfigured(inv *cli.Invocation, err error) (settings config.Errors, wrong bool) {
	if errors.Is(err, natsserver.ErrConf) || errors.Is(err, natsserver.ErrOpenListener) {
		// An invalid setting that only the server's own parser can detect.
		return config.Errors{{Variable: "HINT_NATS_CONF", Value: inv.Config.Bus.Conf, Allowed: err.Error()}}, true
	}
	return errors.AsType[config.Errors](err)
}

// report prints an error in the format of all commands and returns the code.
func report(stderr io.Writer, err error, code int) int {
	_, _ = fmt.Fprintln(stderr, "consumer:", err)
	return code
}
