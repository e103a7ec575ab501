package console

import (
	"math"
	"slices"
	"strconv"
	"time"

	"intenthint/record"
	"intenthint/store"
)

// overTime counts turns by columns of a period.
type overTime struct {
	columns columns
	// given and none are turns with and without a hint.
	given, none []float64
	// took are the times of classification in milliseconds.
	took [][]float64
	// turns are turns that failed, models and tools failed calls.
	turns, models, tools []float64
	// hints and agents are tokens: of models that hints asked, and of the agents' own.
	hints, agents []float64
}

func newOverTime(c columns) overTime {
	row := func() []float64 { return make([]float64, len(c.starts)) }
	return overTime{
		columns: c, given: row(), none: row(), took: make([][]float64, len(c.starts)),
		turns: row(), models: row(), tools: row(), hints: row(), agents: row(),
	}
}

func (o *overTime) add(t record.Turn, turn *store.Turn) {
	i, ok := o.columns.at(time.UnixMilli(turn.Begin.TS))
	if !ok {
		return
	}
	if t.Hinted {
		o.given[i]++
	} else {
		o.none[i]++
	}
	if r := turn.Intent.Result; r != nil {
		o.took[i] = append(o.took[i], r.ElapsedMs)
	}
	if turn.Error != "" {
		o.turns[i]++
	}
	for _, call := range turn.ToolCalls {
		if call.Error != "" {
			o.tools[i]++
		}
	}
	asked := turn.Asked()
	o.models[i] += float64(asked.Failed)
	o.hints[i] += float64(asked.In + asked.Out)
	for _, use := range turn.AgentUse {
		if used := use.Tokens; used != nil {
			o.agents[i] += float64(used.Input + used.Output + used.CacheRead + used.CacheWrite)
		}
	}
}

// end sorts what was counted.
func (o *overTime) end() {
	for _, took := range o.took {
		slices.Sort(took)
	}
}

// plots shows the counts, after end.
func (o *overTime) plots() []plot {
	n := len(o.columns.starts)
	share, median, most := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		share[i] = math.NaN()
		if all := o.given[i] + o.none[i]; all > 0 {
			share[i] = o.given[i] / all
		}
		median[i], most[i] = quantile(o.took[i], 0.5), quantile(o.took[i], 0.99)
	}
	percent := func(v float64) string { return strconv.Itoa(int(v*100+0.5)) + "%" }
	return []plot{
		stacked("turns", "Turns", o.columns, short, layer{"hint", "one", o.given}, layer{"no hint", "three", o.none}),
		lined("share", "Share with a hint", o.columns, percent, layer{"share", "one", share}),
		lined("latency", "Classified in", o.columns, milliseconds, layer{"p50", "one", median}, layer{"p99", "two", most}),
		stacked("errors", "Errors", o.columns, short, layer{"turns", "one", o.turns}, layer{"models", "two", o.models}, layer{"tools", "three", o.tools}),
		stacked("tokens", "Tokens", o.columns, short, layer{"hints", "one", o.hints}, layer{"agents", "three", o.agents}),
	}
}

// quantile returns a quantile of sorted values, not a number for none.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
