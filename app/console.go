package app

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"intenthint/config"
	"intenthint/console"
	"intenthint/internal/httpserver"
	"intenthint/part"
)

// serveConsole adds the pages for people to the server.
func (a *App) serveConsole(server *httpserver.Server) (err error) {
	a.console, err = console.New(console.Options{
		Configured: a.cfg.HTTP.Addr, Listening: server.Addr(), Public: a.cfg.HTTP.Public, Token: a.token, Guesses: a.guesses, Parts: a.overview, Pages: pagesOf(a.parts), API: apiOf(a.parts), Log: a.log,
	})
	if err != nil {
		return err
	}
	a.console.Mount(func(pattern string, handler http.Handler) { server.Handle(pattern, handler) })
	return nil
}

// overview returns what the overview shows: the checks and, once the system has
// started, its parts.
func (a *App) overview() []console.Part {
	var out []console.Part
	if a.health.serving.Load() { // set once all parts exist
		out = []console.Part{a.hintsPart(), a.sessionsPart()}
		for _, p := range a.parts {
			if p.Title != "" {
				out = append(out, a.siblingPart(p))
			}
		}
		out = append(out, a.natsPart())
	}
	return append(out,
		checksPart("Health", "/healthz", a.health.healthy.Run(a.grace)),
		checksPart("Ready", "/readyz", a.health.ready.Run(a.grace)),
	)
}

const on = "on"

func (a *App) hintsPart() console.Part {
	return console.Part{Name: "Hints", State: on, Detail: a.live.describe(), OK: true}
}

func (a *App) sessionsPart() console.Part {
	p := console.Part{Name: "Sessions", State: on, Detail: StoreName(a.cfg), OK: true}
	ctx, cancel := context.WithTimeout(a.grace, httpserver.CheckTimeout)
	defer cancel()
	if err := a.sessions.Check(ctx); err != nil {
		p.State, p.OK, p.Detail = "failed", false, p.Detail+": "+err.Error()
	}
	return p
}

// siblingPart is the row of a part that may be off.
func (a *App) siblingPart(p part.Part) console.Part {
	r := a.running[p.Name]
	if r == nil {
		return console.Part{Name: p.Title, State: console.Off, Detail: config.VariableOf(p.Settings) + `='{"enabled": true}' turns it on`, OK: true}
	}
	row := console.Part{Name: p.Title, State: on, OK: true}
	if r.Detail != nil {
		row.Detail = r.Detail()
	}
	if len(p.Pages) > 0 {
		row.Link = p.Pages[0].Path
	}
	return row
}

// pagesOf returns the pages of parts.
func pagesOf(parts []part.Part) []part.Page {
	var out []part.Page
	for _, p := range parts {
		out = append(out, p.Pages...)
	}
	return out
}

// apiOf returns the paths of the HTTP APIs of parts.
func apiOf(parts []part.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.API...)
	}
	return out
}

func (a *App) natsPart() console.Part {
	status := a.requests.NC.Status()
	p := console.Part{Name: "NATS", State: strings.ToLower(status.String()), Detail: a.requests.URL(), OK: status == nats.CONNECTED}
	if a.requests.Embedded() {
		p.Detail += ", in this process"
	}
	return p
}

// checksPart sums up checks: the failed ones with their reasons, else the names
// of all checks.
func checksPart(name, path string, report httpserver.Report) console.Part {
	p := console.Part{Name: name, State: report.Status, Link: path, OK: report.Status == "ok"}
	var lines []string
	for check, result := range report.Checks {
		switch {
		case !result.OK:
			lines = append(lines, check+": "+result.Reason)
		case p.OK:
			lines = append(lines, check)
		}
	}
	slices.Sort(lines)
	separator := ", "
	if !p.OK {
		separator = "; "
	}
	p.Detail = strings.Join(lines, separator)
	return p
}
