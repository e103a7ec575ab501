package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
)

type openCmd struct {
	Browser bool `help:"Also open the link in the browser of this machine."`
}

// Help is the longer text of `consumer open --help`.
func (openCmd) Help() string {
	return "The link holds the token of HINT_HTTP_TOKEN, or of the file token in HINT_DATA_DIR: whoever has it may see every page. Exit code 1 if no consumer serves pages."
}

// errNoPages reports that no consumer serves pages.
var errNoPages = errors.New("no consumer serves pages")

func (c *openCmd) Run(inv *cli.Invocation) error {
	base, err := servedAt(inv)
	if err != nil {
		return err
	}
	token, err := app.PageToken(inv.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w here: %s holds no token; set HINT_DATA_DIR to the directory of the consumer at %s", errNoPages, inv.Config.DataDir, base)
	}
	if err != nil {
		return err
	}
	link := app.SignInLink(base, token)
	if _, err := fmt.Fprintln(inv.Stdout, link); err != nil || !c.Browser {
		return err
	}
	return openBrowser(inv.Ctx, runtime.GOOS, link)
}

// servedAt returns the URL of the first consumer that answers.
func servedAt(inv *cli.Invocation) (string, error) {
	bases := app.HTTPAddresses(inv.Config)
	if len(bases) == 0 {
		return "", fmt.Errorf("%w: HINT_HTTP_ADDR is off", errNoPages)
	}
	ctx, cancel := context.WithTimeout(inv.Ctx, healthTime)
	defer cancel()
	var reasons []string
	for _, base := range bases {
		if _, err := askHealth(ctx, base+"/healthz"); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", base, err))
			continue // the file may be left over from a killed process
		}
		return base, nil
	}
	return "", fmt.Errorf("%w: %s", errNoPages, strings.Join(reasons, "; "))
}

// openBrowser opens a link as the desktop of a system does.
func openBrowser(ctx context.Context, system, link string) error {
	command := map[string][]string{
		"darwin":  {"open"},
		"windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[system]
	if command == nil {
		command = []string{"xdg-open"}
	}
	if err := exec.CommandContext(ctx, command[0], append(command[1:], link)...).Run(); err != nil { //nolint:gosec // the link is our own
		return fmt.Errorf("browser not opened: %w", err)
	}
	return nil
}
