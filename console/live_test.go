package console_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/record"
	"intenthint/store"
)

// serve serves a console of a system by HTTP and returns its address. The server
// has a time limit on requests, as that of the program has.
func serve(t *testing.T) (system *consoletest.System, base string, stop func() error) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, err := console.New(console.Options{
		Configured: "127.0.0.1:0", Listening: listener.Addr().String(), Pages: consoletest.Pages, Log: slog.New(slog.DiscardHandler),
		Parts: func() []console.Part { return nil },
	})
	require.NoError(t, err)
	system = consoletest.NewSystem(t)
	system.Show(c)
	server := &http.Server{Handler: c, ReadTimeout: readLimit, WriteTimeout: readLimit, ReadHeaderTimeout: readLimit}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return system, "http://" + listener.Addr().String(), func() error { return server.Shutdown(context.Background()) }
}

// readLimit is the time limit of these servers on a whole request.
const readLimit = 200 * time.Millisecond

// listener reads server-sent events.
type listener struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
}

func listen(t *testing.T, address string, header ...string) *listener {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &listener{t, response, bufio.NewReader(response.Body)}
}

// event is a server-sent event.
type event struct{ id, name, data string }

// next waits for an event; ok is false at the end.
func (l *listener) next() (e event, ok bool) {
	l.t.Helper()
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return event{}, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value + "\n"
		case "":
			if e.name != "" {
				return e, true
			}
		}
	}
}

// turns are the ids and texts of the next turns.
func (l *listener) turns(n int) (out []string) {
	l.t.Helper()
	for range n {
		e, ok := l.next()
		require.True(l.t, ok, "the stream ended after %v", out)
		require.Equal(l.t, "turn", e.name)
		out = append(out, e.id+" "+saidOf(e.data))
	}
	return out
}

func saidOf(row string) string {
	_, rest, _ := strings.Cut(row, `<p class="said" dir="auto">`)
	said, _, _ := strings.Cut(rest, "</p>")
	return said
}

func begun(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%d message %d", i+1, i+1))
	}
	return out
}

func tell(s *consoletest.System, numbers ...int) {
	for _, n := range numbers {
		s.Tell(consoletest.Begin("s", fmt.Sprint("r", n), fmt.Sprint("message ", n), time.Now(), consoletest.Result("CHAT", 0.9)))
	}
}

func TestTurnsComeInOrderAndNoneIsMissedAfterALostConnection(t *testing.T) {
	system, base, _ := serve(t)
	tell(system, 1, 2)
	l := listen(t, base+"/live")
	require.Equal(t, "text/event-stream", l.response.Header.Get("Content-Type"))
	require.Equal(t, begun(2), l.turns(2))
	tell(system, 3)
	require.Equal(t, begun(3)[2:], l.turns(1))
	require.NoError(t, l.response.Body.Close())

	tell(system, 4, 5)
	for name, l := range map[string]*listener{
		"the browser's own header":    listen(t, base+"/live?after=1", "Last-Event-ID", "3"),
		"the script after a pause":    listen(t, base+"/live?after=3"),
		"a number that is no number":  listen(t, base+"/live?after=x"),
		"a page that knows none":      listen(t, base+"/live?since=1"),
		"a page of the same, by name": listen(t, base+"/live?after=3", "Sec-Fetch-Site", "same-origin"),
	} {
		t.Run(name, func(t *testing.T) {
			want := begun(5)
			if strings.HasPrefix(name, "the ") || strings.HasSuffix(name, "by name") {
				want = want[3:]
			}
			require.Equal(t, want, l.turns(len(want)))
		})
	}
}

func TestTheStreamOutlivesTheTimeLimitsOfTheServer(t *testing.T) {
	system, base, _ := serve(t)
	l := listen(t, base+"/live")
	for i, began := 1, time.Now(); time.Since(began) < 3*readLimit; i++ {
		tell(system, i)
		require.Equal(t, begun(i)[i-1:], l.turns(1))
	}
}

func TestARowIsWhatThePageShows(t *testing.T) {
	system, base, _ := serve(t)
	const markup = `"><script>alert(1)</script>` + "\n\ndata: x\nevent: reload\n"
	system.Tell(consoletest.Begin(markup, markup, markup, time.Now(), consoletest.Result(markup, 0.3)))
	e, ok := listen(t, base+"/live").next()
	require.True(t, ok)
	require.Equal(t, "turn", e.name)
	require.NotContains(t, e.data, "<script")
	require.Contains(t, e.data, `&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt; data: x event: reload</p>`)
	require.Contains(t, e.data, `class="confidence unsaid"`)
	require.Contains(t, e.data, "0.30")
}

