// Package handlers defines what happens at each hook, one file per hook: which
// handlers contribute to the reply of a decision hook, and in which order; and
// which fact the event of an observation hook becomes. The work itself is in
// other packages.
package handlers
