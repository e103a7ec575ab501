package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/reference"
	"intenthint/config"
)

// helpCmd is `consumer help`, the same as --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as sessions rm."`
}

func (c *helpCmd) Run(parser *kong.Kong) error {
	_, err := parser.Parse(append(c.Command, "--help"))
	return err
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is the longer text of `consumer completion --help`.
func (completionCmd) Help() string {
	return `For this session: source <(consumer completion bash), or zsh; consumer completion fish | source. For all: write the output to /etc/bash_completion.d/consumer, to a file _consumer in $fpath, or to ~/.config/fish/completions/consumer.fish.`
}

func (c *completionCmd) Run(inv *cli.Invocation, parser *kong.Kong) error {
	_, err := fmt.Fprint(inv.Stdout, reference.Completion(parser.Model, c.Shell))
	return err
}

type manCmd struct{}

// Help is the longer text of `consumer man --help`.
func (manCmd) Help() string {
	return "To read it: consumer man | man -l -. To install it: consumer man > /usr/local/share/man/man1/consumer.1."
}

func (manCmd) Run(inv *cli.Invocation, parser *kong.Kong) error {
	_, err := fmt.Fprint(inv.Stdout, reference.Man(parser.Model, version, config.Variables(app.Objects()...)))
	return err
}

// withoutSettings are the commands that read no settings, so that they work whatever
// these are.
var withoutSettings = map[string]bool{"help": true, "help <command>": true, "completion <shell>": true, "man": true, "version": true, "licenses": true}
