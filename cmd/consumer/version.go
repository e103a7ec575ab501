package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"intenthint/cmd/consumer/cli"
)

// version is the semantic version, as shown by the NATS service framework.
const version = "1.1.0"

type versionCmd struct{}

func (versionCmd) Run(inv *cli.Invocation) error {
	_, err := fmt.Fprintln(inv.Stdout, about())
	return err
}

// about returns the output of `consumer version`.
func about() string {
	return fmt.Sprintf("consumer %s%s, %s %s/%s", version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision returns the commit of the build, if known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return " (" + s.Value[:12] + ")"
		}
	}
	return ""
}
