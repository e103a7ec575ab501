package console

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"

	"intenthint/internal/events"
	"intenthint/store"
)

// readLetters bounds the dead letters in which those of a session are looked for.
const readLetters = 1000

// relater is a page of a part with something about sessions.
type relater interface {
	// Related returns a link to what there is about a session, nil for nothing.
	Related(ctx context.Context, session store.Summary) (*link, error)
}

// related returns what other pages have about a session. What cannot be read is left
// out.
func (c *Console) related(ctx context.Context, session store.Summary) (out []link) {
	for _, p := range c.pages {
		handler, _ := c.handlers.Load(p.Path)
		of, ok := handler.(relater)
		if !ok {
			continue
		}
		found, err := of.Related(ctx, session)
		if err != nil {
			c.log.Debug("page not asked about a session", "page", p.Path, "error", err)
		} else if found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// lettersOf returns the dead letters of a session, oldest first.
func (s *Source) lettersOf(ctx context.Context, session store.Summary) (out []events.DeadLetter, err error) {
	queue, err := s.DeadLetters(ctx)
	if err != nil {
		return nil, err
	}
	read := 0
	err = queue.Each(ctx, events.Selection{}, func(l events.DeadLetter) bool {
		if strings.HasSuffix(l.Subject, "."+session.Token) {
			out = append(out, l)
		}
		read++
		return read < readLetters
	})
	return out, err
}

// about reports whether a dead letter names a run.
func about(l events.DeadLetter, run string) bool {
	return run != "" && bytes.Contains(l.Body, []byte(strconv.Quote(run)))
}

var _ relater = (*experiencesPage)(nil)

// Related implements [relater].
func (x *experiencesPage) Related(ctx context.Context, session store.Summary) (*link, error) {
	if session.SessionKey == "" {
		return nil, nil //nolint:nilnil // nothing
	}
	for _, status := range (query{}).Statuses() {
		q := query{Status: status, Session: session.SessionKey, Limit: defaultLimit}
		found, err := find(ctx, x.of, q, q.Limit)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return &link{Path: q.URL(), Name: plural(len(found), string(status)+" experience")}, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing
}

// relatedTo sets what the page of a session links to.
func (v *sessionView) relatedTo(c *Console, r *http.Request, source *Source) {
	v.Related = c.related(r.Context(), v.Summary)
	letters, err := source.lettersOf(r.Context(), v.Summary)
	if err != nil {
		c.log.Debug("dead letters of a session not read", "error", err)
		return
	}
	for _, l := range letters {
		row, found := letterRow{DeadLetter: l}, false
		for i := range v.Turns {
			if about(l, v.Turns[i].RunID) {
				v.Turns[i].Letters, found = append(v.Turns[i].Letters, row), true
			}
		}
		if !found {
			v.Related = append(v.Related, link{Path: row.URL(), Name: "dead letter " + strconv.FormatUint(l.Sequence, 10)})
		}
	}
}
