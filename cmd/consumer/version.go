package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the semantic version of this tree, as the NATS service framework
// lists it.
const version = "0.1.0"

type versionCmd struct{}

func (versionCmd) Run(inv *invocation) error {
	_, err := fmt.Fprintln(inv.stdout, about())
	return err
}

// about is the line of `consumer version`.
func about() string {
	return fmt.Sprintf("consumer %s%s, %s %s/%s", version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that the binary was built from, when it is known.
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