func TestMarksOfOthersCome(t *testing.T) {
	system, base, _ := serve(t)
	tell(system, 1)
	l := listen(t, base+"/live")
	require.Equal(t, begun(1), l.turns(1))
	mark := func(verdict, intent string) {
		system.Say(console.Marked{Token: "s", RunID: "r1", Feedback: record.Feedback{Feedback: store.Feedback{Verdict: verdict, Intent: intent}, At: "2026-11-23T10:00:00.000Z"}})
	}
	mark("wrong", `<b>"CHAT"`)
	e, ok := l.next()
	require.True(t, ok)
	require.Equal(t, event{name: "mark", data: e.data}, e, "without an id: turns alone have one")
	require.Contains(t, e.data, `<span class="mark no" data-at="2026-11-23T10:00:00.000Z">wrong: &lt;b&gt;&#34;CHAT&#34;</span>`)
	row := regexp.MustCompile(`data-row="(e-[0-9a-f]+)"`).FindStringSubmatch(e.data)
	require.NotNil(t, row)
	system.Keep(consoletest.Begin("s", "r1", "message 1", time.Now(), nil))
	overview := body(t, listen(t, base+"/").response)
	require.Contains(t, overview, `id="`+row[1]+`"`, "the row of the page")

	mark("right", "")
	tell(system, 2)
	kinds := map[string]int{}
	for range 2 {
		e, ok := l.next()
		require.True(t, ok)
		kinds[e.name]++
	}
	require.Equal(t, map[string]int{"mark": 1, "turn": 1}, kinds, "both go on")
}

func TestAPageThatIsTooFarBehindLoadsAgain(t *testing.T) {
	system, base, _ := serve(t)
	for i := range 1002 {
		tell(system, i+1)
	}
	l := listen(t, base+"/live")
	e, ok := l.next()
	require.True(t, ok)
	require.Equal(t, "reload", e.name)
	_, ok = l.next()
	require.False(t, ok, "the stream ends")

	require.Equal(t, begun(1002)[1:3], listen(t, base+"/live?after=1").turns(2), "1,000 behind is not too far")
}

func TestListenersAreBounded(t *testing.T) {
	system, base, _ := serve(t)
	var all []*listener
	for range 16 {
		l := listen(t, base+"/live")
		require.Equal(t, http.StatusOK, l.response.StatusCode)
		all = append(all, l)
	}
	refused := listen(t, base+"/live").response
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, console.ErrListeners.Error(), strings.TrimSpace(body(t, refused)))
	require.NotEmpty(t, refused.Header.Get("Retry-After"))

	require.NoError(t, all[0].response.Body.Close())
	tell(system, 1)
	require.Eventually(t, func() bool { return listen(t, base+"/live").response.StatusCode == http.StatusOK }, time.Minute, 10*time.Millisecond)
	for _, l := range all[1:] {
		require.Equal(t, begun(1), l.turns(1))
	}
}

func TestAListenerThatTakesNothingHoldsUpNobody(t *testing.T) {
	system, base, stop := serve(t)
	slow, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = slow.Close() })
	_, err = fmt.Fprintf(slow, "GET /live HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	l := listen(t, base+"/live")
	// More than the buffers of a connection hold.
	const turns, each = 40, 400
	for i := range turns {
		for j := range each {
			n := i*each + j + 1
			system.Tell(consoletest.Begin("s", fmt.Sprint("r", n), strings.Repeat("x", 190), time.Now(), consoletest.Result("CHAT", 0.9)))
		}
		got := l.turns(each)
		require.Equal(t, strconv.Itoa((i+1)*each), strings.Fields(got[each-1])[0])
	}
	// Nor does it hold up a stop.
	began := time.Now()
	system.Stop()
	_, ok := l.next()
	require.False(t, ok)
	require.NoError(t, stop())
	require.Less(t, time.Since(began), 5*time.Second, "less than the time that it has to take something")
}

func TestAStopEndsTheStreams(t *testing.T) {
	system, base, stop := serve(t)
	l, other := listen(t, base+"/live"), listen(t, base+"/live")
	tell(system, 1)
	require.Equal(t, begun(1), l.turns(1))
	require.Equal(t, begun(1), other.turns(1))
	system.Stop()
	require.NoError(t, stop(), "no stream is waited for")
	for _, l := range []*listener{l, other} {
		_, ok := l.next()
		require.False(t, ok)
	}
}

func TestPagesElsewhereTakeNoPlace(t *testing.T) {
	_, base, _ := serve(t)
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		require.Equal(t, want, listen(t, base+"/live", "Sec-Fetch-Site", site).response.StatusCode, site)
	}
	wrong := listen(t, strings.Replace(base, "127.0.0.1", "localhost", 1)+"/live", "Sec-Fetch-Site", "none")
	require.Equal(t, http.StatusOK, wrong.response.StatusCode, "another name of loopback")
}
