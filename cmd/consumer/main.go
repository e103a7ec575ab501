// Command consumer answers OpenClaw decision hooks with routing hints over
// NATS and records sessions. See README.md.
package main

import (
	"os"
	_ "time/tzdata" // time zones for HINT_USER_TIMEZONE on machines without any
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
