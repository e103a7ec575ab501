package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
	"intenthint/redact"
)

// maxBody bounds the response of a language model, in bytes.
const maxBody = 1 << 20

// StatusError is a response whose status is not 2xx, or a 2xx one whose body
// reports an error.
type StatusError struct {
	Code       int
	Message    string        // the provider's, on one line, without the key; "" if the body has none
	RetryAfter time.Duration // the wait that the provider asks for; 0 if it names none

	detail string // more of the body, in lower case, to find out which parameter was refused
}

// Error implements error.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP status %d", e.Code)
	if text := http.StatusText(e.Code); text != "" {
		b.WriteString(" " + text)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %s)", e.RetryAfter.Round(time.Millisecond))
	}
	return b.String()
}

// sharedTransport is shared by the whole process: registries are replaced with
// the configuration, connections stay open.
var sharedTransport = sync.OnceValue(func() http.RoundTripper { return NewTransport() })

// NewTransport returns a transport that keeps more connections open between
// requests than the default one, and notices dead ones.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = 256, 64, 3*time.Minute
	t.MaxResponseHeaderBytes = 64 << 10
	// A dead connection would swallow requests until their deadline.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second}
	return t
}

// client posts JSON and returns only responses that are complete, bounded, 2xx
// and JSON objects. Everything else is an error of this package, so that all wire
// formats fail in the same way.
type client struct {
	http *http.Client
	// header is sent with every request: the key in the way of the API, and more
	// that the API requires.
	header http.Header
	// key is kept out of errors.
	key string
	// limit bounds the body, in bytes.
	limit int64
}

func newClient(transport http.RoundTripper, header http.Header, key string) *client {
	return &client{header: header, key: key, limit: maxBody, http: &http.Client{
		Transport: transport,
		// A redirected request would take the key along to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post sends a JSON request and returns the response.
func (c *client) post(ctx context.Context, url string, request any) (gjson.Result, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return gjson.Result{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return gjson.Result{}, err
	}
	maps.Copy(req.Header, c.header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return gjson.Result{}, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, c.limit+1))
	_ = resp.Body.Close()
	switch {
	case err != nil:
		return gjson.Result{}, fmt.Errorf("reading the response: %w", err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return gjson.Result{}, c.statusError(resp, answer)
	case int64(len(answer)) > c.limit:
		return gjson.Result{}, fmt.Errorf("%w: more than %d bytes", errTooLarge, c.limit)
	}
	answer = bytes.TrimSpace(bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf")))
	if len(answer) == 0 || answer[0] != '{' || !json.Valid(answer) {
		return gjson.Result{}, fmt.Errorf("%w: the body is not a JSON object (content type %q)", ErrMalformed, text.OneLine(resp.Header.Get("Content-Type"), 60))
	}
	if reportsError(answer) {
		return gjson.Result{}, c.statusError(resp, answer)
	}
	return gjson.ParseBytes(answer), nil
}

// reportsError reports whether the body of a 2xx response is an error, as proxies
// in front of models send it.
func reportsError(body []byte) bool {
	if !bytes.Contains(body, []byte(`"error"`)) {
		return false
	}
	var b struct {
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(body, &b) != nil || b.Choices != nil || b.Content != nil {
		return false
	}
	return len(b.Error) > 2 && string(b.Error) != "null"
}

func (c *client) statusError(resp *http.Response, body []byte) error {
	// In characters and bytes: a log line, and enough to find the refused parameter.
	const maxMessage, maxDetail = 300, 4096
	message := redact.Secret(errorMessage(body), c.key) // providers quote wrong keys
	detail := body[:min(len(body), maxDetail)]
	return &StatusError{
		Code:       resp.StatusCode,
		Message:    text.OneLine(message, maxMessage),
		RetryAfter: retryAfter(resp.Header, time.Now()),
		detail:     strings.ToLower(string(detail)),
	}
}

// errorMessage finds the message in the body of an error: {"error": {"message"}},
// {"error": "…"}, {"message"}, {"detail"}, any of these in an array, else the
// body itself if it is text.
func errorMessage(body []byte) string {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		if utf8.Valid(body) && !bytes.HasPrefix(body, []byte("<")) {
			return string(body)
		}
		return ""
	}
	for _, raw := range []json.RawMessage{e.Error, e.Message, e.Detail} {
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		switch {
		case json.Unmarshal(raw, &text) == nil && text != "":
			return text
		case json.Unmarshal(raw, &inner) == nil && inner.Message != "":
			return inner.Message
		}
	}
	return string(body)
}

// retryAfter reads Retry-After (seconds or a date) and Retry-After-Ms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// duration converts a number from a header; numbers that make no sense are 0.
func duration(n float64, unit time.Duration) time.Duration {
	d := n * float64(unit)
	if math.IsNaN(d) || d < 0 || d > float64(24*time.Hour) {
		return 0
	}
	return time.Duration(d)
}

// plain removes what http.Client wraps around an error. A deadline becomes the
// context's error.
func plain(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// count returns the number of tokens in a field of a response; 0 if it is missing,
// not a number or makes no sense.
func count(resp gjson.Result, path string) int {
	n := resp.Get(path)
	if n.Type != gjson.Number || n.Num < 0 || n.Num > math.MaxInt32 {
		return 0
	}
	return int(n.Num)
}
