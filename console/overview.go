package console

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"intenthint/record"
)

// shownNewest is how many turns the overview shows when it loads. With the script
// it keeps up to 100, as new ones arrive.
const shownNewest = 50

// overviewView is what the overview shows.
type overviewView struct {
	Parts []Part
	// Faults is the number of parts that are not OK.
	Faults int
	// Waiting are the pages on which something waits for a person.
	Waiting []link
	// Turns are the newest; Live is the address of the live stream, "" while the
	// process starts.
	Turns []row
	Live  string
	// Period is that of Plots, which are empty while the process starts.
	Period  period
	Periods []period
	Plots   []plot
	Partial bool
	// Problem is why no turns are shown, "" for none.
	Problem string
}

func (c *Console) overview(w http.ResponseWriter, r *http.Request) {
	view := overviewView{Parts: c.parts(), Period: periodOf(cmp.Or(known(r.URL.Query().Get("since"), periodOptions), "24h")), Periods: periods[1:]}
	for _, p := range view.Parts {
		if !p.OK {
			view.Faults++
		}
	}
	// The script polls for the parts alone.
	if source := c.source.Load(); source != nil && !r.URL.Query().Has("parts") {
		view.Live = liveURL(time.Now())
		if err := view.plot(r.Context(), &c.counts, source); err != nil {
			c.log.Error("page failed", "reason", "turns not counted", "error", err)
			view.Problem = "The turns cannot be counted at present; see the log."
		}
		found, err := c.recent(r.Context(), source, record.Query{Limit: shownNewest})
		if err != nil {
			c.log.Error("page failed", "reason", "turns not listed", "error", err)
			view.Problem = "The turns cannot be read at present; see the log."
		}
		for _, e := range found.Entries {
			view.Turns = append(view.Turns, rowOf(e, source.MinConfidence()))
		}
	}
	p := c.page(r.Context(), "Overview", "/", nil)
	p.Wide = true
	for _, l := range p.Pages {
		if l.Waiting > 0 {
			view.Waiting = append(view.Waiting, l)
		}
	}
	p.View = view
	c.render(w, http.StatusOK, "overview.html", p)
}

// plot shows the turns of the period.
func (v *overviewView) plot(ctx context.Context, of *counts, source *Source) error {
	found, err := of.of(ctx, source, v.Period, time.Now())
	if err == nil {
		v.Plots, v.Partial = found.over.plots(), found.partial
	}
	return err
}
