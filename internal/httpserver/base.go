package httpserver

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// StripBase returns a handler that takes one of the paths in bases, "/base", off the
// beginning of a request's path, so that it does not matter whether a reverse proxy
// does. A request for a base itself is redirected to what is below it, as its links
// are relative. Other requests pass unchanged.
func StripBase(next http.Handler, bases []string) http.Handler {
	for _, base := range bases {
		next = stripOne(next, base)
	}
	return next
}

func stripOne(next http.Handler, base string) http.Handler {
	stripped := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == base:
			to := url.URL{Path: path.Base(base) + "/", RawQuery: r.URL.RawQuery}
			w.Header().Set("Location", to.String())
			w.WriteHeader(http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
