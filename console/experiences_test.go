package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console"
	"intenthint/console/consoletest"
	"intenthint/knowhub"
	"intenthint/knowhub/experience"
)

var _ console.Reviewed = (*knowhub.Service)(nil)

func plain(task string) experience.Experience {
	return experience.Experience{Task: task, Resource: "tool", Result: "worked", Confidence: 0.9, AgentID: "main", CreatedAt: time.Now()}
}

func TestOverview(t *testing.T) {
	for _, row := range []struct {
		name  string
		parts []console.Part
		want  []string
	}{
		{"starting", nil, []string{"This process is starting."}},
		{"all well", []console.Part{{Name: "Hints", State: "on", Detail: "57 intents", OK: true}, {Name: "Triage", State: console.Off, OK: true}}, []string{"Everything that is on works.", "57 intents", `"part off"`, `"part fine"`}},
		{"a fault", []console.Part{{Name: "Health", State: "failed", Link: "/healthz"}}, []string{"One part has a fault.", `<a href="/healthz">Health</a>`, `"part fault"`}},
		{"faults", []console.Part{{Name: "a"}, {Name: "b"}}, []string{"2 parts have a fault."}},
		{"markup", []console.Part{{Name: "<b>", State: "<i>", Detail: "<u>", Link: "javascript:alert(1)", OK: true}}, []string{"&lt;b&gt;", "&lt;i&gt;", "&lt;u&gt;", "#ZgotmplZ"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			page := body(t, newSite(t, func(o *console.Options) { o.Parts = func() []console.Part { return row.parts } }).get("/"))
			for _, want := range row.want {
				require.Contains(t, page, want)
			}
		})
	}
}

func TestMarkupInEveryFieldStaysText(t *testing.T) {
	const markup = `</h2></article>"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	s := newSite(t, nil)
	ids := map[experience.Status]string{}
	for _, status := range []experience.Status{experience.Pending, experience.Approved, experience.Rejected} {
		e := experience.Experience{
			Task: markup + string(status), Resource: markup, Result: markup, AgentID: markup, SubmittedBy: markup, SessionKey: markup,
			Flags: []string{markup}, Status: status, DecidedBy: markup, DecidedAt: time.Now(), CreatedAt: time.Now(),
		}
		ids[status] = s.Memory.Add(e)
	}
	query := url.Values{"q": {markup}, "agent": {markup}, "at": {markup}, "limit": {markup}}.Encode()
	paths := []string{
		"/experiences?" + query, "/experiences?status=approved&" + query, "/experiences/" + ids[experience.Rejected],
		"/experiences?status=rejected&did=approve&done=" + ids[experience.Approved] + "&not=" + ids[experience.Rejected],
	}
	for status := range ids {
		paths = append(paths, "/experiences?status="+string(status))
	}
	for _, path := range paths {
		r := s.get(path)
		require.Equal(t, http.StatusOK, r.StatusCode)
		page := body(t, r)
		require.Equal(t, 1, strings.Count(page, "<script"), path)
		require.NotContains(t, page, "<img")
		require.NotContains(t, page, `"'>`)
		require.Contains(t, page, "&lt;img src=x onerror=alert(1)&gt;")
	}
	require.NotContains(t, body(t, newSite(t, withToken).get("/experiences?q=%22%3E%3Cscript%3E")), `"><script`)
}

func TestCharactersThatAreNotVisibleAreNamed(t *testing.T) {
	s := newSite(t, nil)
	e := plain("name \u202egnp.exe\u202c")
	e.Result = "tags \U000E0041, zero\u200bwidth, emoji 👩\u200d💻\ufe0f"
	s.Memory.Add(e)
	page := body(t, s.get("/experiences"))
	for _, want := range []string{">U&#43;202E<", ">U&#43;202C<", ">U&#43;E0041<", ">U&#43;200B<", "👩\u200d💻\ufe0f"} {
		require.Contains(t, page, want)
	}
	for _, r := range []string{"\u202e", "\U000E0041", "\u200b"} {
		require.NotContains(t, page, r)
	}
}

