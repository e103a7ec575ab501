// Package testdata holds the labelled group messages that the local gate is
// trained on and measured with. README.md says how they were written.
package testdata

import "embed"

// Groups holds one JSON Lines file per group.
//
//go:embed *.jsonl
var Groups embed.FS
