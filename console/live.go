package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const livePath = "/live"

const (
	// maxListeners bounds how many pages show turns live: each follows the stream
	// on its own.
	maxListeners = 16
	// liveTime bounds one response. The browser reconnects, and must still be
	// signed in.
	liveTime = 10 * time.Minute
	// livePause is the keep-alive interval, so that proxies keep the connection
	// open; liveWrite is the time that the client has to read an event.
	livePause = 15 * time.Second
	liveWrite = 10 * time.Second
	// liveRetry is how soon the browser reconnects after a lost connection.
	liveRetry = 2 * time.Second
	// tooLate is how many turns may wait for a page. A page that is further behind
	// is told to reload: it keeps no more than 100 rows.
	tooLate = 1000
)

// Errors of the stream of turns.
var (
	// ErrListeners reports that too many pages show turns live.
	ErrListeners = errors.New("too many pages follow the turns of this process")
	// errBehind reports a page that is too far behind.
	errBehind = errors.New("page too far behind")
)

// liveURL returns the address of the turns that begin from now on, or slightly
// earlier, as the store shows a turn within a second.
func liveURL(now time.Time) string {
	return livePath + "?" + url.Values{"since": {strconv.FormatInt(now.Add(-10*time.Second).UnixMilli(), 10)}}.Encode()
}

// fromOf returns where a page continues: after the last turn that it received,
// else at the time when it was rendered.
func fromOf(r *http.Request, now time.Time) From {
	from := From{Since: now}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("after")
	}
	from.After, _ = strconv.ParseUint(last, 10, 64) // wrong is 0
	if ms, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64); err == nil && ms > 0 {
		from.Since = time.UnixMilli(ms)
	}
	return from
}

// live sends turns as they begin, as server-sent events: "turn" with the row's HTML
// and the sequence as id, "mark" with a person's mark on a turn, "reload" to a
// page that is too far behind. Marks have no id: a page that reconnects gets
// the marks since its last turn again.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	source := c.shown(w)
	if source == nil {
		return
	}
	// Another origin cannot read the stream, but could use up the listener slots.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		http.Error(w, "This request comes from a page of another origin.", http.StatusForbidden)
		return
	}
	select {
	case c.listeners <- struct{}{}:
		defer func() { <-c.listeners }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, ErrListeners.Error(), http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), liveTime)
	defer cancel()
	if err := c.follow(ctx, &eventStream{w: w, control: http.NewResponseController(w)}, source, fromOf(r, time.Now())); err != nil && ctx.Err() == nil {
		c.log.Debug("stream of turns ended", "error", err)
	}
}

// follow sends turns until the client leaves or the process ends.
func (c *Console) follow(ctx context.Context, out *eventStream, source *Source, from From) error {
	if err := out.begin(); err != nil {
		return fmt.Errorf("no stream of turns: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	turns, ended := make(chan Begun), make(chan error, 1)
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() {
		err := source.Follow(ctx, from, func(ctx context.Context, b Begun) error {
			if b.Pending > tooLate {
				return errBehind
			}
			select {
			case turns <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ended <- err
		if !errors.Is(err, errBehind) {
			// Do not wait for a client that does not read.
			_ = out.control.SetWriteDeadline(time.Now())
		}
	})
	marks := make(chan Marked)
	if source.FollowMarks != nil {
		following.Go(func() {
			err := source.FollowMarks(ctx, from, func(ctx context.Context, m Marked) error {
				select {
				case marks <- m:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			// The page continues without marks.
			if ctx.Err() == nil {
				c.log.Debug("stream of marks ended", "error", err)
			}
		})
	}
	defer cancel()
	pause := time.NewTicker(livePause)
	defer pause.Stop()
	for {
		select {
		case b := <-turns:
			if err := out.turn(b, rowOf(b.Entry, source.MinConfidence())); err != nil {
				return err
			}
		case m := <-marks:
			if err := out.mark(m); err != nil {
				return err
			}
		case <-pause.C:
			if err := out.send(": still there\n\n"); err != nil {
				return err
			}
		case err := <-ended:
			if errors.Is(err, errBehind) {
				err = errors.Join(err, out.send("event: reload\ndata:\n\n"))
			}
			return err
		}
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *eventStream) begin() error {
	// The server's time limits are meant for short responses.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no") // for a proxy
	return s.send(fmt.Sprintf("retry: %d\n\n", liveRetry.Milliseconds()))
}

// send writes one event. It fails if the client does not read it in time.
func (s *eventStream) send(event string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(liveWrite)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(event)); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *eventStream) turn(b Begun, r row) error {
	return s.html(fmt.Sprintf("id: %d\nevent: turn\n", b.Sequence), "row", r)
}

// mark sends a person's mark on a turn, with the id of its row.
func (s *eventStream) mark(m Marked) error {
	return s.html("event: mark\n", "marked", row{ID: rowID(m.Token, m.RunID), Feedback: &m.Feedback})
}

// html sends an event that begins with fields, with a template as its data.
func (s *eventStream) html(fields, template string, r row) error {
	var html bytes.Buffer
	if err := pages["overview.html"].ExecuteTemplate(&html, template, r); err != nil {
		return err
	}
	var event bytes.Buffer
	event.WriteString(fields)
	for line := range bytes.Lines(html.Bytes()) {
		event.WriteString("data: ")
		event.Write(bytes.TrimRight(line, "\r\n"))
		event.WriteByte('\n')
	}
	event.WriteByte('\n')
	return s.send(event.String())
}
