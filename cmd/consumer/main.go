// Command consumer answers OpenClaw decision hooks with routing hints over
// NATS and keeps what happens in sessions. See README.md.
package main

import (
	"os"
	_ "time/tzdata" // zones for HINT_USER_TIMEZONE on machines that have none
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
