package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/licenses"
)

// version is the semantic version, as shown by the NATS service framework.
const version = "1.1.0"

type versionCmd struct{}

func (versionCmd) Run(inv *cli.Invocation) error {
	_, err := fmt.Fprintln(inv.Stdout, about())
	return err
}

type licensesCmd struct{}

func (licensesCmd) Run(inv *cli.Invocation) error { return licenses.Write(inv.Stdout) }

// about returns the output of `consumer version`.
func about() string {
	return fmt.Sprintf("consumer %s%s, %s %s/%s", version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision returns the commit of the build as a suffix, if known.
func revision() string {
	if c := commit(); c != "" {
		return " (" + c + ")"
	}
	return ""
}

// builtFrom is the commit that a release sets with the linker's -X, for a build without
// a repository.
var builtFrom string

// commit returns the first 12 digits of the commit of the build, with a + for one with
// changes; "" if unknown.
func commit() string {
	if builtFrom != "" {
		return builtFrom
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var found, changed string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			found = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	if found == "" {
		return ""
	}
	return found + changed
}
