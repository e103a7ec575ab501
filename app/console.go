package app

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"intenthint/config"
	"intenthint/console"
	"intenthint/internal/httpserver"
	"intenthint/knowhub"
	"intenthint/triage"
)

// serveConsole adds the pages for people to the server.
func (a *App) serveConsole(server *httpserver.Server) (err error) {
	a.console, err = console.New(console.Options{
		Configured: a.cfg.HTTP.Addr, Listening: server.Addr(), Token: a.cfg.HTTP.Token, Parts: a.parts, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.console.Mount(func(pattern string, handler http.Handler) { server.Handle(pattern, handler) })
	return nil
}

// parts returns what the overview shows: the checks and, once the system has
// started, its parts.
func (a *App) parts() []console.Part {
	var out []console.Part
	if a.health.serving.Load() { // set once all parts exist
		out = []console.Part{a.hintsPart(), a.sessionsPart(), triagePart(a.live.config()), knowHubPart(a.live.config()), a.natsPart()}
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

// offPart is a disabled part; variable is the setting that enables it.
func offPart(name, variable string) console.Part {
	return console.Part{Name: name, State: console.Off, Detail: variable + `='{"enabled": true}' turns it on`, OK: true}
}

func triagePart(cfg *config.Config) console.Part {
	s := triage.Declared.In(cfg.Parts)
	if !s.Enabled {
		return offPart("Triage", "HINT_TRIAGE")
	}
	return console.Part{Name: "Triage", State: on, Detail: "messages of groups, " + cmp.Or(s.Model, cfg.Classifier.Model, "without a model"), Link: "/triage", OK: true}
}

func knowHubPart(cfg *config.Config) console.Part {
	if !knowhub.Declared.In(cfg.Parts).Enabled {
		return offPart("KnowHub", "HINT_KNOWHUB")
	}
	return console.Part{Name: "KnowHub", State: on, Detail: "experiences to review", Link: "/experiences", OK: true}
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
