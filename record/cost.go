package record

import (
	"math"

	"intenthint/payload"
	"intenthint/store"
)

// Prices are the prices of models, by provider/model (HINT_PRICES).
type Prices map[string]payload.Price

// of returns what tokens cost, in billionths of the currency; ok is false for a model
// without a price.
func (p Prices) of(model string, t payload.AgentTokens) (cost int64, ok bool) {
	price, ok := p[model]
	// Per million tokens, so a price of 1 is a thousand billionths a token.
	sum := price.Input*float64(t.Input) + price.Output*float64(t.Output) + price.CacheRead*float64(t.CacheRead) + price.CacheWrite*float64(t.CacheWrite)
	return int64(math.Round(min(sum*billion/million, maxCost))), ok
}

const (
	million = 1_000_000 // tokens, the unit of a [payload.Price]
	// maxCost bounds the cost of one event, in billionths: sums must not overflow.
	maxCost = 1e15
)

// AgentCost counts what agents asked of their own models, as far as gateways tell it
// (usage: true).
type AgentCost struct {
	// Turns counts turns with tokens, Calls all calls that have ended.
	Turns int `json:"turns"`
	Calls int `json:"calls"`
	payload.AgentTokens
	// Cost is by HINT_PRICES. Unpriced counts turns with tokens of a model without a
	// price, of which Cost holds nothing.
	Cost     float64 `json:"cost"`
	Unpriced int     `json:"unpriced"`
}

// agentTurn is what one turn asked of the agent's model.
type agentTurn struct {
	payload.AgentTokens
	calls int
	// told reports whether the turn's tokens are known.
	told bool
	// cost is in billionths; priced reports whether it is known in full.
	cost   int64
	priced bool
}

// agentUse sums up what a turn asked of the agent's model.
func (p Prices) agentUse(turn *store.Turn) (out agentTurn) {
	out.priced = true
	for _, u := range turn.AgentUse {
		out.calls += u.Calls
		if u.Tokens == nil {
			continue
		}
		out.told = true
		out.Input += u.Tokens.Input
		out.Output += u.Tokens.Output
		out.CacheRead += u.Tokens.CacheRead
		out.CacheWrite += u.Tokens.CacheWrite
		cost, ok := p.of(u.Model, *u.Tokens)
		out.cost += cost
		out.priced = out.priced && ok
	}
	out.priced = out.priced && out.told
	return out
}

// add adds a turn, and returns what it cost, in billionths.
func (c *AgentCost) add(t agentTurn) (cost int64) {
	c.Calls += t.calls
	if !t.told {
		return 0
	}
	c.Turns++
	c.Input += t.Input
	c.Output += t.Output
	c.CacheRead += t.CacheRead
	c.CacheWrite += t.CacheWrite
	if !t.priced {
		c.Unpriced++
		return 0
	}
	return t.cost
}