func TestList(t *testing.T) {
	s := newSite(t, nil)
	add := func(task, agent string, status experience.Status) {
		e := plain(task)
		e.AgentID, e.Status, e.SessionKey = agent, status, "agent:"+agent+":main"
		s.Memory.Add(e)
	}
	add("Deploy the site", "main", experience.Pending)
	add("Restart ＤＯＣＫＥＲ", "ops", experience.Pending)
	add("予約を取る", "ops", experience.Pending)
	add("Deploy the app", "main", experience.Approved)
	add("Deploy nothing", "ops", experience.Approved)
	add("Old news", "main", experience.Rejected)
	one := experience.ID(plain("Deploy the site"), true)
	for _, row := range []struct {
		name, query string
		want        []string
	}{
		{"pending by default", "", []string{"Deploy the site", "Restart ＤＯＣＫＥＲ", "予約を取る"}},
		{"wrong status", "status=maybe", []string{"Deploy the site", "Restart ＤＯＣＫＥＲ", "予約を取る"}},
		{"approved", "status=approved", []string{"Deploy the app", "Deploy nothing"}},
		{"rejected", "status=rejected", []string{"Old news"}},
		{"words, whatever their case and width", "q=docker+restart", []string{"Restart ＤＯＣＫＥＲ"}},
		{"words without spaces", "q=%E4%BA%88%E7%B4%84", []string{"予約を取る"}},
		{"words of the session key", "q=agent:ops:main", []string{"Restart ＤＯＣＫＥＲ", "予約を取る"}},
		{"id", "q=" + one, []string{"Deploy the site"}},
		{"session of its own", "session=agent:main:main", []string{"Deploy the site"}},
		{"approved, of a session, with words", "status=approved&session=agent:ops:main&q=nothing", []string{"Deploy nothing"}},
		{"no match", "q=nowhere", nil},
		{"agent", "agent=main", []string{"Deploy the site"}},
		{"approved, words", "status=approved&q=Deploy", []string{"Deploy the app", "Deploy nothing"}},
		{"approved, words and agent", "status=approved&q=Deploy&agent=ops", []string{"Deploy nothing"}},
		{"approved, agent", "status=approved&agent=ops", []string{"Deploy nothing"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			page := body(t, s.get("/experiences?"+row.query))
			require.Equal(t, len(row.want), strings.Count(page, "<article"))
			for _, task := range row.want {
				require.Contains(t, page, task)
			}
		})
	}
	page := body(t, s.get("/experiences"))
	require.Contains(t, page, "agent:ops:main", "the source session")
	require.Contains(t, page, `<a href="/experiences?agent=ops&amp;status=pending">`)
}

func TestAPageHasABound(t *testing.T) {
	s := newSite(t, nil)
	for i := range 260 {
		s.Memory.Add(plain(fmt.Sprintf("task %03d", i)))
		good := plain(fmt.Sprintf("deed %03d", i))
		good.Status = experience.Approved
		s.Memory.Add(good)
	}
	for i := range 1000 {
		s.Memory.Add(plain(fmt.Sprintf("errand %04d", i)))
	}
	s.Memory.Add(plain("the oldest of all"))
	for _, row := range []struct {
		query string
		cards int
		more  string
	}{
		{"", 50, "limit=100"},
		{"?limit=100", 100, "limit=200"},
		{"?limit=200", 200, "There are more."},
		{"?limit=9999", 200, "There are more."},
		{"?limit=-1", 50, "limit=100"},
		{"?q=task+25", 13, ""},
		{"?q=task", 50, "limit=100"},
		{"?q=oldest", 1, ""},
		{"?status=approved&q=deed", 50, "limit=100"},
		{"?status=approved&q=deed&limit=100", 100, "limit=200"},
		{"?status=approved&q=deed&limit=200", 200, "There are more."},
		{"?status=approved&q=deed+25", 10, ""},
	} {
		page := body(t, s.get("/experiences"+row.query))
		require.Equal(t, row.cards, strings.Count(page, "<article"), row.query)
		require.Contains(t, page, row.more)
		if row.more == "" {
			require.NotContains(t, page, `"more"`)
		}
	}
}

