package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

const staticPath = "/static/"

// page is what the layout shows around the View of a page.
type page struct {
	Title string
	// Here is the path of the page in the navigation, "" for none.
	Here string
	// Alone leaves out the navigation.
	Alone bool
	// Wide uses the width of the window.
	Wide bool
	// SignOut shows the button that ends a sign-in.
	SignOut bool
	// Pages are the links of the navigation.
	Pages  []link
	View   any
	Notice *notice
}

// link is a page in the navigation.
type link struct {
	Path, Name string
	// Waiting is how much waits for a person there.
	Waiting int
}

// links returns the links of the navigation, with what waits by path.
func (c *Console) links(waiting map[string]int) []link {
	out := []link{{Path: "/", Name: "Overview"}, {Path: turnsPath, Name: "Turns"}, {Path: sessionsPath, Name: "Sessions"}, {Path: intentsPath, Name: "Intents"}}
	for _, p := range c.pages {
		out = append(out, link{Path: p.Path, Name: p.Name})
	}
	out = append(out, link{Path: lettersPath, Name: "Dead letters"})
	for i := range out {
		out[i].Waiting = waiting[out[i].Path]
	}
	return out
}

var funcs = template.FuncMap{
	"ago":          func(t time.Time) string { return ago(time.Since(t)) },
	"clock":        func(t time.Time) string { return clock(t.Local(), time.Now()) },
	"confidence":   func(c float64) string { return strconv.FormatFloat(c, 'f', 2, 64) },
	"count":        plural,
	"fold":         foldText,
	"indented":     func(raw json.RawMessage) string { return indented(raw) },
	"line":         line,
	"machine":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"milliseconds": milliseconds,
	"moment":       func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
	"precise":      func(t time.Time) string { return t.UTC().Format("15:04:05.000 UTC") },
	"percent":      func(share float64) string { return strconv.Itoa(int(share*100+0.5)) + "%" },
	"visible":      visible,
	"static":       staticURL,
}

// pages are the templates, by file name.
var pages = func() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(funcs).ParseFS(templateFiles, "templates/layout.html", "templates/card.html", "templates/row.html", "templates/keys.html", "templates/plot.html", "templates/list.html"))
	out := make(map[string]*template.Template)
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // a wrong pattern
	}
	for _, file := range files {
		name := path.Base(file)
		out[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+name))
	}
	return out
}()

// render answers with a page. If the template fails, nothing of it is sent.
func (c *Console) render(w http.ResponseWriter, status int, name string, p page) {
	var body bytes.Buffer
	if err := pages[name].ExecuteTemplate(&body, "layout.html", p); err != nil {
		c.log.Error("page not rendered", "page", name, "error", err)
		http.Error(w, "This page could not be rendered; see the log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // the client may have gone
}

// messageView is the data of a page with only a message.
type messageView struct{ Title, Text string }

// message answers with a page of one sentence.
func (c *Console) message(w http.ResponseWriter, status int, title, text string) {
	c.render(w, status, "message.html", page{Title: title, Pages: c.links(nil), SignOut: c.token != nil, View: messageView{title, text}})
}

// page makes a page for someone who is signed in or does not need to be.
func (c *Console) page(ctx context.Context, title, here string, view any) page {
	return page{Title: title, Here: here, Pages: c.links(c.waiting(ctx)), SignOut: c.token != nil, View: view}
}

// parseForm parses the form of a request, and answers one that cannot be parsed.
func (c *Console) parseForm(w http.ResponseWriter, r *http.Request) bool {
	err := r.ParseForm()
	if err == nil {
		return true
	}
	status := http.StatusBadRequest
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		status = http.StatusRequestEntityTooLarge
	}
	c.message(w, status, "Not understood", "The form could not be read.")
	return false
}

// static is a file that pages load.
type static struct {
	body     []byte
	kind     string
	revision string
}

var statics = func() map[string]static {
	out := make(map[string]static)
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		panic(err) // it is in the binary
	}
	for _, entry := range entries {
		body, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		out[entry.Name()] = static{body: body, kind: mime.TypeByExtension(path.Ext(entry.Name())), revision: hex.EncodeToString(sum[:6])}
	}
	return out
}()

// staticURL returns the address of a file, which changes with its content.
func staticURL(name string) (string, error) {
	file, ok := statics[name]
	if !ok {
		return "", fmt.Errorf("no file %s", name)
	}
	return staticPath + name + "?v=" + file.revision, nil
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	file, ok := statics[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	if r.URL.Query().Get("v") == file.revision {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(file.body) // the client may have gone
}

// ago formats how long ago something was, in the largest unit that is not too
// coarse.
func ago(d time.Duration) string {
	const day = 24 * time.Hour // also one of 23 or 25 hours
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"year", 365 * day}, {"month", 30 * day}, {"day", day}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / unit.size); n > 0 {
			return plural(n, unit.name) + " ago"
		}
	}
	return "just now"
}

// clock formats a time of day, with the date if it is not today.
func clock(t, now time.Time) string {
	if y, d := t.Year(), t.YearDay(); y == now.Year() && d == now.YearDay() {
		return t.Format(time.TimeOnly)
	}
	if t.Year() == now.Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
