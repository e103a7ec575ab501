package console

import (
	"encoding/json"
	"errors"
	"net/http"

	"intenthint/internal/access"
)

// serveAPI answers a program: by the rules of the pages, but with JSON, and without a
// page to sign in on.
func (c *Console) serveAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if problem := c.check(r); problem != "" {
		refuseAPI(w, http.StatusForbidden, problem)
		return
	}
	if c.origin.Check(r) != nil {
		refuseAPI(w, http.StatusForbidden, "this request comes from a page of another origin")
		return
	}
	if c.token != nil {
		if err := c.authorized(r); err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="intenthint"`)
			problem := "a token is required: Authorization: Bearer"
			if errors.Is(err, access.ErrGuesses) {
				problem = err.Error()
			}
			refuseAPI(w, http.StatusUnauthorized, problem)
			return
		}
	}
	handler, ok := c.handlers.Load(r.URL.Path)
	if !ok {
		refuseAPI(w, http.StatusNotFound, "this is not served here")
		return
	}
	handler.(http.Handler).ServeHTTP(w, r)
}

func refuseAPI(w http.ResponseWriter, status int, problem string) {
	body, _ := json.Marshal(map[string]string{"detail": problem}) // a string
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}