func TestOneExperience(t *testing.T) {
	s := newSite(t, nil)
	id := s.Memory.Add(plain("Deploy the site"))
	require.Contains(t, body(t, s.get("/experiences/"+id)), "Deploy the site")
	require.Equal(t, http.StatusNotFound, s.get("/experiences/"+strings.Repeat("0", 32)).StatusCode)
	r := s.post("/experiences", url.Values{"alone": {"1"}, "approve": {id}})
	at := r.Header.Get("Location")
	require.Equal(t, "/experiences/"+id, at[:strings.IndexByte(at, '?')])
	page := body(t, s.get(at))
	require.Contains(t, page, "Approved:")
	require.Contains(t, page, `name="undo"`)
	require.Contains(t, page, "approved by console")
}

func TestTheSourceSession(t *testing.T) {
	for _, row := range []struct{ key, command string }{
		{"agent:main:telegram:dm:1204", "consumer sessions show agent:main:telegram:dm:1204"},
		{"", ""},
		{"a; rm -rf ~", ""},
		{"$(id)", ""},
		{"-x", ""},
		{"a\u202eb", ""},
	} {
		t.Run(row.key, func(t *testing.T) {
			s := newSite(t, nil)
			e := plain("Deploy the site")
			e.SessionKey = row.key
			page := body(t, s.get("/experiences/"+s.Memory.Add(e)))
			require.Equal(t, row.command != "", strings.Contains(page, "consumer sessions show"))
			require.Contains(t, page, row.command)
		})
	}
}

func TestWithoutKnowHubThePageSaysSo(t *testing.T) {
	s := newSite(t, nil)
	c, err := console.New(console.Options{Configured: "127.0.0.1:8377", Listening: "127.0.0.1:8377", Pages: consoletest.Pages})
	require.NoError(t, err)
	c.Show(s.System.Source())
	s.mux = http.NewServeMux()
	s.mux.Handle("/", c)
	r := s.get("/experiences")
	require.Equal(t, http.StatusNotFound, r.StatusCode)
	require.Contains(t, body(t, r), "HINT_KNOWHUB")
	require.Equal(t, http.StatusNotFound, s.post("/experiences", url.Values{"approve": {strings.Repeat("0", 32)}}).StatusCode)
	(*console.Console)(nil).Serve("/experiences", console.Experiences(s.Memory))
}

func TestAFaultIsToldWithoutItsText(t *testing.T) {
	s := newSite(t, nil)
	id := s.Memory.Add(plain("Deploy the site"))
	s.Memory.Break()
	for _, path := range []string{"/experiences", "/experiences?q=a", "/experiences?status=approved&q=a", "/experiences/" + id} {
		r := s.get(path)
		require.Equal(t, http.StatusInternalServerError, r.StatusCode)
		page := body(t, r)
		require.NotContains(t, page, "broken")
		require.Contains(t, page, "<h1>", "a page, with a way out")
	}
}

func TestTimes(t *testing.T) {
	for _, row := range []struct {
		age  time.Duration
		want string
	}{
		{0, "just now"},
		{59 * time.Second, "just now"},
		{time.Minute, "1 minute ago"},
		{59 * time.Minute, "59 minutes ago"},
		{25 * time.Hour, "1 day ago"},
		{60 * 24 * time.Hour, "2 months ago"},
		{800 * 24 * time.Hour, "2 years ago"},
		{-time.Hour, "just now"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			e := plain("t")
			e.CreatedAt = time.Now().Add(-row.age)
			s.Memory.Add(e)
			require.Contains(t, body(t, s.get("/experiences")), ">"+row.want+"</time>")
		})
	}
}
