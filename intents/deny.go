package intents

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
)

// maxNarrowed bounds the agents that a [Deny] remembers: agent ids come from
// outside.
const maxNarrowed = 256

// maxAgentBytes bounds the id of an agent that is remembered.
const maxAgentBytes = 256

// Deny holds which intents are kept from which agents (contract §7,
// HINT_INTENT_DENY), and narrows catalogues accordingly. It remembers the
// outcome for each catalogue and agent, so a reload starts with another one. It
// is safe for concurrent use.
type Deny struct {
	entries map[string][]string
	seen    *lru.Cache[narrowKey, *Catalog]
}

type narrowKey struct {
	root  *Catalog
	agent string
}

// NewDeny returns the deny list of a map from globs of agents to globs of
// intents.
func NewDeny(entries map[string][]string) *Deny {
	d := &Deny{entries: entries}
	if len(entries) > 0 {
		// The only error is a size that is not positive.
		d.seen, _ = lru.New[narrowKey, *Catalog](maxNarrowed)
	}
	return d
}

// For returns the globs of the intents that the agent does not get, sorted:
// all matching entries add up.
func (d *Deny) For(agent string) []string {
	var patterns []string
	for pattern, denied := range d.entries {
		if match(pattern, agent) {
			patterns = append(patterns, denied...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// Narrow returns the catalogue less what the agent does not get.
func (d *Deny) Narrow(c *Catalog, agent string) *Catalog {
	if d.seen == nil {
		return c
	}
	if len(agent) > maxAgentBytes { // the gateway's choice
		return c.Without(d.For(agent))
	}
	key := narrowKey{c, agent}
	if narrowed, ok := d.seen.Get(key); ok {
		return narrowed
	}
	narrowed := c.Without(d.For(agent))
	d.seen.Add(key, narrowed)
	return narrowed
}
