package intents

import (
	"slices"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Deny says which intents are kept from which agents: it maps globs of agents
// to globs of intents (contract §7, HINT_INTENT_DENY).
type Deny map[string][]string

// For returns the globs of the intents that the agent does not get, sorted:
// all matching entries add up.
func (d Deny) For(agent string) []string {
	var patterns []string
	for pattern, denied := range d {
		if Match(pattern, agent) {
			patterns = append(patterns, denied...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// maxNarrowed bounds the agents that a [Filter] remembers: agent ids come from
// outside.
const maxNarrowed = 256

// Filter narrows catalogues by a deny list and remembers the outcome for each
// agent. It is safe for concurrent use.
type Filter struct {
	deny Deny
	root atomic.Pointer[Catalog]
	seen *lru.Cache[filterKey, *Catalog]
}

type filterKey struct {
	root  *Catalog
	agent string
}

// NewFilter returns the filter of a deny list.
func NewFilter(deny Deny) *Filter {
	f := &Filter{deny: deny}
	if len(deny) > 0 {
		// The only error is a size that is not positive.
		f.seen, _ = lru.New[filterKey, *Catalog](maxNarrowed)
	}
	return f
}

// Narrow returns the catalogue less what the agent does not get. For one
// catalogue and agent it returns the same pointer again while it remembers it.
func (f *Filter) Narrow(c *Catalog, agent string) *Catalog {
	if f.seen == nil {
		return c
	}
	// A reload leaves the narrowed copies of the old catalogue without a use.
	if old := f.root.Load(); old != c && f.root.CompareAndSwap(old, c) && old != nil {
		f.seen.Purge()
	}
	key := filterKey{c, agent}
	if narrowed, ok := f.seen.Get(key); ok {
		return narrowed
	}
	narrowed := c.Without(f.deny.For(agent))
	f.seen.Add(key, narrowed)
	return narrowed
}
