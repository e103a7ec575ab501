package console

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"intenthint/internal/netaddr"
)

// public are the names of the pages behind a reverse proxy, and the path below which
// each has them.
type public []*url.URL

func parsePublic(urls []string) (public, error) {
	var out public
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("public URL: %w", err)
		}
		out = append(out, u)
	}
	return out, nil
}

// of returns the URL by whose name a request asks, nil for another name.
func (p public) of(r *http.Request) *url.URL {
	host := netaddr.AskedHost(r)
	if i := slices.IndexFunc(p, func(u *url.URL) bool { return strings.EqualFold(u.Hostname(), host) }); i >= 0 {
		return p[i]
	}
	return nil
}

// origins returns the origins of the public URLs, as browsers write them.
func (p public) origins() []string {
	var out []string
	for _, u := range p {
		host := u.Host
		if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
			host = strings.TrimSuffix(host, ":"+port)
		}
		out = append(out, u.Scheme+"://"+host)
	}
	return out
}

// relative is a response whose links and redirects to paths of this server become
// relative to the page: behind a reverse proxy the pages may stand below a path that
// only the browser knows. Handlers write an element in one call.
type relative struct {
	http.ResponseWriter
	root  string // from the page to the first one: "./", "../"
	links *strings.Replacer
}

// newRelative wraps the response to a request.
func newRelative(w http.ResponseWriter, r *http.Request) *relative {
	root := "./" + strings.Repeat("../", max(0, strings.Count(r.URL.EscapedPath(), "/")-1))
	// A text cannot pass for an attribute: templates escape its quotation marks.
	var pairs []string
	for _, attribute := range []string{"href", "src", "action", "data-live"} {
		pairs = append(pairs, attribute+`="/`, attribute+`="`+root)
	}
	return &relative{ResponseWriter: w, root: root, links: strings.NewReplacer(pairs...)}
}

// Unwrap is for [http.ResponseController].
func (w *relative) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *relative) WriteHeader(status int) {
	if to := w.Header().Get("Location"); strings.HasPrefix(to, "/") {
		w.Header().Set("Location", w.root+to[1:])
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *relative) Write(data []byte) (int, error) {
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil || kind != "text/html" && kind != "text/event-stream" || !bytes.Contains(data, []byte(`="/`)) {
		return w.ResponseWriter.Write(data)
	}
	if _, err := w.links.WriteString(w.ResponseWriter, string(data)); err != nil {
		return 0, err
	}
	return len(data), nil
}
