// Package intents reads, checks and watches the Markdown files that define
// intents, and holds them as immutable catalogues (contract §7).
package intents
