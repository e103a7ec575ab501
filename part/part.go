// Package part is what a sibling of this program is, as the rest of the program
// sees it: what it needs of the server, and what it takes part in.
package part

import "intenthint/internal/bus"

// Needs are the buckets of a part, and its durables of the event stream.
type Needs struct {
	Buckets  []bus.Bucket
	Durables []bus.Durable
}
