package intents

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/internal/glob"
)

// maxNarrowed bounds the agents that a [Deny] caches: agent ids come from
// outside.
const maxNarrowed = 256

// maxAgentBytes bounds the id of a cached agent.
const maxAgentBytes = 256

// Deny tells which intents are denied to which agents (contract §7,
// HINT_INTENT_DENY), and narrows catalogues accordingly. It caches the result
// for each catalogue and agent, so a reload makes a new Deny. It is safe for
// concurrent use.
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
		// It fails only for a size that is not positive.
		d.seen, _ = lru.New[narrowKey, *Catalog](maxNarrowed)
	}
	return d
}

// For returns the sorted globs of the intents that are denied to the agent:
// those of all matching entries.
func (d *Deny) For(agent string) []string {
	var patterns []string
	for pattern, denied := range d.entries {
		if glob.Match(pattern, agent) {
			patterns = append(patterns, denied...)
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// Narrow returns the catalogue without the intents denied to the agent.
func (d *Deny) Narrow(c *Catalog, agent string) *Catalog {
	if d.seen == nil {
		return c
	}
	if len(agent) > maxAgentBytes { // chosen by the gateway
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
