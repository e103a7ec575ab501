package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"intenthint/classify/local"
	"intenthint/record"
	"intenthint/store"
)

const intentsPath = "/intents"

const (
	// maxCounted bounds the turns that are counted for a page: 20,000 turns of
	// ordinary size take about 2 s of processor time.
	maxCounted = 20_000
	// countLife is how long a count is shown before turns are counted again.
	countLife = time.Minute
	// shownExamples is how many examples an intent's row names.
	shownExamples = 3
)

// counted is the statistics of the turns of a period.
type counted struct {
	record.StatsReport
	// confidence is a histogram of ten bins, each of a tenth.
	confidence [10]int
	// examples are the examples that the local classifier quoted as reasons, by
	// intent, with their counts.
	examples map[string]map[string]int
	over     overTime
	// partial means that there were more than maxCounted turns.
	partial bool
	at      time.Time
}

// counts caches the last statistics by period.
type counts struct {
	mu       sync.Mutex
	byPeriod map[string]counted
}

// of returns the statistics of a period, recomputed if they are too old.
// Concurrent callers wait and share the result.
func (c *counts) of(ctx context.Context, source *Source, p period, now time.Time) (counted, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.byPeriod[p.Value]; ok && now.Sub(found.at) < countLife {
		return found, nil
	}
	made, err := count(ctx, source, p, now)
	if err != nil {
		return counted{}, err
	}
	if c.byPeriod == nil {
		c.byPeriod = map[string]counted{}
	}
	c.byPeriod[p.Value] = made
	return made, nil
}

func count(ctx context.Context, source *Source, p period, now time.Time) (counted, error) {
	out := counted{examples: map[string]map[string]int{}, at: now, over: newOverTime(columnsOf(p, now, source.zone()))}
	stats := record.NewStats(record.StatsOptions{MinConfidence: source.MinConfidence(), Location: source.zone()})
	var since time.Time
	if p.Length > 0 {
		since = now.Add(-p.Length)
	}
	var err error
	out.partial, err = record.Since(ctx, source.Sessions, since, maxCounted, func(s store.Summary, turn *store.Turn) {
		stats.Add(s, turn)
		out.over.add(record.NewTurn(s, turn, source.MinConfidence()), turn)
		r := turn.Intent.Result
		if r == nil {
			return
		}
		out.confidence[min(max(int(r.Confidence*10), 0), 9)]++
		if example, ok := local.Example(r.Reason); ok {
			if out.examples[r.Intent] == nil {
				out.examples[r.Intent] = map[string]int{}
			}
			out.examples[r.Intent][example]++
		}
	})
	out.StatsReport = stats.Report()
	out.over.end()
	return out, err
}

// intentsView is what the page of intents shows.
type intentsView struct {
	Period  period
	Periods []period
	Total   record.Tally
	Rows    []intentRow
	// Days shows the turns by day, Hours those of a day or less.
	Days          chart
	Hours         []plot
	Histogram     chart
	Partial       bool
	MaxCounted    int
	MinConfidence float64
	// Unused are intents of the catalogue without a turn.
	Unused []string
}

// intentRow is the statistics of an intent.
type intentRow struct {
	record.Tally
	// Title is the intent's name in the catalogue, "" if it is not there.
	Title string
	// Examples are the examples that were most often the reason.
	Examples []exampleCount
	since    string
}

// exampleCount is how often an example was the reason.
type exampleCount struct {
	Text  string
	Turns int
}

// URL returns the page of the intent's turns.
func (r intentRow) URL() string {
	return turnsPath + "?" + url.Values{"intent": {r.Name}, "since": {r.since}}.Encode()
}

// WrongURL returns the page of the turns that were marked wrong.
func (r intentRow) WrongURL() string {
	return turnsPath + "?" + url.Values{"intent": {r.Name}, "since": {r.since}, "feedback": {"wrong"}}.Encode()
}

func (c *Console) listIntents(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil {
		return
	}
	p := periodOf(cmp.Or(r.URL.Query().Get("since"), "7d"))
	found, err := c.counts.of(r.Context(), source, p, time.Now())
	if err != nil {
		c.fail(w, "turns not counted", err)
		return
	}
	view := intentsView{
		Period: p, Periods: periods[1:], Total: found.Total, Partial: found.partial, MaxCounted: maxCounted, MinConfidence: found.MinConfidence,
		Days: dayChart(found.Days), Histogram: confidenceChart(found.confidence),
	}
	if p.Length > 0 && p.Length <= 24*time.Hour {
		view.Days, view.Hours = chart{}, found.over.plots()[:1]
	}
	catalog, used := source.Catalog(), map[string]bool{}
	for _, t := range found.Intents {
		row := intentRow{Tally: t, Examples: most(found.examples[t.Name]), since: p.Value}
		if known, ok := catalog.Lookup(t.Name); ok {
			row.Title = known.Name
		}
		used[t.Name] = true
		view.Rows = append(view.Rows, row)
	}
	for _, i := range catalog.Enabled() {
		if !used[i.ID] {
			view.Unused = append(view.Unused, i.ID)
		}
	}
	c.render(w, http.StatusOK, "intents.html", c.page(r.Context(), "Intents", intentsPath, view))
}

// most returns the examples with the most turns.
func most(of map[string]int) []exampleCount {
	var out []exampleCount
	for text, n := range of {
		out = append(out, exampleCount{text, n})
	}
	slices.SortFunc(out, func(a, b exampleCount) int { return cmp.Or(cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Text, b.Text)) })
	return out[:min(len(out), shownExamples)]
}
