package console

import "net/http"

// overviewView is what the overview shows.
type overviewView struct {
	Parts []Part
	// Faults is the number of parts that are not OK.
	Faults int
}

func (c *Console) overview(w http.ResponseWriter, _ *http.Request) {
	view := overviewView{Parts: c.parts()}
	for _, p := range view.Parts {
		if !p.OK {
			view.Faults++
		}
	}
	c.render(w, http.StatusOK, "overview.html", c.page("Overview", "/", view))
}
